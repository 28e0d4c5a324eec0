#include "engine/verify/ensembles/additive_bounds.h"

#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "tests/engine/verify/deciders/decided_ensemble.h"

namespace fairlane {
namespace {

/// What is counted of a box of an ensemble by additive bounds, beside the truth.
struct Counts {
  int boxes = 0;
  int of_classes = 0;  // that may have more than two labels
  double groups = 0.0;
  double fair = 0.0;
  double unfair = 0.0;
  double true_unfair = 0.0;
};

/// most_labels  that a box's groups may have, or it is left out
void count(DecidedEnsemble& ensemble, GroupBox const& box, Counts& counts, int most_labels = 4) {
  auto const& variants = ensemble.query().variants[0];
  BoxTrees const trees(ensemble.domain(), ensemble.trees());
  LeafUnits const units(ensemble.trees(), ensemble.query().threshold);
  TreeBounds bounds(trees);
  BoxKinds kinds(trees);
  AdditiveBounds additive(trees, units, ensemble.query());
  bounds.bound(box, variants);
  kinds.find(bounds, box, variants);
  std::uint64_t const possible =
      bounds.labels(ensemble.query().least_upper(), ensemble.query().most_lower());
  if (std::popcount(possible) > most_labels) return;
  if (!additive.find(kinds, bounds, box, possible)) {
    ASSERT_TRUE(!units.usable() || std::has_single_bit(possible));
    return;
  }
  auto const truth = ensemble.truth(box);
  double const fair = additive.count_fair();
  double const unfair = additive.count_unfair().groups;
  ASSERT_LE(fair, static_cast<double>(truth.groups - truth.unfair));
  ASSERT_LE(unfair, static_cast<double>(truth.unfair));
  for (std::size_t a = 0; a < box.size(); ++a) {
    bool const is_asked = kinds.axes()[a].kinds() > 1;
    ASSERT_TRUE(is_asked || additive.weights()[a] == 0.0);
  }
  ++counts.boxes;
  counts.of_classes += std::popcount(possible) > 2 ? 1 : 0;
  counts.groups += static_cast<double>(truth.groups);
  counts.fair += fair;
  counts.unfair += unfair;
  counts.true_unfair += static_cast<double>(truth.unfair);
}

TEST(AdditiveBounds, CountNoneTooMany) {
  for (bool const constrained : {false, true}) {
    Counts counts;
    for (std::uint32_t seed = 1; seed <= 1500; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      RegionRules rules;
      if (constrained && seed % 3 == 0) rules.limits.push_back({{0, 0, 0, 1, 1}, 1});
      DecidedEnsemble ensemble(seed, rules, 0.0, 8, constrained);
      GroupBox const whole = ensemble.domain().whole();
      for (int i = 0; i < 4; ++i) {
        count(ensemble, i == 0 ? whole : ensemble.part(whole), counts);
        if (HasFatalFailure()) return;
      }
    }
    EXPECT_GT(counts.boxes, 300);
    EXPECT_GT(counts.of_classes, 30);
    EXPECT_GT(counts.fair, 0.4 * (counts.groups - counts.true_unfair));
    EXPECT_GT(counts.unfair, 0.1 * counts.true_unfair);
  }
}

// Trees of one condition are such sums themselves: nothing remains of them.
TEST(AdditiveBounds, DecideTreesOfOneConditionAlmostWhole) {
  Counts counts;
  for (std::uint32_t seed = 1; seed <= 5000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    DecidedEnsemble ensemble(seed, {}, 0.0, 1, seed % 4 < 2);
    count(ensemble, ensemble.domain().whole(), counts, 2);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(counts.boxes, 100);
  EXPECT_GT(counts.true_unfair, 100.0);
  EXPECT_GT(counts.fair + counts.unfair, 0.9 * counts.groups);
}

}  // namespace
}  // namespace fairlane
