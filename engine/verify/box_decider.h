// Whether a box of groups holds a discriminatory one: searched for, disproved, or left open.
//
// Steps, from cheap to dear, each on as many boxes at once as the backend takes: bounds of all
// variants together; a search for an example; bounds of each variant and of pairs of variants
// jointly; units looked at by their two sides while the box is narrowed to what a pair leaves of
// it; evaluation of every group, where these are few.
// Source: Zhang et al., CROWN, NeurIPS 2018; Wang et al., Beta-CROWN, NeurIPS 2021 (joint bounds,
// splits of units); Kotha et al., INVPROP, NeurIPS 2023 (narrowing from the output).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/verify/box_domain.h"
#include "engine/verify/box_search.h"
#include "engine/verify/half_space.h"
#include "engine/verify/open_box.h"
#include "engine/verify/pair_prover.h"
#include "engine/verify/verify_query.h"
#include "kernels/backend.h"

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
  /// All outlive it. Throws as Backend::make_box_batch does.
  BoxDecider(BoxDomain const& domain, BoundNetwork const& network, Backend& backend,
             VerifyQuery const& query);

  /// decisions [boxes]
  void decide(std::span<OpenBox const> boxes, std::span<Decision> decisions);
  /// Counts the groups of boxes that are certainly fair and certainly not, and leaves the rest of
  /// each open, or decided where nothing is. No examples. decisions, certain [boxes]
  void measure(std::span<OpenBox const> boxes, std::span<Decision> decisions,
               std::span<CertainGroups> certain);

 private:
  void begin(std::span<OpenBox const> boxes, std::span<Decision> decisions);
  /// Boxes of one pair of classes.
  void decide_alike(std::span<OpenBox const> boxes, std::span<Decision> decisions);
  /// Decides boxes that bounds show to have none of some class of theirs, as another one has more.
  void leave_out_classes();
  void load_merged(std::size_t first, std::size_t count);
  /// Groups of a part of box i that lines of all variants together prove to be fair.
  double count_fair(std::size_t i, std::span<AxisRange const> box);
  double count_unfair(std::size_t i);
  CertainGroups count_each(std::size_t i);
  std::vector<int> const& variants(std::size_t i) const {
    return query_.variants[static_cast<std::size_t>(boxes_[i].variants)];
  }
  /// Whether outputs may lie on both sides, each by less than the margin beyond.
  bool reaches_both(OutputLines const& bounds) const;
  void bound_merged(bool with_gaps);
  void search();
  /// waits: leaves out boxes that are to wait
  void bound_variants(bool waits);
  void prove_pairs();
  void enumerate(std::size_t i);
  void choose_axis(std::size_t i);

  BoxDomain const& domain_;
  BoundNetwork const& networks_;
  VerifyQuery const& query_;
  BoxSearch search_;
  HalfSpaceCounter counter_;
  LaneBounds bounds_;
  PairProver pairs_;
  std::vector<Interval> inputs_;

  std::span<OpenBox const> boxes_;
  std::vector<OpenBox> limited_;  // the boxes, where limits have narrowed them
  std::span<Decision> decisions_;
  std::vector<OutputLines> merged_;            // [boxes]
  std::vector<OutputLines> by_variant_;        // of the open boxes, one box's variants side by side
  std::vector<std::size_t> first_by_variant_;  // [boxes] where a box's begin
};

}  // namespace fairlane
