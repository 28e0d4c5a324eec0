// Proves the leaves of an ensemble's certificate again.
//
// Bounds of its own: in a box every tree gives one of the leaves that it reaches there. The least
// and greatest of them are added in double and padded by more than the library's roundings are:
//     |computed - real| <= (n + 2) u (|base| + sum over trees of the greatest |leaf|) (1 + 1/8)
// for n additions and a quotient, u = 2^-24 of float32 and 2^-53 of double, as long as n u < 1/16.
#pragma once

#include <span>
#include <vector>

#include "engine/recheck/checked_groups.h"
#include "engine/recheck/checked_inputs.h"
#include "engine/recheck/checked_neighbours.h"
#include "engine/recheck/contract_label.h"
#include "engine/recheck/leaf_prover.h"
#include "engine/verify/boxes/verify_query.h"

namespace fairlane {

class EnsembleLeafProver final : public LeafProver {
 public:
  /// effort  boxes that a leaf may be split into
  /// few     as CheckedGroups has it
  /// All outlive it.
  EnsembleLeafProver(BoxDomain const& domain, TreeEnsemble const& trees, VerifyQuery const& query,
                     ContractLabel& label, int effort, double few = 64.0);
  LeafOutcome prove(GroupBox const& box, std::span<int const> variants, int first,
                    int second) override;

 private:
  /// Scores, each between two numbers.
  struct Scores {
    std::vector<double> low;
    std::vector<double> high;
  };
  Scores bound(CheckedRange const& inputs) const;
  /// Labels that a box may have, by class.
  std::vector<bool> labels(CheckedRange const& inputs) const;
  /// Whether a node that both reach sends two variants to different sides.
  bool parts(std::int32_t at, CheckedRange const& inputs, int one, int other) const;
  bool is_fair(GroupBox const& box, std::span<int const> variants) const;
  std::size_t widest_axis(GroupBox const& box, CheckedRange const& inputs) const;

  BoxDomain const& domain_;
  TreeEnsemble const& trees_;
  VerifyQuery const& query_;
  int effort_;
  CheckedInputs inputs_;
  CheckedNeighbours neighbours_;
  CheckedGroups groups_;
};

}  // namespace fairlane
