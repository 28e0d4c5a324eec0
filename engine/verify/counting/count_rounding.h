// What counts of groups, which are doubles, may be off by.
#pragma once

#include <algorithm>

namespace fairlane {

/// More than sums of contributions are rounded by, of their magnitudes.
inline constexpr double kCountSlack = 0x1p-40;

/// Groups that are left of `all` without some that were added up: no more than truly are.
inline double at_least_without(double all, double some) {
  constexpr double kExact = 0x1p53;      // groups, below which counts are exact
  constexpr double kRounding = 0x1p-40;  // of more groups, more than counts are rounded by
  double const roundings = all < kExact ? 0.0 : kRounding * all;
  return std::max(all - some - roundings, 0.0);
}

}  // namespace fairlane
