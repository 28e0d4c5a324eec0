#include "engine/verify/ensembles/tree_bounds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/engine/verify/deciders/decided_ensemble.h"

namespace fairlane {
namespace {

// At a point the bounds are the scorer's scores, and over a box they hold them all.
TEST(TreeBounds, HoldWhatTheScorerSays) {
  int inside = 0;
  for (std::uint32_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    DecidedEnsemble ensemble(seed, {}, 0.0);
    BoxDomain const& domain = ensemble.domain();
    BoxTrees const trees(domain, ensemble.trees());
    TreeBounds bounds(trees);
    int const only[] = {domain.variants() - 1};
    GroupBox const box = ensemble.part(domain.whole());
    bounds.bound(box, only);
    std::vector<Interval> const over_box = bounds.scores();
    each_point(box, [&](std::vector<std::int32_t> const& entries) {
      auto const scores = ensemble.scores(entries, only[0]);
      GroupBox point;
      for (std::int32_t const entry : entries) point.push_back({entry, entry});
      bounds.bound(point, only);
      for (std::size_t c = 0; c < scores.size(); ++c) {
        // Of several scores the scorer's are rounded to float32.
        auto const rounded = [&](double x) {
          return scores.size() > 1 ? static_cast<double>(static_cast<float>(x)) : x;
        };
        EXPECT_NEAR(rounded(bounds.scores()[c].low), scores[c],
                    scores.size() > 1 ? 1e-6 * std::abs(scores[c]) : 0.0);
        EXPECT_EQ(bounds.scores()[c].low, bounds.scores()[c].high);
        EXPECT_LE(over_box[c].low, bounds.scores()[c].low);
        EXPECT_GE(over_box[c].high, bounds.scores()[c].high);
        inside += over_box[c].low < bounds.scores()[c].low ? 1 : 0;
      }
      return true;
    });
  }
  EXPECT_GT(inside, 1000);
}

}  // namespace
}  // namespace fairlane
