// Labels as docs/numerical_contract.md defines them, evaluated one row at a time by plain loops.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/subject/subject.h"
#include "models/data/domain.h"
#include "models/network.h"
#include "models/trees/trees.h"

namespace fairlane {

/// label  -1 where an output is not finite
/// lead   what is compared with the threshold: the output, or that of the second class less that of
///        the first
struct ContractOutcome {
  std::int32_t label = -1;
  double lead = 0.0;
};

/// A model; one thread's.
class ContractLabel {
 public:
  virtual ~ContractLabel() = default;
  /// Of a row in dataset order.
  virtual ContractOutcome operator()(std::int32_t const* row) = 0;
  /// The outputs of that row, before the last activation; an ensemble's scores.
  std::vector<float> const& outputs() const { return values_; }

 protected:
  /// What the outputs mean.
  ContractOutcome outcome(float threshold) const;

  std::vector<float> values_;
};

/// Shares nothing with the lane core but the smooth activations, whose float32 values the contract
/// defines by that code.
class NetworkLabel final : public ContractLabel {
 public:
  /// selected   attributes under test, whose columns come last with those that the domain flags
  /// threshold  of one output, from the configuration's, as the contract rounds it
  /// All outlive it.
  NetworkLabel(Network const& network, Domain const& domain,
               std::vector<std::int32_t> const& selected, float threshold);
  ContractOutcome operator()(std::int32_t const* row) override;

 private:
  Network const& network_;
  Domain const& domain_;
  float threshold_;
  std::vector<std::size_t> order_;  // of the first layer's inputs
  std::vector<double> encoded_;
  std::vector<float> sums_;
};

/// Walks every tree from its root, and adds in the library's order and precision.
class EnsembleLabel final : public ContractLabel {
 public:
  /// All outlive it.
  EnsembleLabel(TreeEnsemble const& trees, Domain const& domain, float threshold)
      : trees_(trees), domain_(domain), threshold_(threshold) {}
  ContractOutcome operator()(std::int32_t const* row) override;

 private:
  template <class Real>
  void add_up();

  TreeEnsemble const& trees_;
  Domain const& domain_;
  float threshold_;
  std::vector<double> encoded_;
};

/// Of a subject's model, which is a network or an ensemble. The subject outlives it.
std::unique_ptr<ContractLabel> make_contract_label(TestSubject const& subject);

}  // namespace fairlane
