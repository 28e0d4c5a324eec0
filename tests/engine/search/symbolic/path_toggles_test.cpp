// Boxes of integers against every value of the domain, and a path by hand.
#include "engine/search/symbolic/path_toggles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "tests/naive_reference.h"

namespace fairlane {
namespace {

using naive::Row;

TEST(PathToggles, BoxesHoldWhatPredicatesLeave) {
  std::uint32_t const seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::vector<CodeRange> const domain = {{-2, 3}, {0, 1}, {5, 9}};
  int empty = 0;
  for (int round = 0; round < 500; ++round) {
    std::vector<Predicate> predicates;
    for (std::size_t i = random() % 6; i > 0; --i) {
      auto const a = random() % domain.size();
      auto const range = static_cast<std::uint32_t>(domain[a].high - domain[a].low + 3);
      auto const threshold = domain[a].low - 1 + static_cast<std::int32_t>(random() % range);
      predicates.push_back({static_cast<int>(a), random() % 2 == 0, threshold, 0.5});
    }
    Row row;
    for (auto const& interval : domain) {
      row.push_back(interval.low +
                    static_cast<std::int32_t>(
                        random() % static_cast<std::uint32_t>(interval.high - interval.low + 1)));
    }
    std::vector<std::int32_t> box;
    Row sticky = row;
    Row lowest = row;
    bool possible = true;
    for (std::size_t a = 0; a < domain.size(); ++a) {
      std::vector<std::int32_t> allowed;
      bool bounded = false;
      for (std::int32_t v = domain[a].low; v <= domain[a].high; ++v) {
        bool fulfils = true;
        for (auto const& p : predicates) {
          if (p.attribute != static_cast<int>(a)) continue;
          bounded = true;
          fulfils &= p.above ? v > p.threshold : v <= p.threshold;
        }
        if (fulfils) allowed.push_back(v);
      }
      possible &= !allowed.empty();
      if (!bounded || allowed.empty()) continue;
      if (allowed.front() > domain[a].low || allowed.back() < domain[a].high)
        box.insert(box.end(), {static_cast<std::int32_t>(a), allowed.front(), allowed.back()});
      lowest[a] = allowed.front();
      sticky[a] = *std::min_element(allowed.begin(), allowed.end(), [&](auto x, auto y) {
        return std::abs(x - row[a]) < std::abs(y - row[a]);
      });
    }
    empty += possible ? 0 : 1;
    auto const canonical = canonical_box(predicates, domain);
    ASSERT_EQ(canonical.has_value(), possible);
    Row solved = row;
    ASSERT_EQ(solve(predicates, domain, ToggleSolver::kSticky, solved), possible);
    EXPECT_EQ(solved, possible ? sticky : row);
    if (!possible) continue;
    EXPECT_EQ(*canonical, box);
    solved = row;
    ASSERT_TRUE(solve(predicates, domain, ToggleSolver::kLowest, solved));
    EXPECT_EQ(solved, lowest);
  }
  EXPECT_GT(empty, 20);
}

/// A path by hand. Attribute 2 is protected.
class HandMadePath : public ::testing::Test {
 protected:
  struct Expected {
    double rank;
    Row row;
  };
  void expect(bool found, std::vector<Expected> const& all) const {
    auto const made = toggles(path_, row_, found, space_, config_);
    ASSERT_EQ(made.size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      SCOPED_TRACE(i);
      EXPECT_DOUBLE_EQ(made[i].rank, all[i].rank);
      EXPECT_EQ(made[i].row, all[i].row);
      EXPECT_EQ(made[i].directed, all[i].rank < kSeedRank);
    }
  }

  std::vector<Predicate> path_ = {{0, false, 6, 0.75},
                                  {2, true, 0, 0.5},
                                  {0, true, 3, 0.5},
                                  {1, false, 4, 0.25},
                                  {1, true, 1, 0.5}};
  Row row_ = {5, 3, 1};
  ToggleSpace space_ = {{{0, 9}, {0, 9}, {0, 1}}, {1, 1, 0}};
  SymbolicConfig config_;
};

TEST_F(HandMadePath, UndirectedStopsAtLittleConfidence) {
  expect(false, {{10.0 - 0.25, {7, 3, 1}}, {10.0 - (0.75 + 0.5) / 2.0, {3, 3, 1}}});
  config_.t1 = 0.8;
  expect(false, {});
  config_.t1 = 0.25;  // at the threshold it goes on
  expect(false, {{10.0 - 0.25, {7, 3, 1}},
                 {10.0 - (0.75 + 0.5) / 2.0, {3, 3, 1}},
                 {10.0 - (0.75 + 0.5 + 0.75) / 3.0, {5, 5, 1}},
                 {10.0 - (0.75 + 0.5 + 0.25 + 0.5) / 4.0, {5, 1, 1}}});
}

TEST_F(HandMadePath, DirectedTogglesEveryPredicateOfAnIdi) {
  config_.order = QueueOrder::kConfidence;
  std::vector<Expected> const undirected = {{10.0 - 0.25, {7, 3, 1}},
                                            {10.0 - (0.75 + 0.5) / 2.0, {3, 3, 1}}};
  std::vector<Expected> all = {{1.0 + (0.25 + 0.5 + 0.5 + 0.25 + 0.5) / 5.0, {7, 3, 1}},
                               {1.0 + (0.75 + 0.5 + 0.5 + 0.25 + 0.5) / 5.0, {3, 3, 1}},
                               {1.0 + (0.75 + 0.5 + 0.5 + 0.75 + 0.5) / 5.0, {5, 5, 1}},
                               {1.0 + (0.75 + 0.5 + 0.5 + 0.25 + 0.5) / 5.0, {5, 1, 1}}};
  all.insert(all.end(), undirected.begin(), undirected.end());
  expect(true, all);
  config_.t2 = 0.5;  // only predicates of less confidence
  expect(true, {all[2], undirected[0], undirected[1]});
}

TEST_F(HandMadePath, DirectedBeginsAtTheLeaf) {
  config_.t1 = 1.0;
  // The predicate on the immutable attribute takes its place on the path all the same.
  expect(true, {{1.0 + 5.0 / 5.0, {7, 3, 1}},
                {1.0 + 3.0 / 5.0, {3, 3, 1}},
                {1.0 + 2.0 / 5.0, {5, 5, 1}},
                {1.0 + 1.0 / 5.0, {5, 1, 1}}});
}

TEST_F(HandMadePath, TheLowestSolverMovesWhatThePrefixBounds) {
  config_.solver = ToggleSolver::kLowest;
  expect(false, {{10.0 - 0.25, {7, 3, 1}}, {10.0 - (0.75 + 0.5) / 2.0, {0, 3, 1}}});
}

TEST_F(HandMadePath, PathsThatNoInputHasAreLeftOut) {
  // x <= 6 and x <= 3: the negation of the first leaves nothing where the second holds.
  path_ = {{0, false, 6, 0.5}, {0, false, 3, 0.5}};
  row_ = {2, 0, 0};
  config_.t1 = 1.0;
  config_.order = QueueOrder::kConfidence;
  expect(true, {{1.5, {4, 0, 0}}});
  EXPECT_EQ(toggles(path_, row_, true, space_, config_)[0].box,
            (std::vector<std::int32_t>{0, 4, 6}));
}

}  // namespace
}  // namespace fairlane
