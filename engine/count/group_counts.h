// What a walk counted. Sums of integers, so that parts add up to the same whole in any order.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "kernels/walker.h"

namespace fairlane {

/// groups      evaluated or skipped
/// skipped     of them, those whose inputs are proven to have one label
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
  /// Discriminatory groups, and how many there may be: undefined members can have any label.
  std::int64_t discriminatory() const { return at(CountLayout::kGroups); }
  std::int64_t possibly_discriminatory() const {
    return at(CountLayout::kGroups) + at(CountLayout::kUnknown);
  }
  /// Members whose output is not finite.
  std::int64_t undefined(CountLayout const& layout) const;

 private:
  std::int64_t at(int counter) const {
    return static_cast<std::int64_t>(counters[static_cast<std::size_t>(counter)]);
  }
};

/// What exists of what was counted where constraints exclude inputs.
/// groups  with a member that exists
/// inputs  members that exist
/// infeasible  that do not
struct FeasibleCounts {
  std::int64_t groups = 0;
  std::int64_t inputs = 0;
  std::int64_t infeasible = 0;

  FeasibleCounts(GroupCounts const& counts, CountLayout const& layout);
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
