// Whether two variants of a group in a box may have different labels: looked at pair by pair, units
// by their two sides, while the box is narrowed to what a pair leaves of it.
// Source: Wang et al., Beta-CROWN, NeurIPS 2021 (joint bounds, splits of units); Kotha et al.,
// INVPROP, NeurIPS 2023 (narrowing from the output).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/verify/boxes/verify_query.h"
#include "engine/verify/deciders/lane_bounds.h"
#include "engine/verify/deciders/open_box.h"

namespace fairlane {

/// One thread's. Takes the pairs of some boxes and looks at all of them together; what it says of
/// a box depends on that box alone.
class PairProver {
 public:
  /// All outlive it.
  PairProver(BoxDomain const& domain, BoundNetwork const& network, Backend& backend,
             VerifyQuery const& query);

  /// Forgets all pairs; boxes are numbered below `boxes`. classes: whose outputs are compared
  void begin(std::size_t boxes, int classes);
  /// Takes the pairs of box i that lines leave open. Returns whether there are any.
  /// own, beside  [variants] of the box's groups, and of those compared with them
  bool add(std::size_t i, GroupBox const& box, std::span<int const> variants,
           std::span<OutputLines const> own, std::span<OutputLines const> beside);
  /// Looks at them.
  void prove();
  /// Whether all of a box's pairs were disproved, and where its unfair groups are otherwise; empty:
  /// as far as the box goes.
  bool proven(std::size_t i) const { return left_[i] > 0; }
  GroupBox const& rest(std::size_t i) const { return hull_[i]; }

 private:
  /// A pair of variants in a box, with what is known of the units of both.
  /// upper_is_own  whether the one with label 1 is of the box, and the other one compared with it
  struct PairNode {
    std::size_t box = 0;  // of those that pairs were taken of
    bool root = false;
    VariantPair pair;
    bool upper_is_own = true;
    GroupBox groups;
    GroupBox beside;           // of those compared with them; empty: the same
    std::vector<double> sums;  // [2][units][2] upper's, then lower's; empty: nothing

    GroupBox const& box_of(bool upper) const {
      return beside.empty() || upper == upper_is_own ? groups : beside;
    }
  };
  /// A unit's two sides.
  struct UnitSplit {
    int copy = -1;
    int unit = 0;
  };

  /// Whether the lines of two variants leave no input where the first is above the threshold and
  /// the second is not, for the groups of a node. Inputs under test have no coefficients.
  bool excluded(OutputLines const& upper, OutputLines const& lower, PairNode const& node);
  /// Looks at as many nodes as there are lanes.
  void step();
  /// The unit of a node with the widest gap.
  UnitSplit choose_unit(PairNode const& node) const;
  /// Narrows a node's groups to what its lanes leave. Returns false where that is nothing.
  bool narrow_groups(int lane, PairNode& node);
  void save_sums(int lane, PairNode& node);

  BoxNetwork const& network() const { return upper_.network(); }

  BoxDomain const& domain_;
  VerifyQuery const& query_;
  LaneBounds upper_;  // of the variants above the threshold
  LaneBounds lower_;
  std::vector<Interval> inputs_;
  std::vector<Interval> other_inputs_;
  std::vector<double> fan_out_;  // [units] sum of the weights behind
  std::vector<PairNode> nodes_;  // a stack
  std::vector<int> left_;        // [boxes] nodes that may still be looked at; negative: too few
  std::vector<GroupBox> hull_;   // [boxes] of what open pairs have left of it
};

}  // namespace fairlane
