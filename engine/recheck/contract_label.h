// Labels as docs/numerical_contract.md defines them, evaluated one row at a time by plain loops.
#pragma once

#include <cstddef>
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
/// defines by that code. Of rows that follow each other, what the same first inputs add up to is
/// kept.
class NetworkLabel final : public ContractLabel {
 public:
  static constexpr std::size_t kBlock = 8;  // sums that are added to at once

  /// selected   attributes under test, whose columns come last with those that the domain flags
  /// threshold  of one output, from the configuration's, as the contract rounds it
  /// All outlive it.
  NetworkLabel(Network const& network, Domain const& domain,
               std::vector<std::int32_t> const& selected, float threshold);
  ContractOutcome operator()(std::int32_t const* row) override;

 private:
  /// Rows of whole blocks, in the order in which they are added; what exceeds the outputs is 0.
  /// weights [inputs][width]
  /// bias    [width]
  struct Layer {
    std::size_t inputs = 0;
    std::size_t width = 0;
    std::vector<float> weights;
    std::vector<float> bias;
  };
  static Layer in_blocks(DenseLayer const& layer, std::vector<std::size_t> const& order);
  /// Brings sums_after_ to what is in encoded_, and returns its last row.
  float const* first_sums();

  Network const& network_;
  Domain const& domain_;
  float threshold_;
  std::vector<std::size_t> order_;  // of the first layer's inputs
  std::vector<Layer> layers_;
  std::vector<double> encoded_;
  std::vector<float> inputs_;      // [inputs] of the row before, in that order; empty before any
  std::vector<float> sums_after_;  // [inputs + 1][width] the first layer's, after so many inputs
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
