// Asks a scorer anew for the rows of a check.
#pragma once

#include <mutex>
#include <string>
#include <unordered_map>

#include "engine/check/row_evaluator.h"
#include "kernels/core/scorer.h"
#include "models/data/domain.h"

namespace fairlane {

/// A model that is no network, and whose answers are the same for equal rows.
class ScorerEvaluator final : public RowEvaluator {
 public:
  /// domain: says how codes become inputs, outlives this; lock: held while the scorer is asked,
  /// which several evaluators share
  ScorerEvaluator(Scorer& scorer, Domain const& domain, std::mutex& lock)
      : scorer_(scorer), domain_(domain), lock_(lock) {}

  int outputs() const override { return scorer_.outputs(); }
  bool wants_batches() const override { return true; }
  void announce(std::vector<std::int32_t> const& rows) override;
  void evaluate(std::int32_t const* row) override;
  CertainLabel label(double threshold) const override;
  double score(std::int32_t label, double& tolerance) const override;

 private:
  /// Appends to known_ and answers_.
  void ask(std::vector<std::int32_t> const& rows);
  std::string key_of(std::int32_t const* row) const;

  Scorer& scorer_;
  Domain const& domain_;
  std::mutex& lock_;
  std::unordered_map<std::string, std::size_t> known_;  // bytes of a row -> its number
  std::vector<float> answers_;                          // [known][outputs]
  float const* current_ = nullptr;                      // [outputs] of the row evaluated last
};

}  // namespace fairlane
