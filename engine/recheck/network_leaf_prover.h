// Proves the leaves of a network's certificate again.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/recheck/checked_bounds.h"
#include "engine/recheck/checked_groups.h"
#include "engine/recheck/checked_inputs.h"
#include "engine/recheck/checked_neighbours.h"
#include "engine/recheck/leaf_prover.h"
#include "engine/verify/boxes/box_domain.h"
#include "engine/verify/boxes/verify_query.h"

namespace fairlane {

/// One thread's.
class NetworkLeafProver final : public LeafProver {
 public:
  /// effort  boxes that a leaf may be split into
  /// few     as CheckedGroups has it
  /// All outlive it.
  NetworkLeafProver(BoxDomain const& domain, Network const& network, VerifyQuery const& query,
                    OutcomeOfRow outcome_of, int effort, double few = 64.0);

  LeafOutcome prove(GroupBox const& box, std::span<int const> variants, int first,
                    int second) override;
  LeafOutcome prove_evaluated(GroupBox const& box, std::span<int const> variants, int first,
                              int second) override;

 private:
  /// A variant of a box of groups, with lines that its output is never above, and never below.
  struct Variant {
    CheckedBox box;
    CheckedLine above;
    CheckedLine below;
  };
  /// A pair of variants, one of a box of groups, the other of groups that are compared with them.
  struct Pair {
    GroupBox groups;
    GroupBox beside;
    bool upper_is_own = true;
    CheckedBox upper;
    CheckedBox lower;
    int upper_variant = 0;
    int lower_variant = 0;

    GroupBox& of_upper() { return upper_is_own ? groups : beside; }
    GroupBox& of_lower() { return upper_is_own ? beside : groups; }
  };
  enum class Step : std::uint8_t { kFair, kOpen, kRefuted };

  /// wide  of all who are compared with the box's groups
  Step look_at(GroupBox& box, GroupBox const& wide, std::span<int const> variants,
               std::size_t& axis);
  /// Whether another class than the two always has more than one of them.
  bool is_outdone(GroupBox const& box, std::span<int const> variants, int first, int second);
  Step evaluate(GroupBox const& box, std::span<int const> variants) const;
  /// Each of some variants by itself; fewer where one has sums without bounds.
  std::vector<Variant> each_of(GroupBox const& box, std::span<int const> variants) const;
  CheckedBox bounded(GroupBox const& box, std::span<int const> variants) const;
  /// What is known of one member of a pair.
  struct Side {
    CheckedLine const& line;
    CheckedRange const& inputs;
    int variant;
  };
  /// Whether lines leave no inputs where the upper one is above and the lower one is not.
  bool excluded(Side const& upper, Side const& lower) const;
  /// A line with a variant's inputs among the constant.
  CheckedLine folded(CheckedLine line, int variant) const;
  /// Whether a pair cannot be; else narrows its groups. splits: of units that may be looked at
  bool close(Pair& pair, int splits) const;
  bool clip(CheckedLine const& line, double least, CheckedRange& inputs) const;

  BoxDomain const& domain_;
  int classes_;
  VerifyQuery const& query_;
  int effort_;
  CheckedNetwork network_;
  CheckedInputs inputs_;
  CheckedNeighbours neighbours_;
  CheckedGroups groups_;
};

}  // namespace fairlane
