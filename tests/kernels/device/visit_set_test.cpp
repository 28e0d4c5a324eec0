// The record of visited inputs on a device: exact, whatever the keys, and by many threads at once.

#include "kernels/device/record/visit_set.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>
#include <set>
#include <thread>
#include <tuple>

#include "kernels/device/record/device_table.h"
#include "tests/kernels/device/test_device.h"

namespace fairlane {
namespace {

struct Shape {
  int words;
  int variants;
  int label_bits;
  std::uint64_t groups = 5000;  // that the domain has, where the key is one word
};

class DeviceVisits : public ::testing::TestWithParam<Shape> {
 protected:
  /// Keys of few distinct values, so that groups collide and recur; words beyond the first differ
  /// too.
  std::vector<std::uint64_t> group(std::uint32_t number) const {
    std::vector<std::uint64_t> key(static_cast<std::size_t>(GetParam().words));
    for (std::size_t w = 0; w < key.size(); ++w)
      key[w] = w == 0 ? number : (number / 3) * 0x9E3779B97F4A7C15ULL + w;
    return key;
  }
  KeyLayout keys() const {
    KeyLayout keys;
    keys.words = GetParam().words;
    keys.narrow_groups = keys.words == 1 ? GetParam().groups : 0;
    return keys;
  }
  static constexpr std::uint32_t kGroups = 5000;
};

/// 32 random bits at a time.
class Bits {
 public:
  explicit Bits(unsigned seed) : random_(seed) {}
  std::uint32_t operator()() { return static_cast<std::uint32_t>(random_()); }

 private:
  std::mt19937 random_;
};

using Input = std::pair<std::uint32_t, std::uint32_t>;

TEST_P(DeviceVisits, AnswersAsAMapDoes) {
  TestDevice device;
  DeviceTable table(device, keys(), GetParam().variants, GetParam().label_bits, 1 << 26);
  struct Known {
    std::uint64_t finder;
    std::uint32_t flags;
    std::uint32_t labels;
  };
  std::map<Input, Known> reference;
  std::map<std::uint32_t, Known> groups;
  Bits random(7);
  auto const label_mask = static_cast<std::uint32_t>((1ULL << table.set().label_bits) - 1);
  for (int i = 0; i < 60000; ++i) {
    ASSERT_TRUE(table.make_room(1));
    std::uint32_t const number = random() % kGroups;
    std::uint32_t const variant = random() % static_cast<unsigned>(GetParam().variants);
    std::uint64_t const finder = (static_cast<std::uint64_t>(random()) << 20) | random() % 1000;
    auto const key = group(number);
    VisitSet const& set = table.set();
    auto const answer = set.find({key.data(), 1}, variant, finder);
    auto const own = reference.find({number, variant});
    ASSERT_EQ(answer.seen, own != reference.end());
    if (answer.seen) {
      ASSERT_TRUE(answer.known);
      ASSERT_EQ(answer.flags, own->second.flags);
      ASSERT_EQ(answer.labels, own->second.labels);
      own->second.finder = std::min(own->second.finder, finder);
      continue;
    }
    if (answer.known) {  // by a sibling: groups are regular or not as a whole
      auto const known = groups.find(number);
      ASSERT_NE(known, groups.end());
      ASSERT_EQ(known->second.flags & kIrregularFlag, 0U);
      ASSERT_EQ(answer.flags, known->second.flags & kHitFlag);
      ASSERT_EQ(answer.labels, known->second.labels);
    }
    std::uint32_t const irregular = number % 11 == 0 ? kIrregularFlag : 0U;
    Known const fresh{finder, (number % 2 == 0 ? kHitFlag : 0U) | irregular,
                      (number * 2654435761U) & label_mask};
    set.insert({key.data(), 1}, variant, fresh.labels, fresh.flags, finder);
    reference[{number, variant}] = fresh;
    groups[number] = fresh;
  }
  EXPECT_EQ(table.size(), reference.size());
  std::map<std::vector<std::uint64_t>, std::uint32_t> numbers;
  for (std::uint32_t n = 0; n < kGroups; ++n) numbers[group(n)] = n;
  std::size_t collected = 0;
  table.collect([&](Visits const& visits) {
    for (std::size_t i = 0; i < visits.count; ++i, ++collected) {
      auto const* words = visits.group + i * static_cast<std::size_t>(visits.words);
      auto const at =
          reference.find({numbers.at({words, words + visits.words}), visits.variant[i]});
      ASSERT_NE(at, reference.end());
      EXPECT_EQ(visits.finder[i], at->second.finder);
      EXPECT_EQ((visits.state[i] & kVisitHit) != 0, (at->second.flags & kHitFlag) != 0);
    }
  });
  EXPECT_EQ(collected, reference.size());
}

TEST_P(DeviceVisits, KeepsTheLeastFinderOfManyThreads) {
  TestDevice device;
  DeviceTable table(device, keys(), GetParam().variants, GetParam().label_bits, 1 << 26);
  constexpr unsigned kThreads = 4;
  constexpr int kVisits = 20000;
  ASSERT_TRUE(table.make_room(kThreads * kVisits));
  auto const visit = [&](unsigned thread, auto const& seen) {
    Bits random(thread);
    for (int i = 0; i < kVisits; ++i) {
      std::uint32_t const number = random() % 500;
      std::uint32_t const variant = random() % static_cast<unsigned>(GetParam().variants);
      std::uint64_t const finder = (static_cast<std::uint64_t>(random()) << 20) | thread;
      seen(number, variant, finder);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      visit(t, [&](std::uint32_t number, std::uint32_t variant, std::uint64_t finder) {
        auto const key = group(number);
        if (!table.set().find({key.data(), 1}, variant, finder).seen)
          table.set().insert({key.data(), 1}, variant, 0, number % 2 == 0 ? kHitFlag : 0U, finder);
      });
    });
  }
  for (auto& thread : threads) thread.join();
  std::map<Input, std::uint64_t> least;
  for (unsigned t = 0; t < kThreads; ++t) {
    visit(t, [&](std::uint32_t number, std::uint32_t variant, std::uint64_t finder) {
      auto const [at, fresh] = least.insert({{number, variant}, finder});
      if (!fresh) at->second = std::min(at->second, finder);
    });
  }
  std::multiset<std::uint64_t> expected;
  for (auto const& [input, finder] : least) expected.insert(finder);
  std::multiset<std::uint64_t> found;
  table.collect(
      [&](Visits const& visits) { found.insert(visits.finder, visits.finder + visits.count); });
  EXPECT_EQ(found, expected);
}

INSTANTIATE_TEST_SUITE_P(Shapes, DeviceVisits,
                         ::testing::Values(Shape{1, 4, 4}, Shape{1, 40, 0}, Shape{1, 1, 1},
                                           Shape{1, 9, 9, std::uint64_t{1} << 52}, Shape{2, 3, 6},
                                           Shape{3, 20, 20}),
                         [](auto const& test) {
                           auto const& s = test.param;
                           return std::to_string(s.words) + "_words_" + std::to_string(s.variants) +
                                  "_variants";
                         });

// While the host takes one piece of the record, the next one is on its way.
TEST(DeviceTableOverlap, NextPieceCrossesMeanwhile) {
  TestDevice device;
  KeyLayout keys;
  constexpr std::uint32_t kInputs = 1000;
  keys.narrow_groups = kInputs;
  DeviceTable table(device, keys, 1, 0, 1 << 26);
  constexpr double kFourPieces = 2.0e6;  // inputs for which a record takes four million slots
  table.reserve(kFourPieces);
  ASSERT_TRUE(table.make_room(kInputs));
  std::vector<std::uint64_t> const keys_of_inputs = [] {
    std::vector<std::uint64_t> all(kInputs);
    std::iota(all.begin(), all.end(), 0);
    return all;
  }();
  for (auto const& key : keys_of_inputs) table.set().insert({&key, 1}, 0, 0, 0, key);
  std::vector<std::size_t> crossing;
  std::set<std::uint64_t> groups;
  table.collect([&](Visits const& visits) {
    crossing.push_back(device.crossing());
    groups.insert(visits.group, visits.group + visits.count);
  });
  EXPECT_EQ(groups.size(), kInputs);
  ASSERT_EQ(crossing.size(), 4U);
  EXPECT_EQ(crossing.back(), 0U);
  for (std::size_t i = 0; i + 1 < crossing.size(); ++i) EXPECT_EQ(crossing[i], 1U);
}

}  // namespace
}  // namespace fairlane
