// Thousands of lanes meet at a few inputs of the record, whose keys are several words long: what it
// holds afterwards is what a map would hold, whoever came first.

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "kernels/device/kernel_list.h"
#include "kernels/device/record/device_table.h"
#include "tests/kernels/device/test_device.h"

namespace fairlane {
namespace {

constexpr std::uint32_t kGroups = 12;
constexpr std::uint32_t kIrregularGroup = 5;

struct ContendedShape {
  int words;
  std::uint32_t variants;
  int label_bits;
};

/// What is known of an input: its least finder, flags and labels.
struct KnownVisit {
  std::uint64_t finder;
  std::uint32_t flags;
  std::uint32_t labels;
};
using ContendedInput = std::pair<std::uint32_t, std::uint32_t>;  // group, variant

template <class T>
DeviceArray<T> uploaded(Device& device, std::vector<T> const& from) {
  DeviceArray<T> to(device, from.size());
  device.upload(to.data(), from.data(), from.size() * sizeof(T));
  return to;
}

template <class T>
std::vector<T> downloaded(Device& device, DeviceArray<T> const& from) {
  std::vector<T> to(from.size());
  device.download(to.data(), from.data(), to.size() * sizeof(T));
  return to;
}

class ContendedVisits : public ::testing::TestWithParam<ContendedShape> {
 protected:
  ContendedVisits() : table_(device_, keys(), static_cast<int>(variants()), label_bits(), 1 << 26) {
    EXPECT_TRUE(table_.make_room(2 * lanes()));
  }

  static std::uint32_t variants() { return GetParam().variants; }
  static int label_bits() { return GetParam().label_bits; }
  static std::size_t words() { return static_cast<std::size_t>(GetParam().words); }
  static std::size_t lanes() { return unless_simulated<std::size_t>(50'000, 3'000); }
  static KeyLayout keys() {
    KeyLayout keys;
    keys.words = GetParam().words;
    return keys;
  }
  /// Groups that share all words but one.
  static std::uint64_t key_word(std::uint32_t group, std::size_t word) {
    return word == group % words() ? group + 1 : 7;
  }
  static std::uint32_t flags_of(std::uint32_t group) {
    return (group % 3 == 0 ? kHitFlag : 0U) | (group == kIrregularGroup ? kIrregularFlag : 0U);
  }
  std::uint32_t labels_of(std::uint32_t group) const {
    return group * 2654435761U & static_cast<std::uint32_t>((1ULL << table_.set().label_bits) - 1);
  }
  std::uint32_t below(std::uint32_t count) { return static_cast<std::uint32_t>(random_()) % count; }
  static std::uint64_t finder_of(std::uint32_t seed, std::uint32_t iteration) {
    return Finder::pack(Phase::kLocal, seed, iteration);
  }
  void note(ContendedInput input, std::uint64_t finder) {
    KnownVisit const fresh{finder, flags_of(input.first), labels_of(input.first)};
    auto const [at, is_new] = known_.insert({input, fresh});
    if (!is_new) at->second.finder = std::min(at->second.finder, finder);
  }

  /// Inserts inputs of every other group, each many times.
  void insert_some() {
    auto const slot_words = static_cast<std::size_t>(table_.set().slot_words());
    std::vector<std::uint64_t> slots(lanes() * slot_words);
    for (std::size_t i = 0; i < lanes(); ++i) {
      std::uint32_t const group = 2 * below(kGroups / 2) + 1;
      std::uint32_t const variant = below(variants());
      std::uint64_t const finder = finder_of(below(1000), below(1000));
      std::uint64_t* const slot = &slots[i * slot_words];
      slot[0] = static_cast<std::uint64_t>(labels_of(group)) << kVisitFlagBits | flags_of(group) |
                kOccupiedFlag;
      slot[1] = ~finder;
      slot[2] = variant;
      for (std::size_t w = 0; w < words(); ++w) slot[3 + w] = key_word(group, w);
      note({group, variant}, finder);
    }
    auto const incoming = uploaded(device_, slots);
    device_.run(MergeSlots{table_.set(), incoming.data()},
                {static_cast<std::int64_t>(lanes()), nullptr});
    device_.synchronize();
  }

  /// Looks all lanes' inputs up, which records those of groups that are known.
  void look_up() {
    std::size_t const n = lanes();
    std::vector<ContendedInput> input(n);
    std::vector<std::uint64_t> key(words() * n);
    std::vector<std::uint32_t> variant(n);
    std::vector<std::uint32_t> seed(n);
    std::vector<std::uint32_t> iteration(n);
    for (std::size_t i = 0; i < n; ++i) {
      input[i] = {below(kGroups), below(variants())};
      for (std::size_t w = 0; w < words(); ++w) key[w * n + i] = key_word(input[i].first, w);
      variant[i] = input[i].second;
      seed[i] = below(1000);
      iteration[i] = below(1000);
    }
    auto const keys = uploaded(device_, key);
    auto const variants = uploaded(device_, variant);
    auto const seeds = uploaded(device_, seed);
    auto const iterations = uploaded(device_, iteration);
    auto const marks = uploaded(device_, std::vector<std::uint8_t>(n, 9));
    auto const hits = uploaded(device_, std::vector<std::int32_t>(n, -1));
    auto const labels = uploaded(device_, std::vector<std::uint32_t>(n, 0));
    RecordContext context;
    context.lanes.stride = static_cast<long>(n);
    context.lanes.key = keys.data();
    context.lanes.variant = variants.data();
    context.lanes.seed = seeds.data();
    context.lanes.iteration = iterations.data();
    context.lanes.mark = marks.data();
    context.lanes.hit = hits.data();
    context.lanes.labels = labels.data();
    context.words = GetParam().words;
    context.phase = Phase::kLocal;
    context.visits = table_.set();
    device_.run(FindLanes{context}, {static_cast<std::int64_t>(n), nullptr});
    auto const mark = downloaded(device_, marks);
    auto const hit = downloaded(device_, hits);
    auto const label = downloaded(device_, labels);
    auto const before = known_;
    for (std::size_t i = 0; i < n; ++i) {
      auto const [group, own_variant] = input[i];
      bool const is_known =
          before.contains(input[i]) || (group % 2 == 1 && group != kIrregularGroup);
      ASSERT_EQ(mark[i], is_known ? 0 : 1) << "group " << group << ", variant " << own_variant;
      if (!is_known) continue;
      ASSERT_EQ(hit[i], (flags_of(group) & kHitFlag) != 0 ? 1 : 0);
      ASSERT_EQ(label[i], labels_of(group));
      note(input[i], finder_of(seed[i], iteration[i] + 1));
    }
  }

  void expect_known() {
    using Row = std::tuple<std::vector<std::uint64_t>, std::uint32_t, std::uint64_t, bool>;
    std::multiset<Row> expected;
    for (auto const& [input, known] : known_) {
      std::vector<std::uint64_t> key;
      for (std::size_t w = 0; w < words(); ++w) key.push_back(key_word(input.first, w));
      expected.insert({key, input.second, known.finder, (known.flags & kHitFlag) != 0});
    }
    std::multiset<Row> found;
    table_.collect([&](Visits const& visits) {
      for (std::size_t i = 0; i < visits.count; ++i) {
        auto const* key = visits.group + i * words();
        found.insert({{key, key + words()},
                      visits.variant[i],
                      visits.finder[i],
                      (visits.state[i] & kVisitHit) != 0});
      }
    });
    EXPECT_EQ(found, expected);
    EXPECT_EQ(table_.size(), known_.size());
  }

  TestDevice device_;
  DeviceTable table_;
  std::mt19937 random_{11};
  std::map<ContendedInput, KnownVisit> known_;
};

TEST_P(ContendedVisits, KeepsEachInputOnceWithItsLeastFinder) {
  insert_some();
  expect_known();
  look_up();
  expect_known();
}

INSTANTIATE_TEST_SUITE_P(Shapes, ContendedVisits,
                         ::testing::Values(ContendedShape{2, 3, 6}, ContendedShape{3, 20, 20},
                                           ContendedShape{5, 1, 1}),
                         [](auto const& test) {
                           return std::to_string(test.param.words) + "_words_" +
                                  std::to_string(test.param.variants) + "_variants";
                         });

}  // namespace
}  // namespace fairlane
