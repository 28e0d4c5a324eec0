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
#include <limits>
#include <span>
#include <vector>

#include "engine/verify/boxes/box_domain.h"
#include "engine/verify/boxes/verify_query.h"
#include "engine/verify/deciders/box_decider.h"
#include "engine/verify/deciders/box_search.h"
#include "engine/verify/deciders/box_walk.h"
#include "engine/verify/deciders/class_contest.h"
#include "engine/verify/deciders/merged_bounds.h"
#include "engine/verify/deciders/pair_prover.h"
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
  std::size_t measures_at_once() const override { return std::numeric_limits<std::size_t>::max(); }
  MeasureCosts costs() const override;

 private:
  void begin(std::span<OpenBox const> boxes, std::span<Decision> decisions);
  /// Boxes of one pair of classes.
  void decide_alike(std::span<OpenBox const> boxes, std::span<Decision> decisions);
  void measure_alike(ExistingGroups const& existing, std::span<OpenBox const> boxes, bool in_part,
                     std::span<Decision> decisions, std::span<CertainGroups> certain);
  double count_unfair(ExistingGroups const& existing, std::size_t i);
  std::vector<int> const& variants(std::size_t i) const { return decisions_[i].variants; }
  BoxRound round() const { return {boxes_, decisions_}; }
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
  LaneBounds bounds_;
  MergedBounds merged_;
  ClassContests contests_;
  HalfSpaceCounter counter_;
  PairProver pairs_;
  BoxWalk walk_;
  std::vector<Interval> inputs_;

  std::span<OpenBox const> boxes_;
  std::vector<OpenBox> limited_;  // the boxes, where limits or constraints have narrowed them
  std::span<Decision> decisions_;
  std::vector<OutputLines> by_variant_;        // of the open boxes, one box's variants side by side
  std::vector<std::size_t> first_by_variant_;  // [boxes] where a box's begin
};

}  // namespace fairlane
