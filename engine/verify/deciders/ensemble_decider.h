// Boxes of groups of an ensemble of trees: an example is searched for, disproved, or left open.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/verify/deciders/box_decider.h"
#include "engine/verify/ensembles/additive_bounds.h"
#include "engine/verify/ensembles/tree_bounds.h"
#include "engine/verify/ensembles/tree_table.h"

namespace fairlane {

/// Decides boxes by the leaves that they reach: bounds of all variants together; a search for an
/// example; labels that each variant may have, and pairs of variants that no node tells apart;
/// evaluation of every group, where these are few.
class EnsembleDecider final : public BoxDecider {
 public:
  /// All outlive it. rows: of the same ensemble
  EnsembleDecider(BoxDomain const& domain, TreeEnsemble const& trees, RowDescriber& rows,
                  VerifyQuery const& query);

  void decide(std::span<OpenBox const> boxes, std::span<Decision> decisions) override;
  void measure(ExistingGroups const& existing, std::span<OpenBox const> boxes, bool in_part,
               std::span<Decision> decisions, std::span<CertainGroups> certain) override;
  std::size_t measures_at_once() const override { return 1; }
  MeasureCosts costs() const override { return {}; }

 private:
  /// Labels that some group of a box may have with some of the variants; all where a score may be
  /// infinite.
  std::uint64_t labels(GroupBox const& box, std::span<int const> variants);
  /// Whether bounds leave no pair, and which variants have what labels otherwise.
  bool prove_merged(Decision& decision);
  bool prove_variants(Decision& decision);
  /// After prove_merged(): looks at every kind of groups, where these are few. Returns whether it
  /// did.
  bool decide_by_kinds(Decision& decision);
  bool count_kinds(ExistingGroups const& existing, Decision& decision, CertainGroups& certain);
  void search(OpenBox const& box, Decision& decision);
  /// Scores of a group with a variant, from the threshold: below 0 where label 0, and of several
  /// outputs how far the first is ahead of the second.
  double lead(std::span<std::int32_t const> entries, int variant, std::uint64_t& label);
  /// Cuts an axis of the greatest weight where half of what lies in doubt by it is below.
  void choose_cut(std::span<double const> weights, Decision& decision);
  /// [axes] By how much nearer bounds come by halving.
  std::vector<double> weights() const;
  /// What is certain of a box by additive bounds that were found, or by bounds of each variant.
  void count_additive(ExistingGroups const& existing, Decision const& decision,
                      CertainGroups& certain);
  void count_by_variants(ExistingGroups const& existing, Decision& decision,
                         CertainGroups& certain);

  BoxDomain const& domain_;
  BoxExistence existence_;
  VerifyQuery const& query_;
  BoxTrees trees_;
  TreeBounds bounds_;
  BoxKinds kinds_;
  LeafUnits units_;
  TreeTable table_;
  AdditiveBounds additive_;
  GroupPairs groups_;
  std::uint64_t possible_ = 0;                // labels of a box's groups
  std::vector<std::uint64_t> own_labels_;     // [variants of a box]
  std::vector<std::uint64_t> beside_labels_;  // of those compared with them
};

}  // namespace fairlane
