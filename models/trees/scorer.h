// An ensemble of trees as a model that is asked for scores.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/core/scorer.h"
#include "models/trees/trees.h"

namespace fairlane {

/// The score of an ensemble of one output from its sums, quotients already, as TreeScorer gives it:
/// rounded to float32, and on its label's side of the threshold. Never falls where the last sum
/// rises or, of two, the first one falls. sums [1 or 2]
float score_of(TreeEnsemble const& trees, std::span<double const> sums);

/// Scores rows by an ensemble: the sums of its library, in the library's order and precision,
/// rounded to float32.
///
/// Labels are the library's: where rounding to float32 would change one, the score is moved by the
/// least that keeps it. Two probabilities are one score, p(1). A row with NaN in an input that a
/// tree asks for is undefined.
class TreeScorer : public Scorer {
 public:
  /// threads: at most so many work on one call of score(), 0: all cores; never decides a score
  /// Throws Error(kData) when the ensemble is not valid.
  TreeScorer(TreeEnsemble trees, int threads);
  ~TreeScorer() override;

  TreeEnsemble const& trees() const { return trees_; }
  std::string name() const override;
  int inputs() const override { return trees_.inputs; }
  int outputs() const override;
  ScoreKind kind() const override { return trees_.kind; }
  void score(float const* rows, std::size_t count, float* scores) override;

 private:
  class Program;
  template <class Real>
  class TypedProgram;

  TreeEnsemble trees_;
  int threads_;
  std::unique_ptr<Program> program_;
};

}  // namespace fairlane
