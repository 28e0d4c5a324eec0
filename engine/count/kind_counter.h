// Counts the groups of an ensemble of trees by kinds instead of one by one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/count/walk_domain.h"
#include "engine/verify/ensembles/tree_table.h"
#include "kernels/row_describer.h"

namespace fairlane {

/// What the counters of all threads share: an ensemble over the groups of a walk.
class KindedWalk {
 public:
  /// All of the same subject; outlive it.
  KindedWalk(WalkPlan const& plan, WalkDomain const& domain, SubjectView const& view,
             RowDescriber& rows);
  /// Whether groups may be counted so: an ensemble of at most 32 classes, with who exists known.
  bool usable() const { return trees_ != nullptr; }

  WalkPlan const& plan() const { return plan_; }
  BoxTrees const& trees() const { return *trees_; }
  LeafUnits const& units() const { return *units_; }
  VerifyQuery const& query() const { return query_; }
  WalkDomain const& domain() const { return domain_; }
  RowDescriber& rows() const { return rows_; }
  int outputs() const { return outputs_; }
  ScoreKind scores() const { return scores_; }

 private:
  WalkPlan const& plan_;
  WalkDomain const& domain_;
  RowDescriber& rows_;
  int outputs_;
  ScoreKind scores_;
  VerifyQuery query_;
  std::unique_ptr<BoxTrees> trees_;
  std::unique_ptr<LeafUnits> units_;
};

/// One thread's. Counts are those of evaluating every group.
class KindCounter {
 public:
  /// walk  usable; outlives it
  explicit KindCounter(KindedWalk const& walk);

  /// Counts all groups of a box, whose axes are the plan's lists. Returns false, and counts
  /// nothing, where its kinds are too many.
  /// What is the same for groups with the same labels is counted later, by finish().
  /// take  as GroupCounter::count calls it
  bool count(std::span<AxisRange const> box, GroupCounts& counts,
             GroupCounter::Take const& take = {});
  void finish(GroupCounts& counts);

 private:
  /// What a kind's members are.
  /// labels  [variants] each a char, or kNobody
  /// bin     of their severity, or kInDoubt
  struct Members {
    std::string labels;
    int bin = 0;
  };
  static constexpr char kNobody = 127;
  static constexpr int kInDoubt = -1;
  /// Of a kind of the table, which is settled.
  void look_at(std::size_t kind);
  int bin_by_sums(std::size_t kind);
  /// The largest difference of a class's probability between the kind's members.
  double severity_by_sums(std::size_t kind);
  /// Groups of a kind are alike: one of those whose bin is in doubt is described, later.
  void add_in_doubt(std::span<std::int32_t const> entries, std::size_t kind, std::uint64_t groups);
  void describe_in_doubt(GroupCounts& counts);
  /// Adds so many groups of the kind that was looked at, but for what is the same for all with
  /// these labels.
  void add_mixed(std::span<std::int32_t const> entries, std::size_t kind, std::uint64_t groups,
                 GroupCounts& counts);
  void add_labels(std::string const& labels, std::uint64_t groups, GroupCounts& counts) const;
  void add_lists(std::span<AxisRange const> box, GroupCounts& counts) const;
  /// What entries add to the numbers of groups.
  void number_entries(std::span<AxisRange const> box);
  /// Calls take(number) for the groups of a kind; the axes before one add up to `before`.
  void take_groups(std::size_t axis, std::int64_t before, GroupCounter::Take const& take) const;
  double score(std::int32_t sum) const;
  double probability(std::int32_t sum) const;

  KindedWalk const& walk_;
  TreeBounds bounds_;
  BoxKinds kinds_;
  TreeTable table_;
  double offset_ = 0.0;      // of sums, from which scores are computed,
  double scale_ = 1.0;       // and by what they are multiplied
  double bin_margin_ = 0.0;  // by which a severity is off, in bins
  Members members_;
  std::vector<double> shares_;  // [classes] of a member
  std::vector<double> least_;   // [classes] of all members
  std::vector<double> most_;
  std::vector<std::int32_t> rows_;         // [described][attributes] those in doubt
  std::vector<std::uint64_t> row_groups_;  // [described]
  std::vector<Description> described_;
  std::vector<double> positive_;  // [kinds of variants] members with label 1 in fair groups
  std::unordered_map<std::string, std::uint64_t> groups_of_labels_;  // not counted yet
  std::vector<std::vector<std::uint64_t>> mixed_of_kind_;            // [lists][kinds] groups
  std::vector<std::vector<std::vector<std::int64_t>>> numbers_;      // [lists][kinds][entries]
  std::vector<std::size_t> kind_;                                    // [lists] of those groups
};

}  // namespace fairlane
