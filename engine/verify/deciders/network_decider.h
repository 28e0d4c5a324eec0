// Boxes of groups of a network: an example is searched for, disproved, or left open.
//
// Steps, from cheap to dear, each on as many boxes at once as the backend takes: bounds of all
// variants together; a search for an example; bounds of each variant and of pairs of variants
// jointly; units looked at by their two sides while the box is narrowed to what a pair leaves of
// it; evaluation of every group, where these are few.
// Source: Zhang et al., CROWN, NeurIPS 2018; Wang et al., Beta-CROWN, NeurIPS 2021 (joint bounds,
// splits of units); Kotha et al., INVPROP, NeurIPS 2023 (narrowing from the output).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/verify/boxes/box_domain.h"
#include "engine/verify/boxes/verify_query.h"
#include "engine/verify/deciders/box_decider.h"
#include "engine/verify/deciders/box_search.h"
#include "engine/verify/deciders/half_space.h"
#include "engine/verify/deciders/line_gaps.h"
#include "engine/verify/deciders/most_groups.h"
#include "engine/verify/deciders/pair_prover.h"
#include "engine/verify/deciders/separable_lines.h"
#include "kernels/backend.h"

namespace fairlane {

/// Decides boxes by a network's bounds.
class NetworkDecider final : public BoxDecider {
 public:
  /// All outlive it. Throws as Backend::make_box_batch does.
  NetworkDecider(BoxDomain const& domain, BoundNetwork const& network, Backend& backend,
                 VerifyQuery const& query);

  void decide(std::span<OpenBox const> boxes, std::span<Decision> decisions) override;
  void measure(ExistingGroups const& existing, std::span<OpenBox const> boxes, bool in_part,
               std::span<Decision> decisions, std::span<CertainGroups> certain) override;
  double closer_cost() const override;

 private:
  void begin(std::span<OpenBox const> boxes, std::span<Decision> decisions);
  /// Boxes of one pair of classes.
  void decide_alike(std::span<OpenBox const> boxes, std::span<Decision> decisions);
  void measure_alike(ExistingGroups const& existing, std::span<OpenBox const> boxes, bool in_part,
                     std::span<Decision> decisions, std::span<CertainGroups> certain);
  /// Which classes the members of a box may have, and the two of them that bounds tell apart least.
  struct Contest {
    std::uint32_t possible = 0;  // a bit each
    int pair = -1;
    double apart = 0.0;  // how far either may be ahead of the other, the lesser of both
  };
  /// Of the boxes that were begun with.
  std::vector<Contest> find_contests();
  /// Decides boxes that bounds show to have none of some class of theirs, as another one has more.
  void leave_out_classes();
  void load_merged(std::size_t first, std::size_t count);
  /// Groups of a part of box i that exist and that lines of all variants together prove to be fair:
  /// at least so many.
  double count_fair(ExistingGroups const& existing, std::size_t i, std::span<AxisRange const> box);
  double count_unfair(ExistingGroups const& existing, std::size_t i);
  std::vector<int> const& variants(std::size_t i) const { return decisions_[i].variants; }
  /// Whether outputs may lie on both sides, each by less than the margin beyond.
  bool reaches_both(OutputLines const& bounds) const;
  void bound_merged(bool with_gaps, bool with_most);
  /// Of open boxes among bounds_' lanes, which are boxes from `first` on.
  void find_gaps(std::size_t first, std::size_t count);
  void find_separable(std::size_t first, std::size_t count);
  void find_most(std::size_t first, std::size_t count);
  void search();
  /// Leaves out boxes that are to wait.
  void bound_variants();
  void prove_pairs();
  void choose_axis(std::size_t i);

  BoxDomain const& domain_;
  BoxExistence existence_;
  BoundNetwork const& networks_;
  VerifyQuery const& query_;
  GroupPairs groups_;
  BoxSearch search_;
  HalfSpaceCounter counter_;
  HingeCounter hinge_counter_;
  LaneBounds bounds_;
  LineGaps gaps_;
  SeparableFinder separable_finder_;
  MostGroups most_groups_;
  PairProver pairs_;
  std::vector<Interval> inputs_;

  std::span<OpenBox const> boxes_;
  std::vector<OpenBox> limited_;  // the boxes, where limits or constraints have narrowed them
  std::span<Decision> decisions_;
  std::vector<OutputLines> merged_;             // [boxes]
  std::vector<SeparableLines> separable_;       // [boxes] of those that are counted
  std::vector<std::optional<MostLines>> most_;  // [boxes] where more is certain by them
  std::vector<OutputLines> by_variant_;        // of the open boxes, one box's variants side by side
  std::vector<std::size_t> first_by_variant_;  // [boxes] where a box's begin
};

}  // namespace fairlane
