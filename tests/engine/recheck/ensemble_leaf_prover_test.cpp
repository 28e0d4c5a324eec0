#include "engine/recheck/ensemble_leaf_prover.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "tests/engine/verify/deciders/decided_ensemble.h"

namespace fairlane {
namespace {

/// What the scorer says of a row.
class ScorerLabel final : public ContractLabel {
 public:
  ScorerLabel(RowDescriber& rows, int outputs, float threshold)
      : rows_(rows), threshold_(threshold) {
    values_.resize(static_cast<std::size_t>(outputs));
  }
  ContractOutcome operator()(std::int32_t const* row) override {
    rows_.logits(row, 1, values_.data());
    return outcome(threshold_);
  }

 private:
  RowDescriber& rows_;
  float threshold_;
};

TEST(EnsembleLeafProver, ProvesNothingFalse) {
  std::array<int, 3> outcomes{};
  for (std::uint32_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RegionRules rules;
    if (seed % 5 == 0) rules.relaxed.push_back({4, 1});
    if (seed % 7 == 0) rules.limits.push_back({{0, 0, 0, 1, 1}, 1});
    double const margin = seed % 4 == 0 ? 0.2 : 0.0;
    DecidedEnsemble ensemble(seed, rules, margin);
    ScorerLabel label(ensemble.backend(), ensemble.trees().outputs(), ensemble.threshold());
    for (int const effort : {2, 10'000}) {
      EnsembleLeafProver prover(ensemble.domain(), ensemble.trees(), ensemble.query(), label,
                                effort, 1.0);
      for (int i = 0; i < 5; ++i) {
        GroupBox const box = ensemble.part(ensemble.domain().whole());
        auto const truth = ensemble.truth(box);
        LeafOutcome const outcome = prover.prove(box, ensemble.query().variants[0], 0, 0);
        ++outcomes[static_cast<std::size_t>(outcome)];
        bool const fair = truth.unfair + truth.close == 0;
        ASSERT_TRUE(outcome == LeafOutcome::kUnproven || fair == (outcome == LeafOutcome::kProven));
        ASSERT_TRUE(effort == 2 || outcome != LeafOutcome::kUnproven);
      }
    }
  }
  EXPECT_GT(outcomes[static_cast<std::size_t>(LeafOutcome::kProven)], 500);
  EXPECT_GT(outcomes[static_cast<std::size_t>(LeafOutcome::kRefuted)], 300);
  EXPECT_GT(outcomes[static_cast<std::size_t>(LeafOutcome::kUnproven)], 5);
}

}  // namespace
}  // namespace fairlane
