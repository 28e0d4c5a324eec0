// How many groups of a box exist, where a domain has constraints.
//
// Axes that no constraint speaks of multiply. Of those that constraints tie together, everybody is
// looked at once; sums over all boxes that begin at the lowest entries then tell any other box.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/verify/boxes/box_domain.h"

namespace fairlane {

/// Exact counts of a whole region's boxes, up to the rounding of doubles. Any thread.
class ExistingGroups {
 public:
  /// Entries that may be looked at for axes that constraints tie together.
  static constexpr std::int64_t kMostCombinations = std::int64_t{1} << 22;

  /// domain    outlives it; not relaxed
  /// variants  of a group, whose members it has; none: nothing will be counted
  ExistingGroups(BoxDomain const& domain, std::vector<int> variants);

  /// Attributes, not under test, that constraints tie together and that have too many combinations:
  /// then all counts are 0. Empty: none have.
  std::vector<int> const& too_many() const { return too_many_; }
  /// Groups of a box of which some member exists.
  double count(std::span<AxisRange const> box) const;
  /// At least so many groups of a box have both members; of two variants in all exactly so many.
  double count_both(std::span<AxisRange const> box, int one, int other) const;

 private:
  /// Axes that constraints tie together.
  /// strides  [axes] of the sums, of which there is one more for each axis than it has entries
  struct Tied {
    std::vector<std::size_t> axes;
    std::vector<std::size_t> strides;
    std::size_t sums = 1;
    std::vector<ConstraintView> constraints;
  };
  /// Number of entries below given ones, [sums].
  using Sums = std::vector<std::uint32_t>;

  bool find_tied();
  template <class Counts>
  Sums sums_of(Tied const& tied, Counts const& counts) const;
  static double sum(Tied const& tied, Sums const& sums, std::span<AxisRange const> box);
  /// Groups of a box, of all that constraints which speak of no attribute under test leave.
  double rest(std::span<AxisRange const> box) const;

  BoxDomain const& domain_;
  std::vector<int> variants_;
  std::vector<int> too_many_;
  std::vector<char> free_;     // [axes] no constraint speaks of it
  std::vector<Tied> tied_;     // with each other alone
  std::vector<Sums> of_tied_;  // [tied_]
  Tied to_variants_;           // with attributes under test
  Sums of_any_;                // with some variant
  std::vector<Sums> of_one_;   // [variants of the domain]; empty: not one of the group
};

}  // namespace fairlane
