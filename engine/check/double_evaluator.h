// A plain double-precision evaluator, independent of the lane core, that knows how far float32 may
// stray from it.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/check/row_evaluator.h"
#include "models/data/domain.h"
#include "models/network.h"

namespace fairlane {

/// A network with weights in double precision. Its labels are certain where every float32
/// evaluation in fma-chain order must find the same.
class DoubleEvaluator final : public RowEvaluator {
 public:
  /// domain  says how codes become inputs, outlives this; null: every code is an input
  explicit DoubleEvaluator(Network const& network, Domain const* domain = nullptr);

  int outputs() const override { return layers_.back().outputs; }
  void evaluate(std::int32_t const* row) override;
  /// logits [outputs]; bound [outputs] on |float32 logit - logit|, infinite where float32 may
  /// overflow.
  std::vector<double> const& logits() const { return value_; }
  std::vector<double> const& bound() const { return error_; }

  CertainLabel label(double threshold) const override;
  double score(std::int32_t label, double& tolerance) const override;

 private:
  struct Layer {
    int inputs;
    int outputs;
    Activation activation;
    double alpha;
    std::vector<double> weights;  // [inputs][outputs]
    std::vector<double> bias;     // [outputs]
  };
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

/// Logits of one row in double precision, and a bound on the error of any float32 evaluation in
/// fma-chain order. logits [outputs], bound [outputs].
void evaluate_double(Network const& network, std::int32_t const* row, std::vector<double>& logits,
                     std::vector<double>& bound);

}  // namespace fairlane
