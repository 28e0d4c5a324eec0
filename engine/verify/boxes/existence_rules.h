// Constraints and limits as sums of what a group's entries and its variants add.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/verify/boxes/box_domain.h"

namespace fairlane {

/// What an axis's entries add to a sum, runs of them the same. Empty: all add the same.
/// starts  [runs] first entry of each, ascending from 0
/// added   [runs]
struct AddedRuns {
  std::vector<std::int32_t> starts;
  std::vector<std::int64_t> added;

  /// The run that an entry lies in.
  std::size_t run_of(std::int32_t entry) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(starts, entry) - starts.begin()) - 1;
  }
};

/// A constraint or a limit: members exist whose sum is allowed. Who is beyond a limit belongs to no
/// group here.
/// of_axis     [axes]
/// of_variant  [variants] what it adds; empty where all add the same
/// constant    what they all add
/// bound, set  sums that are allowed, as ConstraintView has them
struct ExistenceRule {
  std::vector<AddedRuns> of_axis;
  std::vector<std::int64_t> of_variant;
  std::int64_t constant = 0;
  std::int64_t bound = 0;
  std::span<std::uint32_t const> set = {};

  bool speaks_of_variants() const { return !of_variant.empty(); }
  bool speaks_of(std::size_t axis) const { return !of_axis[axis].starts.empty(); }
  std::int64_t added(std::size_t axis, std::int32_t entry) const {
    AddedRuns const& runs = of_axis[axis];
    return runs.starts.empty() ? 0 : runs.added[runs.run_of(entry)];
  }
  std::int64_t added_by(int variant) const {
    return of_variant.empty() ? 0 : of_variant[static_cast<std::size_t>(variant)];
  }
  bool allows(std::int64_t sum) const { return is_allowed(sum, bound, set); }
  /// Whether it may exclude some member of a box with one of the variants.
  bool is_open(std::span<AxisRange const> box, std::span<int const> variants) const;
  /// Calls begin(entry) for entries of a range that begin a run, but for the range's first.
  template <class Begin>
  void each_start(std::size_t axis, AxisRange range, Begin const& begin) const {
    auto const& starts = of_axis[axis].starts;
    for (auto at = std::ranges::upper_bound(starts, range.first);
         at != starts.end() && *at <= range.last; ++at)
      begin(*at);
  }
};

/// Those of a domain, which is not relaxed and whose constraints look nothing up, less such as
/// exclude nobody. One that excludes everybody speaks of variants.
std::vector<ExistenceRule> existence_rules(BoxDomain const& domain);

using RuleSet = std::vector<ExistenceRule const*>;
/// Rules in sets, of which no two speak of the same axis and one at most of variants.
std::vector<RuleSet> tied_rules(RuleSet const& rules);

}  // namespace fairlane
