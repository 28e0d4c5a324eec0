#include "engine/verify/ensembles/tree_table.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/engine/verify/deciders/decided_ensemble.h"

namespace fairlane {
namespace {

/// What a table of a box of an ensemble is made of.
struct Tabulated {
  BoxTrees trees;
  TreeBounds bounds{trees};
  BoxKinds kinds{trees};
  LeafUnits units;
  TreeTable table;
  double least_upper;
  double most_lower;

  explicit Tabulated(DecidedEnsemble& ensemble)
      : trees(ensemble.domain(), ensemble.trees()),
        units(ensemble.trees(), ensemble.query().threshold),
        table(trees, units, ensemble.query(), ensemble.backend()),
        least_upper(ensemble.query().least_upper()),
        most_lower(ensemble.query().most_lower()) {}
  bool fill(GroupBox const& box, std::vector<int> const& variants) {
    bounds.bound(box, variants);
    kinds.find(bounds, box, variants);
    return table.fill(kinds, bounds.labels(least_upper, most_lower));
  }
};

TEST(TreeTable, SaysOfEveryKindWhatTheScorerSays) {
  int tables = 0;
  int of_classes = 0;
  double unfair = 0.0;
  double in_doubt = 0.0;
  for (std::uint32_t seed = 1; seed <= 1200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RegionRules rules;
    if (seed % 5 == 0) rules.limits.push_back({{0, 0, 0, 1, 1}, 1});
    DecidedEnsemble ensemble(seed, rules, 0.0, 8, seed % 4 < 2);
    auto const& variants = ensemble.query().variants[0];
    Tabulated of(ensemble);
    for (int i = 0; i < 4; ++i) {
      GroupBox const box =
          i == 0 ? ensemble.domain().whole() : ensemble.part(ensemble.domain().whole());
      if (!of.fill(box, variants)) {
        ASSERT_EQ(ensemble.trees().sums, 2);  // which may be a score with another threshold
        continue;
      }
      ++(ensemble.trees().sums > 2 ? of_classes : tables);
      double counted = 0.0;
      double doubted = 0.0;
      of.table.each_open(
          [&](std::span<std::int32_t const> entries, double groups, TreeTable::Outcome outcome) {
            GroupBox point;
            for (std::int32_t const entry : entries) point.push_back({entry, entry});
            bool const truly = ensemble.truth(point).unfair == 1;
            if (outcome == TreeTable::Outcome::kInDoubt) {
              doubted += groups;
              counted += truly ? groups : 0.0;
            } else {
              EXPECT_TRUE(truly);
              counted += groups;
            }
            return true;
          });
      ASSERT_EQ(counted, static_cast<double>(ensemble.truth(box).unfair));
      of.table.settle();
      double settled = 0.0;
      of.table.each_open(
          [&](std::span<std::int32_t const>, double groups, TreeTable::Outcome outcome) {
            EXPECT_EQ(outcome, TreeTable::Outcome::kUnfair);
            settled += groups;
            return true;
          });
      ASSERT_EQ(settled, counted);
      unfair += counted;
      in_doubt += doubted;
    }
  }
  EXPECT_GT(tables, 500);
  EXPECT_GT(of_classes, 500);
  EXPECT_GT(unfair, 200.0);
  EXPECT_LT(in_doubt, 0.01 * unfair);
}

// Trees that vote in whole numbers often leave a tie, whose label is known all the same.
TEST(TreeTable, HasNoDoubtWhereSumsAreExact) {
  int ties = 0;
  for (std::uint32_t seed = 2; seed <= 200; seed += 2) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    DecidedEnsemble drawn(seed, {}, 0.0);
    if (drawn.trees().sums > 1 || !drawn.trees().in_double) continue;
    TreeEnsemble votes = drawn.trees();
    for (double& leaf : votes.leaves) leaf = leaf > 0.0 ? 1.0 : -1.0;
    votes.base = {0.0};
    votes.divisor = 1.0;
    votes.decision_threshold = 0.0;
    LeafUnits const units(votes, 0.0);
    ASSERT_TRUE(units.usable());
    EXPECT_EQ(units.one_above(), units.zero_up_to());
    EXPECT_EQ(units.one_above(), 0);
    for (std::size_t leaf = 0; leaf < votes.leaves.size(); ++leaf)
      EXPECT_EQ(units.of(0, leaf) > 0, votes.leaves[leaf] > 0.0);
    ++ties;
  }
  EXPECT_GT(ties, 10);
}

/// What a row's leaves come to. [sums]
std::vector<std::int64_t> sums_in_units(TreeEnsemble const& trees, LeafUnits const& units,
                                        std::vector<float> const& row) {
  std::vector<std::int64_t> sums;
  for (int sum = 0; sum < units.sums(); ++sum) sums.push_back(units.base(sum));
  for (std::size_t t = 0; t < trees.roots.size(); ++t) {
    std::int32_t at = trees.roots[t];
    while (at >= 0) {
      auto const n = static_cast<std::size_t>(at);
      bool const met = row[static_cast<std::size_t>(trees.feature[n])] <= trees.threshold[n];
      at = met ? trees.left[n] : trees.right[n];
    }
    for (int sum = 0; sum < units.sums(); ++sum)
      sums[static_cast<std::size_t>(sum)] += units.of(t, static_cast<std::size_t>(~at), sum);
  }
  return sums;
}

// Labels by units are those by the library's sums, wherever they are not in doubt.
TEST(LeafUnits, AgreeWithScores) {
  std::mt19937 random(5);
  int known = 0;
  int of_classes = 0;
  int doubts = 0;
  for (std::uint32_t seed = 1; seed <= 600; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    TreeEnsemble const trees = random_ensemble(random, seed % 2 == 0, 4);
    double const threshold = seed % 3 == 0 ? 0.0 : 0.25;
    LeafUnits const units(trees, threshold);
    ASSERT_TRUE(units.usable());
    ASSERT_EQ(units.sums(), trees.sums > 2 ? trees.sums : 1);
    TreeScorer scorer(trees, 1);
    for (int i = 0; i < 30; ++i) {
      std::vector<float> row;
      for (int k = 0; k < trees.inputs; ++k)
        row.push_back(static_cast<float>(random() % 24) * 0.5F - 5.0F);
      std::vector<float> scores(static_cast<std::size_t>(trees.sums));
      scorer.score(row.data(), 1, scores.data());
      std::vector<std::int64_t> const sums = sums_in_units(trees, units, row);
      auto const truth = trees.sums > 1 ? std::ranges::max_element(scores) - scores.begin()
                                        : scores[0] > static_cast<float>(threshold);
      std::ptrdiff_t label = -1;  // in doubt
      if (units.sums() > 1) {
        auto const top = std::ranges::max_element(sums);
        bool const leads = std::ranges::all_of(sums, [&](std::int64_t const& sum) {
          return &sum == &*top || *top - sum >= units.lead();
        });
        if (leads) label = top - sums.begin();
      } else if (sums[0] > units.one_above()) {
        label = 1;
      } else if (sums[0] <= units.zero_up_to()) {
        label = 0;
      }
      if (label < 0) {
        ++doubts;
        continue;
      }
      EXPECT_EQ(label, truth);
      ++(units.sums() > 1 ? of_classes : known);
    }
  }
  EXPECT_GT(known, 3000);
  EXPECT_GT(of_classes, 3000);
  EXPECT_GT(known + of_classes, 100 * doubts);
}

// Many roundings in float32, where the threshold is a score that some row has.
TEST(LeafUnits, AreInDoubtWhereRoundingMayDecide) {
  std::mt19937 random(9);
  int known = 0;
  int doubts = 0;
  for (int i = 0; i < 40; ++i) {
    TreeEnsemble trees;
    trees.source = "random";
    trees.inputs = 12;
    trees.sums = 1;
    trees.base = {0.1};
    for (int t = 0; t < 400; ++t) {
      auto const leaf = static_cast<std::int32_t>(trees.leaves.size());
      for (int side = 0; side < 2; ++side)
        trees.leaves.push_back(
            static_cast<float>(static_cast<double>(random() % 2000001) / 1e6 - 1.0));
      trees.roots.push_back(static_cast<std::int32_t>(trees.feature.size()));
      trees.first_sum.push_back(0);
      trees.feature.push_back(static_cast<std::int32_t>(random() % 12));
      trees.threshold.push_back(static_cast<float>(random() % 9));
      trees.left.push_back(~leaf);
      trees.right.push_back(~(leaf + 1));
    }
    TreeScorer scorer(trees, 1);
    std::vector<std::vector<float>> rows(20);
    std::vector<float> scores(rows.size());
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (int k = 0; k < 12; ++k) rows[r].push_back(static_cast<float>(random() % 10));
      scorer.score(rows[r].data(), 1, &scores[r]);
    }
    for (float const threshold : scores) {
      LeafUnits const units(trees, static_cast<double>(threshold));
      ASSERT_TRUE(units.usable());
      for (std::size_t r = 0; r < rows.size(); ++r) {
        std::int64_t const sum = sums_in_units(trees, units, rows[r])[0];
        bool const is_one = scores[r] > threshold;
        if (sum > units.one_above()) {
          EXPECT_TRUE(is_one);
        } else if (sum <= units.zero_up_to()) {
          EXPECT_FALSE(is_one);
        }
        bool const in_doubt = sum > units.zero_up_to() && sum <= units.one_above();
        if (scores[r] == threshold) {
          EXPECT_TRUE(in_doubt || sum <= units.zero_up_to());
        }
        ++(in_doubt ? doubts : known);
      }
    }
  }
  EXPECT_GT(doubts, 400);
  EXPECT_GT(known, 10 * doubts);
}

// Groups of one kind have the same scores with every variant.
TEST(BoxKinds, HoldGroupsThatNoTreeTellsApart) {
  int shared = 0;
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    DecidedEnsemble ensemble(seed, {}, 0.0);
    auto const& domain = ensemble.domain();
    auto const& variants = ensemble.query().variants[0];
    Tabulated of(ensemble);
    GroupBox const box = ensemble.part(domain.whole());
    of.bounds.bound(box, variants);
    of.kinds.find(of.bounds, box, variants);
    std::map<std::vector<bool>, std::vector<double>> known;
    double kinds = 1.0;
    for (std::size_t a = 0; a < box.size(); ++a) {
      std::int32_t entries = 0;
      for (std::int32_t const size : of.kinds.axes()[a].sizes) entries += size;
      EXPECT_EQ(entries, box[a].size());
      kinds *= static_cast<double>(of.kinds.axes()[a].kinds());
    }
    EXPECT_EQ(of.kinds.groups(), kinds);
    each_point(box, [&](std::vector<std::int32_t> const& entries) {
      std::vector<bool> sides;
      for (std::int32_t const c : of.bounds.open()) {
        auto const& condition = of.trees.condition(c);
        if (condition.axis == BoxTrees::kVariants) continue;
        std::int32_t const entry = entries[static_cast<std::size_t>(condition.axis)];
        sides.push_back(condition.meets.empty()
                            ? entry < condition.cut
                            : condition.meets[static_cast<std::size_t>(entry)] != 0);
      }
      std::vector<double> scores;
      for (int const v : variants)
        for (double const score : ensemble.scores(entries, v)) scores.push_back(score);
      auto const [at, is_new] = known.try_emplace(sides, scores);
      EXPECT_EQ(at->second, scores);
      shared += is_new ? 0 : 1;
      return true;
    });
    EXPECT_LE(static_cast<double>(known.size()), kinds);
  }
  EXPECT_GT(shared, 200);
}

}  // namespace
}  // namespace fairlane
