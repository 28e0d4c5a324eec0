// Constraints and limits as sums of what a group's entries and its variants add.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/verify/boxes/box_domain.h"

namespace fairlane {

/// A constraint or a limit: members exist whose sum is allowed. Who is beyond a limit belongs to no
/// group here.
/// of_axis     [axes][entries] what an entry adds; empty where all add the same
/// of_variant  [variants] likewise
/// constant    what those add
/// bound, set  sums that are allowed, as ConstraintView has them
struct ExistenceRule {
  std::vector<std::vector<std::int64_t>> of_axis;
  std::vector<std::int64_t> of_variant;
  std::int64_t constant = 0;
  std::int64_t bound = 0;
  std::span<std::uint32_t const> set = {};

  bool speaks_of(std::size_t axis) const { return !of_axis[axis].empty(); }
  std::int64_t added(std::size_t axis, std::int32_t entry) const {
    return speaks_of(axis) ? of_axis[axis][static_cast<std::size_t>(entry)] : 0;
  }
  std::int64_t added_by(int variant) const {
    return of_variant.empty() ? 0 : of_variant[static_cast<std::size_t>(variant)];
  }
  bool allows(std::int64_t sum) const { return is_allowed(sum, bound, set); }
  /// Whether it may exclude some member of a box with one of the variants.
  bool is_open(std::span<AxisRange const> box, std::span<int const> variants) const;
};

/// Those of a domain, which is not relaxed and whose constraints look nothing up.
std::vector<ExistenceRule> existence_rules(BoxDomain const& domain);

}  // namespace fairlane
