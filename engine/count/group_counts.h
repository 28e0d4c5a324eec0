// What a walk counted. Sums of integers, so that parts add up to the same whole in any order.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "kernels/walker.h"

namespace fairlane {

/// groups      evaluated or skipped
/// skipped     of them, those whose inputs are proven to have one label, or not to exist
/// counters    [CountLayout::size] what the kernels count
/// list_groups [lists][size] discriminatory groups with that entry of a value list
struct GroupCounts {
  std::int64_t groups = 0;
  std::int64_t skipped = 0;
  std::vector<std::uint64_t> counters;
  std::vector<std::vector<std::uint64_t>> list_groups;

  GroupCounts() = default;
  explicit GroupCounts(WalkPlan const& plan);
  void add(GroupCounts const& other);
  /// Counts groups whose inputs all have that label.
  void add_uniform(CountLayout const& layout, std::int64_t uniform_groups, int label);
  std::int64_t discriminatory() const { return at(CountLayout::kGroups); }
  std::int64_t at(int counter) const {
    return static_cast<std::int64_t>(counters[static_cast<std::size_t>(counter)]);
  }
};

/// Of what was counted, what exists: all of it, unless constraints exclude inputs, whose outputs
/// are then the only ones that are undefined.
/// groups             with a member that exists
/// inputs             members that exist
/// infeasible         members that do not
/// infeasible_groups  none of whose members do
/// undefined          members that exist, but whose output is not finite
/// undefined_groups   that are not discriminatory as far as is known, but have such a member
/// members            [variants] of each variant, those that exist
/// undefined_members  [variants] of them, those whose output is not finite
struct FeasibleCounts {
  std::int64_t groups = 0;
  std::int64_t inputs = 0;
  std::int64_t infeasible = 0;
  std::int64_t infeasible_groups = 0;
  std::int64_t undefined = 0;
  std::int64_t undefined_groups = 0;
  std::vector<std::int64_t> members;
  std::vector<std::int64_t> undefined_members;

  FeasibleCounts(GroupCounts const& counts, CountLayout const& layout, bool is_constrained);
};

/// Counts heads [first, first + count) of a walk; one thread's.
class GroupCounter {
 public:
  /// look  nothing: everything is evaluated
  explicit GroupCounter(Walker& walker, std::optional<Walker::Look> look = std::nullopt);
  /// take: called with the number of every discriminatory group, in no order; empty = not wanted
  using Take = std::function<void(std::int64_t group)>;
  void count(std::int64_t first, std::int64_t count, GroupCounts& counts, Take const& take);

 private:
  void count_lists(std::int64_t first, std::int64_t count, GroupCounts& counts);

  Walker& walker_;
  std::optional<Walker::Look> look_;
  Walk const& walk_;
  std::vector<std::uint64_t> mixed_;       // [groups][words]
  std::vector<std::uint64_t> head_count_;  // [heads] discriminatory groups of each
};

}  // namespace fairlane
