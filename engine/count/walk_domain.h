// The groups of a walk as boxes, and how many of them exist.
#pragma once

#include <memory>
#include <span>

#include "engine/count/group_counts.h"
#include "engine/verify/boxes/existing_groups.h"

namespace fairlane {

/// Axes are the plan's lists. Any thread.
class WalkDomain {
 public:
  /// plan, view  of the same subject; outlive it
  WalkDomain(WalkPlan const& plan, SubjectView const& view);

  /// Whether it can be told how many groups of a box exist. Of a network in whose domain everybody
  /// does, nobody asks.
  bool knows_who_exists() const { return existing_ != nullptr; }
  /// Where that is known, what knows it.
  BoxDomain const& get() const { return *domain_; }
  ExistingGroups const& existing() const { return *existing_; }
  /// Counts what does not exist of a box: members of each variant, and groups that have none.
  void add_missing(std::span<AxisRange const> box, GroupCounts& counts) const;

 private:
  WalkPlan const& plan_;
  std::unique_ptr<BoxDomain> domain_;
  std::unique_ptr<ExistingGroups> existing_;
};

}  // namespace fairlane
