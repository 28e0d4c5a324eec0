// Labels as docs/numerical_contract.md defines them, evaluated one row at a time by plain loops.
#pragma once

#include <cstdint>
#include <vector>

#include "models/data/domain.h"
#include "models/network.h"

namespace fairlane {

/// A network of straight pieces; one thread's. Shares no code with the lane core.
class ContractLabel {
 public:
  /// selected   attributes under test, whose columns come last with those that the domain flags
  /// threshold  of one output, from the configuration's, as the contract rounds it
  /// All outlive it.
  ContractLabel(Network const& network, Domain const& domain,
                std::vector<std::int32_t> const& selected, float threshold);

  /// The label of a row in dataset order; -1 where an output is not finite.
  std::int32_t operator()(std::int32_t const* row);

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
