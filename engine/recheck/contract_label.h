// Labels as docs/numerical_contract.md defines them, evaluated one row at a time by plain loops.
#pragma once

#include <cstdint>
#include <vector>

#include "models/data/domain.h"
#include "models/network.h"

namespace fairlane {

/// label  -1 where an output is not finite
/// lead   what is compared with the threshold: the output, or that of the second class less that of
///        the first
struct ContractOutcome {
  std::int32_t label = -1;
  double lead = 0.0;
};

/// A network; one thread's. Shares nothing with the lane core but the smooth activations, whose
/// float32 values the contract defines by that code.
class ContractLabel {
 public:
  /// selected   attributes under test, whose columns come last with those that the domain flags
  /// threshold  of one output, from the configuration's, as the contract rounds it
  /// All outlive it.
  ContractLabel(Network const& network, Domain const& domain,
                std::vector<std::int32_t> const& selected, float threshold);

  /// Of a row in dataset order.
  ContractOutcome operator()(std::int32_t const* row);
  /// The outputs of that row, before the last activation.
  std::vector<float> const& outputs() const { return values_; }

 private:
  Network const& network_;
  Domain const& domain_;
  float threshold_;
  std::vector<std::size_t> order_;  // of the first layer's inputs
  std::vector<double> encoded_;
  std::vector<float> values_;
  std::vector<float> sums_;
};

}  // namespace fairlane
