// Proves the leaves of a network's certificate again.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/recheck/checked_bounds.h"
#include "engine/recheck/checked_inputs.h"
#include "engine/recheck/contract_label.h"
#include "engine/recheck/leaf_prover.h"
#include "engine/verify/boxes/box_domain.h"
#include "engine/verify/boxes/verify_query.h"

namespace fairlane {

/// What the contract says of a row in dataset order.
using OutcomeOfRow = std::function<ContractOutcome(std::int32_t const*)>;

/// One thread's.
class NetworkLeafProver final : public LeafProver {
 public:
  /// effort  boxes that a leaf may be split into
  /// few     groups that are evaluated one by one rather than split
  /// All outlive it.
  NetworkLeafProver(BoxDomain const& domain, Network const& network, VerifyQuery const& query,
                    OutcomeOfRow outcome_of, int effort, double few = 64.0);

  LeafOutcome prove(GroupBox const& box, std::span<int const> variants, int first,
                    int second) override;

 private:
  /// A pair of variants in a box of groups.
  struct Pair {
    GroupBox groups;
    CheckedBox upper;
    CheckedBox lower;
    int upper_variant = 0;
    int lower_variant = 0;
  };
  enum class Step : std::uint8_t { kFair, kOpen, kRefuted };

  Step look_at(GroupBox& box, std::span<int const> variants, std::size_t& axis);
  /// Whether another class than the two always has more than one of them.
  bool is_outdone(GroupBox const& box, std::span<int const> variants, int first, int second);
  Step evaluate(GroupBox const& box, std::span<int const> variants) const;
  CheckedBox bounded(GroupBox const& box, std::span<int const> variants) const;
  bool excluded(CheckedLine const& upper, CheckedLine const& lower, CheckedRange const& inputs,
                int upper_variant, int lower_variant) const;
  /// A line with a variant's inputs among the constant.
  CheckedLine folded(CheckedLine line, int variant) const;
  /// Whether a pair cannot be; else narrows its groups. splits: of units that may be looked at
  bool close(Pair& pair, int splits) const;
  bool clip(CheckedLine const& line, double least, CheckedRange& inputs) const;

  BoxDomain const& domain_;
  int classes_;
  VerifyQuery const& query_;
  OutcomeOfRow outcome_of_;
  int effort_;
  double few_;
  CheckedNetwork network_;
  CheckedInputs inputs_;
};

}  // namespace fairlane
