// How many groups of a box exist, where a domain has constraints, and are within its limits.
//
// Axes that no such rule speaks of multiply. Of those that constraints tie together, everybody is
// looked at once; sums over all boxes that begin at the lowest entries then tell any other box.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/verify/boxes/existence_rules.h"

namespace fairlane {

/// Exact counts of a whole region's boxes, up to the rounding of doubles. Any thread.
class ExistingGroups {
 public:
  /// Entries that may be looked at for axes that rules tie together.
  static constexpr std::int64_t kMostCombinations = std::int64_t{1} << 22;

  /// domain    outlives it; not relaxed
  /// variants  of a group, whose members it has; none: nothing will be counted
  ExistingGroups(BoxDomain const& domain, std::vector<int> variants);

  /// Attributes, not under test, that rules tie together and that have too many combinations: then
  /// all counts are 0. Empty: none have.
  std::vector<int> const& too_many() const { return too_many_; }
  /// Groups of a box of which some member exists.
  double count(std::span<AxisRange const> box) const;
  /// Groups of a box of which that variant's member exists.
  double count_one(std::span<AxisRange const> box, int variant) const;
  /// At least so many groups of a box have both members; of two variants in all exactly so many.
  double count_both(std::span<AxisRange const> box, int one, int other) const;
  /// By how far it is open who exists in a box: members that do, or those that do not, whichever are
  /// fewer.
  double doubt(std::span<AxisRange const> box) const;

 private:
  /// Axes that rules tie together.
  /// strides  [axes] of the sums, of which there is one more for each axis than it has entries
  struct Tied {
    std::vector<std::size_t> axes;
    std::vector<std::size_t> strides;
    std::size_t sums = 1;
    std::vector<ExistenceRule const*> rules;

    bool allows(std::span<std::int32_t const> point, int variant) const;
  };
  /// Number of entries below given ones, [sums].
  using Sums = std::vector<std::uint32_t>;

  bool find_tied();
  template <class Counts>
  Sums sums_of(Tied const& tied, Counts const& counts) const;
  static double sum(Tied const& tied, Sums const& sums, std::span<AxisRange const> box);
  /// Groups of a box, of all that rules which speak of no attribute under test leave.
  double rest(std::span<AxisRange const> box) const;
  double one_of_tied(std::span<AxisRange const> box, int variant) const {
    return sum(to_variants_, of_one_[static_cast<std::size_t>(variant)], box);
  }

  BoxDomain const& domain_;
  std::vector<ExistenceRule> rules_;
  std::vector<int> variants_;
  std::vector<int> too_many_;
  std::vector<char> free_;     // [axes] no rule speaks of it
  std::vector<Tied> tied_;     // with each other alone
  std::vector<Sums> of_tied_;  // [tied_]
  Tied to_variants_;           // with attributes under test
  Sums of_any_;                // with some variant
  std::vector<Sums> of_one_;   // [variants of the domain]; empty: not one of the group
};

}  // namespace fairlane
