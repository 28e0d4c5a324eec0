// A plain double-precision evaluator, independent of the lane core, that knows how far float32 may
// stray from it.
#pragma once

#include <cstdint>
#include <vector>

#include "models/domain.h"
#include "models/network.h"

namespace fairlane {

/// A label, and whether every float32 evaluation in fma-chain order must find the same.
struct CertainLabel {
  std::int32_t label = 0;
  bool certain = false;
};

/// A network with weights in double precision. Not thread-safe: it keeps its scratch memory.
class DoubleEvaluator {
 public:
  /// domain  says how codes become inputs, outlives this; null: every code is an input
  explicit DoubleEvaluator(Network const& network, Domain const* domain = nullptr);

  /// Evaluates a row; the results hold until the next call.
  void evaluate(std::int32_t const* row);
  /// logits [outputs]; bound [outputs] on |float32 logit - logit|, infinite where float32 may
  /// overflow.
  std::vector<double> const& logits() const { return value_; }
  std::vector<double> const& bound() const { return error_; }

  /// Label of the row evaluated last: one output, logit > cut; several, the largest.
  CertainLabel label(double cut) const;
  /// p(1) of one output, otherwise p(label) of the row evaluated last, and how far float32's may be
  /// from it beside its own last rounding.
  double score(std::int32_t label, double& tolerance) const;

 private:
  struct Layer {
    int inputs;
    int outputs;
    Activation activation;
    double alpha;
    std::vector<double> weights;  // [inputs][outputs]
    std::vector<double> bias;     // [outputs]
  };
  void encode(std::int32_t const* row);
  void dense(Layer const& layer, bool first);
  void activate(Layer const& layer);

  Domain const* domain_;
  std::vector<Layer> layers_;
  std::vector<double> value_;  // of the current layer
  std::vector<double> error_;
  std::vector<double> next_value_;
  std::vector<double> next_error_;
  std::vector<double> size_;
};

}  // namespace fairlane
