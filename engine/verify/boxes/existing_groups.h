// How many groups of a box exist, where a domain has constraints, and are within its limits.
//
// Axes that no such rule speaks of multiply. Of those that rules tie together, runs of entries that
// are the same to all of them are looked at once; sums over all boxes that begin at the lowest
// entries then tell any other box. Within a run they rise evenly.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/verify/boxes/existence_rules.h"

namespace fairlane {

/// Counts of a whole region's boxes, exact up to 2^53, beyond that as doubles are. Any thread.
class ExistingGroups {
 public:
  /// Sums that may be kept of axes that rules tie together.
  static constexpr std::int64_t kMostSums = std::int64_t{1} << 24;

  /// domain    outlives it; not relaxed
  /// variants  of a group, whose members it has; none: nothing will be counted
  ExistingGroups(BoxDomain const& domain, std::vector<int> variants);
  ExistingGroups(ExistingGroups&&) = default;

  /// Attributes, not under test, that rules tie together and that have too many combinations: then
  /// all counts are 0. Empty: none have.
  std::vector<int> const& too_many() const { return too_many_; }
  /// Whether there are constraints or limits: otherwise everybody exists.
  bool any_rules() const { return !rules_.empty(); }
  /// Groups of a box of which some member exists.
  double count(std::span<AxisRange const> box) const;
  /// Groups of a box of which that variant's member exists.
  double count_one(std::span<AxisRange const> box, int variant) const;
  /// At least so many groups of a box have both members; of two variants in all exactly so many.
  double count_both(std::span<AxisRange const> box, int one, int other) const;
  /// Where to cut a box whose groups do not have the same members, so that those of its parts most
  /// nearly do; nothing where they nearly do already.
  std::optional<BoxCut> clearing_cut(std::span<AxisRange const> box) const;

 private:
  /// Axes that rules tie together.
  /// starts   [axes][runs + 1] the first entry of a run, and behind the last one
  /// strides  [axes] of the sums, of which there is one more for each axis than it has runs
  struct Tied {
    std::vector<std::size_t> axes;
    std::vector<std::vector<std::int32_t>> starts;
    std::vector<std::size_t> strides;
    std::size_t sums = 1;
    RuleSet rules;

    void add_axis(std::size_t axis, std::int32_t entries);
    /// The run of the i-th axis that an entry lies in.
    std::size_t run_of(std::size_t i, std::int32_t entry) const {
      auto const behind = std::ranges::upper_bound(starts[i], entry);
      return static_cast<std::size_t>(behind - starts[i].begin()) - 1;
    }
    bool allows(std::span<std::int32_t const> entries, int variant) const;
  };
  /// Number of entries below the starts of given runs, [sums].
  using Sums = std::vector<double>;

  bool find_tied();
  template <class Counts>
  Sums sums_of(Tied const& tied, Counts const& counts) const;
  static double sum(Tied const& tied, Sums const& sums, std::span<AxisRange const> box) {
    return sum_from(tied, sums, box, 0, 0);
  }
  /// Of a box of axes from the i-th on, and of the given runs of those before.
  static double sum_from(Tied const& tied, Sums const& sums, std::span<AxisRange const> box,
                         std::size_t i, std::size_t at);
  /// Groups of a box, of all that rules which speak of no attribute under test leave.
  double rest(std::span<AxisRange const> box) const;
  double one_of_tied(std::span<AxisRange const> box, int variant) const;
  /// How many members, of combinations of the axes that are tied to attributes under test, not all
  /// of a box have, or lack that others have, whichever are fewer. any: those that have some
  double doubt(std::span<AxisRange const> box, double any) const;

  BoxDomain const& domain_;
  std::vector<ExistenceRule> rules_;
  std::vector<int> variants_;
  std::vector<int> too_many_;
  std::vector<char> free_;          // [axes] no rule speaks of it
  std::vector<Tied> tied_;          // with each other alone
  std::vector<Sums> of_tied_;       // [tied_]
  Tied to_variants_;                // with attributes under test
  Sums of_any_;                     // with some variant
  std::vector<std::size_t> alike_;  // [variants of the domain] a place in of_one_
  std::vector<Sums> of_one_;        // of variants that are the same to all rules
};

}  // namespace fairlane
