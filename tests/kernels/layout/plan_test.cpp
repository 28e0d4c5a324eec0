#include "kernels/layout/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "tests/kernels/random_subject.h"
#include "tests/models/expect_error.h"

namespace fairlane {
namespace {

constexpr int kTile = 8;

/// Group key of a row, and the least key of the other columns' values.
std::vector<std::uint64_t> key_of(PackedSubject const& packed, naive::Row const& row) {
  std::vector<std::uint64_t> key(static_cast<std::size_t>(packed.keys().words));
  for (int c = 0; c < packed.get().columns; ++c) {
    auto const column = static_cast<std::size_t>(c);
    int const word = packed.keys().word[column];
    if (word < 0) continue;
    auto const value =
        static_cast<std::int64_t>(row[static_cast<std::size_t>(packed.attribute_of()[column])]) -
        packed.get().low[c];
    key[static_cast<std::size_t>(word)] +=
        static_cast<std::uint64_t>(value) * packed.keys().stride[column];
  }
  return key;
}

/// A subject of one linear unit over a domain with these numbers of values.
struct Plain {
  Plain(std::vector<std::int64_t> const& counts, std::vector<std::int32_t> const& chosen,
        int outputs = 1)
      : selected(chosen) {
    for (std::size_t a = 0; a < counts.size(); ++a) {
      low.push_back(-3 - static_cast<std::int32_t>(a));
      high.push_back(static_cast<std::int32_t>(low.back() + counts[a] - 1));
    }
    flagged.assign(counts.size(), 0);
    for (std::int32_t const s : selected) {
      auto const a = static_cast<std::size_t>(s);
      values.emplace_back(static_cast<std::size_t>(counts[a]));
      std::iota(values.back().begin(), values.back().end(), low[a]);
    }
    for (auto const& list : values) spans.emplace_back(list);
    weights.assign(counts.size() * static_cast<std::size_t>(outputs), 0.5F);
    bias.assign(static_cast<std::size_t>(outputs), 0.0F);
    layer = {static_cast<int>(counts.size()), outputs, Activation::kSigmoid, 0.0F, weights, bias};
    view = {{&layer, 1}, low, high, flagged, selected, spans, 0.0F};
  }
  Plain(Plain const&) = delete;
  Plain& operator=(Plain const&) = delete;

  std::vector<std::int32_t> low;
  std::vector<std::int32_t> high;
  std::vector<std::uint8_t> flagged;
  std::vector<std::int32_t> selected;
  std::vector<std::vector<std::int32_t>> values;
  std::vector<std::span<std::int32_t const>> spans;
  std::vector<float> weights;
  std::vector<float> bias;
  LayerView layer;
  SubjectView view;
};

TEST(Plan, KeysAreDistinctOverWholeSmallDomains) {
  for (auto const& counts :
       std::vector<std::vector<std::int64_t>>{{3, 4, 5, 2}, {1, 7, 1, 6, 3}, {2, 2, 2, 2, 2, 2}}) {
    Plain const plain(counts, {1, static_cast<std::int32_t>(counts.size()) - 1});
    PackedSubject const packed(plain.view, kTile);
    ASSERT_EQ(packed.keys().words, 1);
    std::map<std::uint64_t, naive::Row> seen;
    naive::Row row = plain.low;
    while (true) {
      naive::Row part = row;
      for (std::int32_t const s : plain.selected) part[static_cast<std::size_t>(s)] = 0;
      std::uint64_t const key = key_of(packed, row)[0];
      ASSERT_LT(key, packed.keys().narrow_groups);
      auto const [at, fresh] = seen.insert({key, part});
      ASSERT_EQ(at->second, part) << "two groups share a key";
      std::size_t a = 0;
      while (a < row.size() && ++row[a] > plain.high[a]) {
        row[a] = plain.low[a];
        ++a;
      }
      if (a == row.size()) break;
    }
    EXPECT_EQ(seen.size(), packed.keys().narrow_groups);
    EXPECT_EQ(static_cast<double>(seen.size()), packed.keys().groups);
  }
}

// Wide keys decode column by column: distinct rows have distinct keys.
TEST(Plan, WideKeysAreDistinct) {
  std::mt19937 random(3);
  struct Case {
    std::vector<std::int64_t> counts;
    int words;
  };
  for (auto const& [counts, least_words] :
       {Case{std::vector<std::int64_t>(36, 5), 2}, Case{std::vector<std::int64_t>(60, 7), 3},
        Case{{1LL << 31, 1LL << 31, 1LL << 31, 2, 3}, 2},
        Case{{1LL << 31, 1LL << 31, 1LL << 31, 1LL << 31, 3, 1LL << 31, 1LL << 31, 1LL << 31,
              1LL << 31},
             8}}) {
    Plain const plain(counts, {4});
    PackedSubject const packed(plain.view, kTile);
    auto const& keys = packed.keys();
    EXPECT_GE(keys.words, least_words);
    EXPECT_EQ(keys.narrow_groups, 0U);
    for (int round = 0; round < 500; ++round) {
      naive::Row row;
      for (std::size_t a = 0; a < counts.size(); ++a) {
        row.push_back(
            std::uniform_int_distribution<std::int32_t>(plain.low[a], plain.high[a])(random));
      }
      auto const key = key_of(packed, row);
      for (int c = 0; c < packed.get().columns; ++c) {
        auto const column = static_cast<std::size_t>(c);
        auto const a = static_cast<std::size_t>(packed.attribute_of()[column]);
        if (keys.word[column] < 0) continue;
        std::uint64_t const digit = key[static_cast<std::size_t>(keys.word[column])] /
                                    keys.stride[column] % static_cast<std::uint64_t>(counts[a]);
        ASSERT_EQ(static_cast<std::int64_t>(digit),
                  static_cast<std::int64_t>(row[a]) - plain.low[a]);
      }
    }
  }
}

// The border between one word and two: group and variant together must fit a slot of the narrow
// table.
TEST(Plan, OneWordHoldsUpToSixtyBits) {
  for (std::int64_t const last : {1, 2, 3, 4, 5, 8, 16}) {
    Plain const plain({1LL << 28, 1LL << 28, last, 4}, {3});
    PackedSubject const packed(plain.view, kTile);
    double const inputs = std::ldexp(static_cast<double>(last), 58);
    EXPECT_EQ(packed.keys().words == 1, inputs < std::ldexp(1.0, kNarrowKeyBits)) << last;
  }
}

// Just below and just above 2^60 inputs, where doubles are too coarse to tell: keys of the domain's
// ends stay apart, and those of one word are as many as there are inputs.
TEST(Plan, KeysStayDistinctAtTheBorder) {
  constexpr std::int64_t kPart = 1 << 20;
  for (std::int64_t const more : {-1, 0, 1}) {
    for (std::vector<std::int64_t> const& counts :
         {std::vector<std::int64_t>{kPart - 1, kPart + 1, kPart + more, 1},
          std::vector<std::int64_t>{1 << 30, (1 << 29) + more, 2},
          std::vector<std::int64_t>{(1 << 29) + more, 1 << 30, 2},
          std::vector<std::int64_t>{1 << 30, (1 << 30) / 3 + more, 3}}) {
      auto const selected = static_cast<std::int32_t>(counts.size()) - 1;
      Plain const plain(counts, {selected});
      PackedSubject const packed(plain.view, kTile);
      constexpr std::uint64_t kLimit = 1ULL << kNarrowKeyBits;
      std::uint64_t inputs = 1;
      for (std::int64_t const count : counts) inputs *= static_cast<std::uint64_t>(count);
      EXPECT_EQ(packed.keys().words == 1, inputs < kLimit) << more;
      if (packed.keys().words == 1) {
        EXPECT_EQ(packed.keys().narrow_groups, inputs / static_cast<std::uint64_t>(counts.back()));
      }
      std::set<std::vector<std::uint64_t>> keys;
      std::size_t rows = 0;
      auto const movable = counts.size() - 1;
      for (std::size_t corner = 0; corner < (1U << movable); ++corner) {
        for (std::size_t inner = 0; inner < movable; ++inner) {  // a corner, and one step from it
          naive::Row row = plain.low;
          for (std::size_t a = 0; a < movable; ++a) {
            bool const high = ((corner >> a) & 1U) != 0;
            if (high) row[a] = plain.high[a];
            if (a == inner && counts[a] > 2) row[a] += high ? -1 : 1;
          }
          keys.insert(key_of(packed, row));
          ++rows;
        }
      }
      bool const all_wide =
          std::all_of(counts.begin(), counts.end() - 1, [](auto count) { return count > 2; });
      ASSERT_TRUE(all_wide);
      EXPECT_EQ(keys.size(), rows) << more;
    }
  }
}

TEST(Plan, FlaggedAndSelectedColumnsComeLast) {
  for (std::uint32_t seed = 1; seed < 40; ++seed) {
    RandomSubject::Shape shape;
    shape.seed = seed;
    shape.attributes = 3 + static_cast<int>(seed % 9);
    RandomSubject const subject(shape);
    PackedSubject const packed(subject.view, kTile);
    auto const order = naive::column_order(subject.view);
    ASSERT_EQ(order.size(), packed.attribute_of().size());
    std::vector<int> movable;
    for (std::size_t c = 0; c < order.size(); ++c) {
      EXPECT_EQ(packed.attribute_of()[c], static_cast<int>(order[c]));
      EXPECT_EQ(packed.column_of()[order[c]], static_cast<int>(c));
      EXPECT_EQ(packed.get().low[c], subject.view.low[order[c]]);
      EXPECT_EQ(packed.get().high[c], subject.view.high[order[c]]);
      bool const selected = std::count(subject.view.selected.begin(), subject.view.selected.end(),
                                       static_cast<std::int32_t>(order[c])) > 0;
      if (!selected) movable.push_back(static_cast<int>(c));
      if (static_cast<int>(c) < packed.get().prefix) {
        EXPECT_FALSE(selected);
      }
    }
    EXPECT_EQ(
        std::vector<int>(packed.get().movable, packed.get().movable + packed.get().movable_count),
        movable);
  }
}

TEST(Plan, VariantsAreTheProductOrder) {
  for (std::uint32_t seed = 1; seed < 20; ++seed) {
    RandomSubject::Shape shape;
    shape.seed = seed;
    shape.counts = {2, 3, 1 + static_cast<int>(seed % 4)};
    RandomSubject subject(shape);
    PackedSubject const packed(subject.view, kTile);
    auto const members = naive::similar_set(subject.view, subject.row());
    ASSERT_EQ(packed.get().variants, static_cast<int>(members.size()));
    for (std::size_t v = 0; v < members.size(); ++v) {
      ASSERT_EQ(packed.variant_of(members[v].data()), static_cast<int>(v));
      for (std::size_t s = 0; s < subject.view.selected.size(); ++s) {
        ASSERT_EQ(packed.variant_value(static_cast<int>(v), static_cast<int>(s)),
                  members[v][static_cast<std::size_t>(subject.view.selected[s])]);
      }
    }
    // RandomSubject leaves one value of each selected attribute out
    auto const a = static_cast<std::size_t>(subject.view.selected[0]);
    naive::Row row = members[0];
    int unknown = 0;
    for (row[a] = subject.view.low[a]; row[a] <= subject.view.high[a]; ++row[a]) {
      unknown += packed.variant_of(row.data()) < 0 ? 1 : 0;
    }
    EXPECT_EQ(unknown, 1);
  }
}

TEST(Plan, VariantsAreTriedFromTheEnds) {
  for (int variants = 1; variants <= 200; ++variants) {
    Plain const plain({2, variants}, {1});
    PackedSubject const packed(plain.view, kTile);
    ASSERT_EQ(packed.get().variants, variants);
    std::vector<int> order(packed.get().variant_order, packed.get().variant_order + variants);
    EXPECT_EQ(order[0], 0);
    if (variants > 1) {
      EXPECT_EQ(order[1], variants - 1);
    }
    std::sort(order.begin(), order.end());
    for (int v = 0; v < variants; ++v) ASSERT_EQ(order[static_cast<std::size_t>(v)], v);
  }
}

TEST(Plan, LabelsArePackedWhereTheyFit) {
  auto const bits = [](int variants, int outputs) {
    Plain const plain({2, variants}, {1}, outputs);
    return PackedSubject(plain.view, kTile).get().label_bits;
  };
  EXPECT_EQ(bits(32, 1), 1);
  EXPECT_EQ(bits(33, 1), 0);
  EXPECT_EQ(bits(32, 2), 1);
  EXPECT_EQ(bits(16, 3), 2);
  EXPECT_EQ(bits(16, 4), 2);
  EXPECT_EQ(bits(17, 4), 0);
  EXPECT_EQ(bits(10, 8), 3);
  EXPECT_EQ(bits(4, 254), 8);
}

// A packed label has no room for "undefined".
TEST(Plan, LabelsAreNotPackedWhereOutputsMayOverflow) {
  Plain plain({2, 4, 3}, {1});
  EXPECT_TRUE(PackedSubject(plain.view, kTile).get().finite);
  for (float const weight : {1e30F, 3e38F, -3e38F}) {
    plain.weights[0] = weight;
    PackedSubject const packed(plain.view, kTile);
    bool const small = std::fabs(weight) < 1e35F;
    EXPECT_EQ(packed.get().finite, small) << weight;
    EXPECT_EQ(packed.get().label_bits, small ? 1 : 0) << weight;
  }
}

TEST(Plan, LimitsAreErrors) {
  Plain const classes({2, 3}, {1}, kMaxOutputs + 1);
  expect_error(ExitCode::kUnavailable, {"255 outputs", "254"},
               [&] { PackedSubject(classes.view, kTile); });
  Plain const most({2, 3}, {1}, kMaxOutputs);
  EXPECT_NO_THROW(PackedSubject(most.view, kTile));
  Plain const combinations({2, 1 << 11, 1 << 10}, {1, 2});
  expect_error(ExitCode::kUnavailable, {"2097152 combinations", "1048576"},
               [&] { PackedSubject(combinations.view, kTile); });
}

TEST(Plan, CountsTheWork) {
  Plain const plain({2, 3, 4, 5}, {1, 2});
  PackedSubject const packed(plain.view, kTile);
  EXPECT_EQ(packed.forward_macs(), 4);
  EXPECT_EQ(packed.shared_macs(), 2);
}

}  // namespace
}  // namespace fairlane
