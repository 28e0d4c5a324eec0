#include "engine/record/findings.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "engine/record/row_codec.h"
#include "tests/engine/search/small_subject.h"

namespace fairlane {
namespace {

constexpr int kTile = 4;
constexpr std::uint64_t kNoCut = ~std::uint64_t{0};

using Row = std::vector<std::int32_t>;

SmallShape wide_shape() {
  SmallShape shape;
  shape.ranges.assign(9, 1 << 20);
  shape.ranges[2] = 3;
  shape.ranges[7] = 2;
  shape.selected = {2, 7};
  return shape;
}

SmallShape shape_with(std::vector<std::int32_t> ranges, std::vector<std::int32_t> selected) {
  SmallShape shape;
  shape.ranges = std::move(ranges);
  shape.selected = std::move(selected);
  return shape;
}

// The backend's key of a row, from the layout's definition.
std::vector<std::uint64_t> group_of(PackedSubject const& packed, Row const& row) {
  auto const& keys = packed.keys();
  std::vector<std::uint64_t> group(static_cast<std::size_t>(keys.words));
  for (std::size_t a = 0; a < row.size(); ++a) {
    auto const column = static_cast<std::size_t>(packed.column_of()[a]);
    if (keys.word[column] < 0) continue;
    group[static_cast<std::size_t>(keys.word[column])] +=
        static_cast<std::uint64_t>(row[a] - packed.get().low[column]) * keys.stride[column];
  }
  return group;
}

std::vector<SmallShape> shapes() {
  SmallShape scattered = shape_with({4, 5, 1, 6, 2, 7, 3, 1, 9}, {1, 4, 8});
  return {SmallShape{},
          scattered,
          shape_with({3, 4, 5}, {0}),
          shape_with({3, 4, 5}, {2}),
          wide_shape(),
          shape_with({1 << 24, 1 << 24, 1 << 24, 3, 5}, {3})};
}

TEST(RowCodec, TurnsKeysIntoRowsAndBack) {
  for (auto const& shape : shapes()) {
    SmallSubject const subject(shape);
    PackedSubject const packed(subject.view, kTile);
    RowCodec const codec(packed);
    std::mt19937 random(7);
    auto const words = static_cast<std::size_t>(codec.words());
    Row before;
    std::vector<std::uint64_t> key_before;
    for (int i = 0; i < 2000; ++i) {
      Row const row = subject.random_row(random);
      auto const group = group_of(packed, row);
      auto const variant = static_cast<std::uint32_t>(packed.variant_of(row.data()));
      std::vector<std::uint64_t> key(words);
      codec.row_key(row.data(), key.data());
      std::vector<std::uint64_t> same(words);
      codec.key(group.data(), variant, same.data());
      ASSERT_EQ(key, same);
      Row back(row.size());
      codec.row_of_key(key.data(), back.data());
      ASSERT_EQ(back, row);
      codec.row(group.data(), variant, back.data());
      ASSERT_EQ(back, row);
      for (std::uint64_t const word : key) ASSERT_EQ(word >> kRowKeyBits, 0U);
      if (!before.empty()) {
        ASSERT_EQ(before < row, key_before < key) << "keys do not sort like rows";
      }
      before = row;
      key_before = key;
      Row member = row;
      for (std::int32_t const s : shape.selected) {
        auto const a = static_cast<std::size_t>(s);
        member[a] = subject.view.low[a];
      }
      std::vector<std::uint64_t> least(words);
      codec.row_key(member.data(), least.data());
      codec.group_of_key(key.data(), same.data());
      ASSERT_EQ(same, least);
    }
  }
}

/// What the findings must say, kept in plain containers.
struct Reference {
  struct Input {
    std::uint64_t finder;
    std::uint8_t state;
  };
  std::map<Row, Input> inputs;

  void add(Row const& row, std::uint64_t finder, std::uint8_t state) {
    auto const [at, is_new] = inputs.emplace(row, Input{finder, state});
    if (!is_new) at->second.finder = std::min(at->second.finder, finder);
  }
};

/// Visits that own their arrays.
struct OwnedVisits {
  std::vector<std::uint64_t> group;
  std::vector<std::uint32_t> variant;
  std::vector<std::uint64_t> finder;
  std::vector<std::uint8_t> state;

  void add(PackedSubject const& packed, Row const& row, std::uint64_t f, std::uint8_t s) {
    auto const words = group_of(packed, row);
    group.insert(group.end(), words.begin(), words.end());
    variant.push_back(static_cast<std::uint32_t>(packed.variant_of(row.data())));
    finder.push_back(f);
    state.push_back(s);
  }
  Visits view(PackedSubject const& packed) const {
    return {variant.size(), packed.keys().words, group.data(),
            variant.data(), finder.data(),       state.data()};
  }
};

std::uint8_t state_of(Row const& row) {
  constexpr std::uint8_t kStates[] = {kVisitHit, kVisitHit, 0, kVisitUndefined, kVisitUncertain};
  return kStates[static_cast<std::size_t>(row[1] + row[3] + 100) % std::size(kStates)];
}

void expect_same(Findings const& findings, Reference const& reference, SmallShape const& shape,
                 std::uint64_t cut) {
  std::vector<std::pair<Row, std::uint64_t>> expected;
  std::map<Row, std::uint64_t> groups;  // with their least finders
  FindingCounts counts;
  for (auto const& [row, input] : reference.inputs) {
    if (input.finder >= cut) continue;
    ++counts.unique_generated;
    if (input.state == kVisitUndefined) ++counts.undefined;
    if (input.state == kVisitUncertain) ++counts.undefined_similar;
    if (input.state != kVisitHit) continue;
    expected.emplace_back(row, input.finder);
    Row group = row;
    for (std::int32_t const s : shape.selected) group[static_cast<std::size_t>(s)] = 0;
    auto const [at, is_new] = groups.emplace(group, input.finder);
    if (!is_new) at->second = std::min(at->second, input.finder);
  }
  EXPECT_EQ(findings.counts().unique_generated, counts.unique_generated);
  EXPECT_EQ(findings.counts().undefined, counts.undefined);
  EXPECT_EQ(findings.counts().undefined_similar, counts.undefined_similar);
  EXPECT_EQ(findings.counts().unique_instances, static_cast<std::int64_t>(expected.size()));
  EXPECT_EQ(findings.counts().unique_groups, static_cast<std::int64_t>(groups.size()));
  for (int pass = 0; pass < 2; ++pass) {
    std::vector<std::pair<Row, std::uint64_t>> found;
    findings.for_each([&](std::int32_t const* rows, std::uint64_t const* finders, std::size_t n) {
      auto const width = shape.ranges.size();
      for (std::size_t i = 0; i < n; ++i) {
        found.emplace_back(Row(rows + i * width, rows + (i + 1) * width), finders[i]);
      }
    });
    EXPECT_EQ(found, expected) << "pass " << pass;
    std::vector<std::uint64_t> first;
    findings.for_each_first_finder([&](std::uint64_t const* finders, std::size_t n) {
      first.insert(first.end(), finders, finders + n);
    });
    std::vector<std::uint64_t> expected_first;
    for (auto const& [group, finder] : groups) expected_first.push_back(finder);
    EXPECT_EQ(first, expected_first) << "pass " << pass;
  }
}

// The table hands out distinct inputs; overflow repeats some of them, and itself.
void check_findings(SmallShape const& shape, bool overflow, std::uint64_t limit,
                    std::uint64_t cut) {
  SmallSubject const subject(shape);
  PackedSubject const packed(subject.view, kTile);
  TemporaryFolder const folder;
  Findings findings(packed, {folder.file("spill"), limit});
  Reference reference;
  std::mt19937 random(11);
  auto const finder = [&] {
    return Finder::pack(random() % 2 == 0 ? Phase::kGlobal : Phase::kLocal,
                        static_cast<std::uint32_t>(random() % 50),
                        static_cast<std::uint32_t>(random() % 9 + 1));
  };
  std::vector<Row> seen;
  if (overflow) {
    for (int batch = 0; batch < 5; ++batch) {
      OwnedVisits visits;
      for (int i = 0; i < 500; ++i) {
        Row row = subject.random_row(random);
        if (!seen.empty() && random() % 3 == 0) row = seen[random() % seen.size()];
        seen.push_back(row);
        std::uint64_t const f = finder();
        visits.add(packed, row, f, state_of(row));
        reference.add(row, f, state_of(row));
      }
      findings.add(visits.view(packed));
    }
  }
  std::set<Row> recorded;
  for (int batch = 0; batch < 5; ++batch) {
    OwnedVisits visits;
    for (int i = 0; i < 500; ++i) {
      Row row = subject.random_row(random);
      if (!seen.empty() && random() % 3 == 0) row = seen[random() % seen.size()];
      if (!recorded.insert(row).second) continue;
      std::uint64_t const f = finder();
      visits.add(packed, row, f, state_of(row));
      reference.add(row, f, state_of(row));
    }
    findings.add_distinct(visits.view(packed), cut);
  }
  findings.finish(cut);
  expect_same(findings, reference, shape, cut);
}

TEST(Findings, AgreesWithPlainContainers) {
  std::uint64_t const cut = Finder::pack(Phase::kLocal, 20, 4);
  for (auto const& shape : {SmallShape{}, wide_shape(), shape_with({6, 50, 2, 9, 30}, {2, 3})}) {
    for (bool const overflow : {false, true}) {
      for (std::uint64_t const limit : {std::uint64_t{1} << 30, std::uint64_t{1} << 12}) {
        for (std::uint64_t const c : {kNoCut, cut, std::uint64_t{0}}) {
          SCOPED_TRACE(testing::Message() << shape.ranges.size() << " attributes, overflow "
                                          << overflow << ", limit " << limit << ", cut " << c);
          check_findings(shape, overflow, limit, c);
        }
      }
    }
  }
}

}  // namespace
}  // namespace fairlane
