#include "kernels/boxes/leaf_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/boxes/box_kernels.h"
#include "kernels/boxes/leaf_list.h"

namespace fairlane {
namespace {

/// A table of a few axes, and leaves that take some places of each.
struct RandomTable {
  std::vector<int> sizes;
  std::vector<std::uint64_t> sets;
  std::vector<std::int32_t> values;
  int places = 1;

  RandomTable(std::mt19937& random, int leaves) {
    int const axes = 1 + static_cast<int>(random() % 4);
    for (int a = 0; a < axes; ++a) {
      // One axis may have all places that a set has.
      bool const long_one = a == 0 && random() % 5 == 0;
      sizes.push_back(long_one ? 64 : 1 + static_cast<int>(random() % 9));
      places *= sizes.back();
    }
    std::ranges::shuffle(sizes, random);
    for (int leaf = 0; leaf < leaves; ++leaf) {
      for (int const size : sizes) {
        std::uint64_t const some = (std::uint64_t{random()} << 32 | random()) & low_bits(size);
        bool const all = random() % 4 == 0;
        sets.push_back(all || some == 0 ? low_bits(size) : some);
      }
      values.push_back(static_cast<std::int32_t>(random() % 2001) - 1000);
    }
  }
  LeafList list() const {
    LeafList list;
    list.begin(sizes);
    for (std::size_t leaf = 0; leaf < values.size(); ++leaf)
      list.put(std::span(sets).subspan(leaf * sizes.size(), sizes.size()), values[leaf]);
    return list;
  }
  /// The sums, a place and a leaf after the other.
  std::vector<std::int32_t> sums() const {
    std::vector<std::int32_t> sums(static_cast<std::size_t>(places));
    for (int place = 0; place < places; ++place) {
      for (std::size_t leaf = 0; leaf < values.size(); ++leaf) {
        bool reaches = true;
        int rest = place;
        for (std::size_t a = sizes.size(); a-- > 0; rest /= sizes[a])
          reaches = reaches && (sets[leaf * sizes.size() + a] >> (rest % sizes[a]) & 1) != 0;
        if (reaches) sums[static_cast<std::size_t>(place)] += values[leaf];
      }
    }
    return sums;
  }
};

TEST(LeafSums, AreThoseOfEveryPlace) {
  for (auto const& isa : cpu_instruction_sets()) {
    BoxKernels const& kernels = box_kernels(isa.c_str());
    std::mt19937 random(7);
    for (int i = 0; i < 200; ++i) {
      SCOPED_TRACE(isa + ", table " + std::to_string(i));
      RandomTable const table(random, 1 + i % 40);
      std::vector<std::int32_t> scratch(4 * static_cast<std::size_t>(table.places));
      std::vector<std::int32_t> sums(static_cast<std::size_t>(table.places));
      LeafList list = table.list();
      kernels.add_leaves(list.view(), scratch.data(), sums.data());
      ASSERT_EQ(sums, table.sums());
    }
  }
}

TEST(LeafSums, AreSpreadOverTheNextAxisAndCompared) {
  constexpr int kSize = 5;
  constexpr int kTables = 3;
  std::mt19937 random(11);
  auto const numbers = [&](std::size_t count) {
    std::vector<std::int32_t> values(count);
    for (auto& value : values) value = static_cast<std::int32_t>(random() % 2001) - 1000;
    return values;
  };
  for (auto const& isa : cpu_instruction_sets()) {
    SCOPED_TRACE(isa);
    BoxKernels const& kernels = box_kernels(isa.c_str());
    for (int count = 1; count < 40; ++count) {
      auto const n = static_cast<std::size_t>(count);
      auto const from = numbers(n);
      std::vector<std::int32_t> sums(n * kSize);
      kernels.spread_leaves(from.data(), count, kSize, sums.data());
      for (std::size_t i = 0; i < sums.size(); ++i) ASSERT_EQ(sums[i], from[i / kSize]);
      auto const own = numbers(n * kTables);
      std::vector<std::int32_t> least(n);
      std::vector<std::int32_t> most(n);
      kernels.span_leaves(from.data(), own.data(), kTables, count, least.data(), most.data());
      for (std::size_t i = 0; i < n; ++i) {
        auto const [low, high] = std::minmax({own[i], own[n + i], own[2 * n + i]});
        ASSERT_EQ(least[i], from[i] + low);
        ASSERT_EQ(most[i], from[i] + high);
      }
    }
  }
}

TEST(LeafSums, TellLabelsOfSeveralClasses) {
  constexpr int kTables = 2;
  std::mt19937 random(13);
  for (auto const& isa : cpu_instruction_sets()) {
    BoxKernels const& kernels = box_kernels(isa.c_str());
    for (int round = 0; round < 300; ++round) {
      SCOPED_TRACE(isa + ", round " + std::to_string(round));
      int const classes = 1 + round % 5;
      int const places = 1 + static_cast<int>(random() % 150);
      std::int32_t const lead = round % 3;
      auto const numbers = [&](int count) {
        std::vector<std::int32_t> values(static_cast<std::size_t>(count));
        for (auto& value : values) value = static_cast<std::int32_t>(random() % 7) - 3;
        return values;
      };
      std::vector<std::vector<std::int32_t>> shared;
      std::vector<std::vector<std::int32_t>> own;
      std::vector<std::int32_t const*> shared_at;
      std::vector<std::int32_t const*> own_at;
      std::vector<std::uint32_t> label;
      for (int c = 0; c < classes; ++c) {
        shared.push_back(numbers(places));
        own.push_back(numbers(kTables * places));
        label.push_back(std::uint32_t{1} << (2 * c));
      }
      for (std::size_t c = 0; c < shared.size(); ++c) {
        shared_at.push_back(shared[c].data());
        own_at.push_back(own[c].data());
      }
      std::vector<std::uint32_t> labels(own[0].size());
      kernels.rank_leaves(
          {classes, kTables, places, label.data(), shared_at.data(), own_at.data(), lead},
          labels.data());
      for (std::size_t i = 0; i < labels.size(); ++i) {
        std::vector<std::int32_t> sums;
        for (std::size_t c = 0; c < shared.size(); ++c)
          sums.push_back(shared[c][i % shared[c].size()] + own[c][i]);
        auto const top = std::ranges::max_element(sums);  // the first of equal ones
        std::uint32_t expected = label[static_cast<std::size_t>(top - sums.begin())];
        for (std::size_t c = 0; c < sums.size(); ++c)
          if (*top - sums[c] < lead) expected |= label[c];
        ASSERT_EQ(labels[i], expected);
      }
    }
  }
}

}  // namespace
}  // namespace fairlane
