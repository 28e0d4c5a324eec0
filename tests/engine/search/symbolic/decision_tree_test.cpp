// Trees against one that counts every split anew.
#include "engine/search/symbolic/decision_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "tests/engine/search/symbolic/naive_tree.h"

namespace fairlane {
namespace {

/// A sample as the tree takes it.
struct Flat {
  explicit Flat(naive::Sample const& sample)
      : attributes(sample.rows.empty() ? 0 : static_cast<int>(sample.rows[0].size())) {
    for (auto const& row : sample.rows) rows.insert(rows.end(), row.begin(), row.end());
    for (int const label : sample.labels) labels.push_back(static_cast<std::uint8_t>(label));
  }
  LabelledRows view() const {
    return {rows.data(), labels.data(), static_cast<std::int64_t>(labels.size()), attributes};
  }

  int attributes;
  std::vector<std::int32_t> rows;
  std::vector<std::uint8_t> labels;
};

naive::Sample random_sample(std::mt19937& random) {
  naive::Sample sample;
  std::size_t const attributes = 1 + random() % 4;
  std::vector<std::int32_t> ranges;
  for (std::size_t a = 0; a < attributes; ++a) {
    constexpr std::int32_t kRanges[] = {2, 3, 7, 1000, 20'000'000};
    ranges.push_back(kRanges[random() % 5]);
  }
  int const classes = 2 + static_cast<int>(random() % 3);
  std::size_t const count = 1 + random() % 40;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<std::int32_t> row;
    for (std::int32_t const range : ranges) {
      row.push_back(static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(range)) -
                    range / 2);
    }
    sample.rows.push_back(row);
    constexpr int kFarApart = 120;  // classes need not be neighbours
    sample.labels.push_back(static_cast<int>(random() % static_cast<std::uint32_t>(classes)) *
                            kFarApart / classes);
  }
  return sample;
}

TEST(DecisionTree, SplitsLikeBruteForce) {
  std::uint32_t const seed = std::random_device()();
  std::mt19937 random(seed);
  for (int round = 0; round < 100; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", round " << round);
    naive::Sample const sample = random_sample(random);
    Flat const flat(sample);
    DecisionTree const tree(flat.view());
    std::set<int> leaves;
    for (auto const& row : sample.rows) {
      auto const expected = naive::tree_path(sample, row);
      ASSERT_EQ(tree.path(row.data()), expected);
      ASSERT_EQ(tree_path(flat.view(), row.data()), expected) << "grown along the path alone";
      leaves.insert(tree.leaf(row.data()));
    }
    // Every leaf has rows, and its number is below leaves().
    EXPECT_EQ(static_cast<int>(leaves.size()), tree.leaves());
    EXPECT_EQ(*leaves.begin(), 0);
    EXPECT_EQ(*leaves.rbegin(), tree.leaves() - 1);
    // Rows that no sample has go somewhere too.
    auto far = sample.rows[0];
    for (auto& value : far) value = random() % 2 == 0 ? -16'777'216 : 16'777'216;
    EXPECT_EQ(tree.path(far.data()), naive::tree_path(sample, far));
  }
}

TEST(DecisionTree, SeparatesAllRowsThatDiffer) {
  std::uint32_t const seed = std::random_device()();
  std::mt19937 random(seed);
  SCOPED_TRACE(seed);
  naive::Sample sample;
  for (std::int32_t i = 0; i < 512; ++i) {
    sample.rows.push_back({i % 8, i / 8 % 8, i / 64});
    sample.labels.push_back(static_cast<int>(random() % 2));
  }
  Flat const flat(sample);
  DecisionTree const tree(flat.view());
  std::map<int, std::set<int>> labels;
  for (std::size_t i = 0; i < sample.rows.size(); ++i)
    labels[tree.leaf(sample.rows[i].data())].insert(sample.labels[i]);
  for (auto const& [leaf, classes] : labels) EXPECT_EQ(classes.size(), 1U) << leaf;
}

// By hand: 10 rows, x <= 3 goes left (4 rows), there y <= 0 (1 of 4) decides.
TEST(DecisionTree, ConfidenceIsTheShareOfTheNodesRows) {
  naive::Sample sample;
  for (std::int32_t i = 0; i < 6; ++i) {
    sample.rows.push_back({7, i % 3});
    sample.labels.push_back(1);
  }
  for (std::int32_t const y : {0, 1, 1, 2}) {
    sample.rows.push_back({0, y});
    sample.labels.push_back(y == 0 ? 1 : 0);
  }
  Flat const flat(sample);
  std::int32_t const row[] = {2, 1};
  std::vector<Predicate> const expected = {{0, false, 3, 0.4}, {1, true, 0, 0.75}};
  EXPECT_EQ(DecisionTree(flat.view()).path(row), expected);
}

// No single split helps, but the tree goes on: the first of equal splits, by attribute.
TEST(DecisionTree, SplitsWhereNothingIsGained) {
  naive::Sample const sample = {{{0, 0}, {0, 1}, {1, 0}, {1, 1}}, {0, 1, 1, 0}};
  Flat const flat(sample);
  DecisionTree const tree(flat.view());
  EXPECT_EQ(tree.leaves(), 4);
  std::vector<Predicate> const expected = {{0, true, 0, 0.5}, {1, false, 0, 0.5}};
  std::int32_t const row[] = {1, 0};
  EXPECT_EQ(tree.path(row), expected);
}

TEST(DecisionTree, OneClassOrNoRowsAreOneLeaf) {
  std::int32_t const row[] = {3};
  for (naive::Sample const& sample :
       {naive::Sample{{{1}, {2}, {3}}, {1, 1, 1}}, naive::Sample{{{5}, {5}}, {0, 1}}}) {
    Flat const flat(sample);
    DecisionTree const tree(flat.view());
    EXPECT_EQ(tree.leaves(), 1);
    EXPECT_EQ(tree.leaf(row), 0);
    EXPECT_TRUE(tree.path(row).empty());
    EXPECT_TRUE(tree_path(flat.view(), row).empty());
  }
  DecisionTree const tree(LabelledRows{nullptr, nullptr, 0, 1});
  EXPECT_EQ(tree.leaves(), 1);
  EXPECT_EQ(tree.leaf(row), 0);
}

}  // namespace
}  // namespace fairlane
