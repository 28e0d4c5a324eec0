// Holds what a verification says of shares against groups that are evaluated one by one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/formats/json.h"
#include "engine/recheck/checked_existence.h"
#include "engine/recheck/checked_groups.h"
#include "engine/verify/boxes/box_domain.h"

namespace fairlane {

/// Groups of which some member exists, and those of them that are not fair: two members that are
/// compared have different labels, or one has none.
struct GroupTally {
  std::int64_t groups = 0;
  std::int64_t not_fair = 0;
};

/// One thread's.
class GroupTeller {
 public:
  /// All outlive it.
  GroupTeller(BoxDomain const& domain, CheckedExistence const& existence,
              CheckedGroups const& groups, std::span<int const> variants)
      : domain_(domain), existence_(existence), groups_(groups), variants_(variants) {}

  /// Those with the numbers [first, last), axis after axis, the last axis fastest.
  GroupTally count(std::int64_t first, std::int64_t last) const;
  /// So many, drawn uniformly; fewer where hardly any exists.
  GroupTally draw(std::uint64_t seed, std::int64_t count) const;

 private:
  /// Adds a group to a tally, if it exists.
  void add(std::vector<std::int32_t> const& entries, GroupTally& tally) const;

  BoxDomain const& domain_;
  CheckedExistence const& existence_;
  CheckedGroups const& groups_;
  std::span<int const> variants_;
};

/// What is wrong with `shares` of a summary. all: the groups of the region, those that do not exist
/// among them; counted: whether the tally is of all that exist. Throws JsonError.
std::vector<std::string> share_problems(Json const& shares, double all, GroupTally const& tally,
                                        bool counted);

}  // namespace fairlane
