// Whether a box of groups holds a discriminatory one: searched for, disproved, or left open.
//
// Steps, from cheap to dear, each on as many boxes at once as a register takes: bounds of all
// variants together; a search for an example; bounds of each variant and of pairs of variants
// jointly; units looked at by their two sides while the box is narrowed to what a pair leaves of
// it; evaluation of every group, where these are few.
// Source: Zhang et al., CROWN, NeurIPS 2018; Wang et al., Beta-CROWN, NeurIPS 2021 (joint bounds,
// splits of units); Kotha et al., INVPROP, NeurIPS 2023 (narrowing from the output).
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/verify/box_domain.h"
#include "engine/verify/box_search.h"
#include "engine/verify/half_space.h"
#include "engine/verify/open_box.h"
#include "engine/verify/verify_query.h"
#include "kernels/boxes/box_network.h"
#include "kernels/row_describer.h"

namespace fairlane {

/// What decided a box.
enum class BoxVerdict : std::uint8_t {
  kOpen,
  kUnfair,        // there is an example
  kMerged,        // fair: bounds of all variants together
  kVariants,      // fair: bounds of each variant, or of pairs of them
  kSplit,         // fair: units looked at by their sides
  kEnumerated,    // fair: every group was evaluated
  kUndefined,     // every group was evaluated, and some output is not finite
  kWithinMargin,  // every group was evaluated, and some is fair by less than the margin
  kEmpty,         // no group is within the limits
};

/// box      what is left of an open one, to be split at `axis`
/// example  of an unfair one
struct Decision {
  BoxVerdict verdict = BoxVerdict::kOpen;
  GroupBox box;
  std::size_t axis = 0;
  UnfairPair example;
};

/// What is certain of a box's groups.
/// by_merged  of an open box's `fair`, by bounds of all variants together
struct CertainGroups {
  double fair = 0.0;
  double unfair = 0.0;
  double by_merged = 0.0;
};

/// Decides boxes; one thread's. What it says of a box depends on that box alone.
class BoxDecider {
 public:
  /// All outlive it. rows: evaluates what bounds leave open, in float32
  BoxDecider(BoxDomain const& domain, BoundNetwork const& network, BoxKernels const& kernels,
             RowDescriber& rows, VerifyQuery const& query);

  /// decisions [boxes]
  void decide(std::span<OpenBox const> boxes, std::span<Decision> decisions);
  /// Counts the groups of boxes that are certainly fair and certainly not, and leaves the rest of
  /// each open, or decided where nothing is. No examples. decisions, certain [boxes]
  void measure(std::span<OpenBox const> boxes, std::span<Decision> decisions,
               std::span<CertainGroups> certain);

 private:
  /// Lines of an output in the inputs, and its bounds.
  struct Bounds {
    double least = 0.0;
    double most = 0.0;
    double below_constant = 0.0;
    double above_constant = 0.0;
    std::vector<double> below;  // [inputs]
    std::vector<double> above;
    std::vector<double> gaps;  // [inputs] as find_gaps() has them; empty: not asked for

    /// Where a sum may overflow, lines mean nothing.
    bool has_lines() const { return std::isfinite(least) && std::isfinite(most); }
  };
  /// A pair of variants in a box, with what is known of the units of both.
  /// upper_is_own  whether the one with label 1 is of the box, and the other one compared with it
  struct PairNode {
    std::size_t box = 0;  // of those being decided
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

  void begin(std::span<OpenBox const> boxes, std::span<Decision> decisions);
  /// Groups of a part of box i that lines of all variants together prove to be fair.
  double count_fair(std::size_t i, std::span<AxisRange const> box);
  double count_unfair(std::size_t i);
  CertainGroups count_each(std::size_t i);
  std::vector<int> const& variants(std::size_t i) const {
    return query_.variants[static_cast<std::size_t>(boxes_[i].variants)];
  }
  /// Whether outputs may lie on both sides, each by less than the margin beyond.
  bool reaches_both(Bounds const& bounds) const;
  /// Makes a box a lane's, whose sums may be anything.
  void load(BoxMemory& memory, int lane, std::span<AxisRange const> box,
            std::span<int const> variants);
  void load_inputs(BoxMemory& memory, int lane, std::span<AxisRange const> box,
                   std::span<int const> variants);
  /// The inputs of attributes under test count among the constants: a line of another variant has
  /// other values in their place.
  Bounds read(BoxMemory& memory, int lane) const;
  void bound_merged(bool with_gaps);
  void search();
  /// waits: leaves out boxes that are to wait
  void bound_variants(bool waits);
  /// own, beside  [variants] of the box's groups, and of those compared with them
  void compare_pairs(std::size_t i, std::span<Bounds const> own, std::span<Bounds const> beside);
  /// Whether the lines of two variants leave no input where the first is above the threshold and
  /// the second is not, for the groups of a node. Inputs under test have no coefficients.
  bool excluded(Bounds const& upper, Bounds const& lower, PairNode const& node);
  void split_units();
  void step_pairs();
  void enumerate(std::size_t i);
  void choose_axis(std::size_t i);
  UnitSplit choose_unit(int lane) const;
  /// Narrows a node's groups to what its lanes leave. Returns false where that is nothing.
  bool narrow_groups(int lane, PairNode& node);
  void save_sums(int lane, PairNode& node);

  BoxDomain const& domain_;
  BoxNetwork const& network_;
  BoxKernels const& kernels_;
  VerifyQuery const& query_;
  BoxSearch search_;
  HalfSpaceCounter counter_;
  BoxMemory upper_;  // of the variant above the threshold, or the only one
  BoxMemory lower_;
  std::vector<Interval> inputs_;
  std::vector<Interval> other_inputs_;
  std::vector<double> fan_out_;  // [units] sum of the weights behind

  std::span<OpenBox const> boxes_;
  std::vector<OpenBox> limited_;  // the boxes, where limits have narrowed them
  std::span<Decision> decisions_;
  std::vector<Bounds> merged_;                 // [boxes]
  std::vector<Bounds> by_variant_;             // of the open boxes, one box's variants side by side
  std::vector<std::size_t> first_by_variant_;  // [boxes] where a box's begin
  std::vector<PairNode> nodes_;                // a stack
  std::vector<int> left_;                      // [boxes] nodes that may still be looked at
  std::vector<GroupBox> hull_;                 // [boxes] of what open pairs have left of it
};

}  // namespace fairlane
