// Boxes of groups counted or decided by evaluating all of them, as `enumerate` does.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "engine/count/group_counts.h"
#include "engine/verify/boxes/box_domain.h"
#include "engine/verify/deciders/box_decider.h"
#include "kernels/backend.h"

namespace fairlane {

/// One thread's.
class BoxWalk {
 public:
  /// Both outlive it.
  BoxWalk(BoxDomain const& domain, Backend& backend) : domain_(domain), backend_(backend) {}

  /// Counts the groups of a box within all limits, of all variants; of those that exist only such
  /// as have undefined members stay uncertain.
  CertainGroups count(std::span<AxisRange const> box);
  /// Decides an open box within all limits, all of whose variants are compared. The example is of
  /// the first group that has one, in the order of a walk.
  void decide(GroupPairs& groups, Decision& decision);

 private:
  /// How a walk looks at what it evaluates, and what that has taken; 0: not known.
  struct Way {
    std::optional<Walker::Look> look;
    double seconds_per_group = 0.0;
  };
  /// Those of boxes of one size.
  struct Ways {
    std::array<Way, 3> ways = {Way{}, Way{Walker::Look{false, 1}}, Way{Walker::Look{true, 1}}};
    std::size_t walks = 0;
    Way& next();
  };
  /// What a walk has come to, and a row of the first unfair group, where it was to end there.
  struct Walked {
    FeasibleCounts there;
    std::int64_t unfair = 0;
    std::vector<std::int32_t> row;
  };
  Walked walk(std::span<AxisRange const> box, bool to_unfair);
  /// Which entries of a box's axes have a row's values.
  std::vector<std::int32_t> entries_of(std::span<AxisRange const> box,
                                       std::span<std::int32_t const> row) const;

  BoxDomain const& domain_;
  Backend& backend_;
  std::array<Ways, 65> ways_;  // [bits of the number of groups]
};

}  // namespace fairlane
