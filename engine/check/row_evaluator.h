// What evaluates single rows for a check, independent of the lane core.
#pragma once

#include <cstdint>
#include <vector>

namespace fairlane {

/// Label of a row whose scores are not finite.
inline constexpr std::int32_t kNoLabel = -1;

/// A label, and whether every evaluation of the run must find the same.
struct CertainLabel {
  std::int32_t label = 0;
  bool certain = false;
};

/// Evaluates one row after the other. Not thread-safe: it keeps its results.
class RowEvaluator {
 public:
  virtual ~RowEvaluator() = default;
  virtual int outputs() const = 0;
  /// Whether rows are better announced: the evaluator wants many at a time.
  virtual bool wants_batches() const { return false; }
  /// Rows [count][attributes] of which some will be evaluated.
  virtual void announce(std::vector<std::int32_t> const&) {}
  /// Evaluates a row; the results hold until the next call.
  virtual void evaluate(std::int32_t const* row) = 0;
  /// Label of the row evaluated last: one output, score > threshold; several, the largest.
  virtual CertainLabel label(double threshold) const = 0;
  /// p(1) of one output, otherwise p(label) of the row evaluated last, and how far the run's may be
  /// from it beside its own last rounding.
  virtual double score(std::int32_t label, double& tolerance) const = 0;
};

}  // namespace fairlane
