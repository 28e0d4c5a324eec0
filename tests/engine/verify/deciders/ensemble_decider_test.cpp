#include "engine/verify/deciders/ensemble_decider.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>

#include "engine/verify/certain_shares.h"
#include "tests/engine/verify/deciders/decided_ensemble.h"

namespace fairlane {
namespace {

/// What a decider says of a box and all its parts.
struct Verdicts {
  bool unfair = false;
  bool close = false;
};

Verdicts decide_all(DecidedEnsemble& ensemble, GroupBox const& box,
                    std::array<int, kBoxVerdicts>& counts) {
  EnsembleDecider decider(ensemble.domain(), ensemble.trees(), ensemble.backend(),
                          ensemble.query());
  std::vector<OpenBox> open = {{.id = 5, .box = box}};
  Verdicts verdicts;
  while (!open.empty() && !verdicts.unfair) {
    std::vector<Decision> decisions(open.size());
    decider.decide(open, decisions);
    std::vector<OpenBox> parts;
    for (std::size_t i = 0; i < open.size(); ++i) {
      Decision const& decision = decisions[i];
      ++counts[static_cast<std::size_t>(decision.verdict)];
      verdicts.unfair = verdicts.unfair || decision.verdict == BoxVerdict::kUnfair;
      verdicts.close = verdicts.close || decision.verdict == BoxVerdict::kWithinMargin;
      if (decision.verdict != BoxVerdict::kOpen) continue;
      AxisRange const cut = decision.box[decision.cut.axis];
      EXPECT_GE(decision.cut.entry, cut.first);
      EXPECT_LT(decision.cut.entry, cut.last);
      for (bool const upper : {false, true})
        parts.push_back(part_of(open[i], decision.cut, upper, upper ? 1 : 0));
    }
    open = std::move(parts);
  }
  return verdicts;
}

TEST(EnsembleDecider, AgreesWithEvaluatingEveryGroup) {
  std::array<int, kBoxVerdicts> counts{};
  int unfair = 0;
  int fair = 0;
  int close = 0;
  for (std::uint32_t seed = 1; seed <= 2000; ++seed) {
    RegionRules rules;
    if (seed % 5 == 0) rules.relaxed.push_back({4, 1});
    if (seed % 7 == 0) rules.limits.push_back({{0, 0, 0, 1, 1}, 1});
    double const margin = seed % 4 == 0 ? 0.2 : 0.0;
    SCOPED_TRACE("seed " + std::to_string(seed));
    DecidedEnsemble ensemble(seed, rules, margin, 8, seed % 4 < 2);
    for (int i = 0; i < 6; ++i) {
      GroupBox const box =
          i == 0 ? ensemble.domain().whole() : ensemble.part(ensemble.domain().whole());
      auto const truth = ensemble.truth(box);
      auto const verdicts = decide_all(ensemble, box, counts);
      ASSERT_EQ(verdicts.unfair, truth.unfair > 0);
      ASSERT_TRUE(verdicts.unfair || verdicts.close == (truth.close > 0));
      unfair += truth.unfair > 0 ? 1 : 0;
      fair += truth.unfair == 0 ? 1 : 0;
      close += truth.unfair == 0 && truth.close > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(unfair, 100);
  EXPECT_GT(fair, 100);
  EXPECT_GT(close, 10);
  for (BoxVerdict const verdict :
       {BoxVerdict::kOpen, BoxVerdict::kUnfair, BoxVerdict::kMerged, BoxVerdict::kVariants,
        BoxVerdict::kEnumerated, BoxVerdict::kKinds, BoxVerdict::kWithinMargin,
        BoxVerdict::kEmpty}) {
    EXPECT_GT(counts[static_cast<std::size_t>(verdict)], 10) << static_cast<int>(verdict);
  }
}

TEST(EnsembleDecider, CountsEveryGroup) {
  int by_kinds = 0;
  for (std::uint32_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RegionRules rules;
    if (seed % 5 == 0) rules.limits.push_back({{0, 0, 0, 1, 1}, 1});
    DecidedEnsemble ensemble(seed, rules, 0.0, 8, seed % 4 < 2);
    auto const truth = ensemble.truth(ensemble.domain().whole());
    EnsembleDecider decider(ensemble.domain(), ensemble.trees(), ensemble.backend(),
                            ensemble.query());
    ExistingGroups const existing(ensemble.domain(), ensemble.query().variants[0]);
    ShareQueue queue(ensemble.domain(), existing);
    std::vector<Decision> decisions;
    std::vector<CertainGroups> certain;
    while (true) {
      auto const& boxes = queue.next(decider.costs());
      if (boxes.empty()) break;
      decisions.resize(boxes.size());
      certain.resize(boxes.size());
      decider.measure(existing, boxes, queue.in_part(), decisions, certain);
      for (std::size_t i = 0; i < boxes.size(); ++i) {
        auto const known = ensemble.truth(boxes[i].box);
        ASSERT_LE(certain[i].unfair, static_cast<double>(known.unfair));
        ASSERT_LE(certain[i].fair, static_cast<double>(known.groups - known.unfair));
        by_kinds += seed % 4 < 2 && decisions[i].verdict == BoxVerdict::kKinds ? 1 : 0;
      }
      queue.take(decisions, certain);
    }
    CertainShares const shares = queue.shares();
    EXPECT_EQ(shares.unfair, static_cast<double>(truth.unfair));
    EXPECT_EQ(shares.fair, static_cast<double>(truth.groups - truth.unfair));
  }
  EXPECT_GT(by_kinds, 15);  // where some do not exist
}

}  // namespace
}  // namespace fairlane
