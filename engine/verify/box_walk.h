// Boxes of groups counted by evaluating all of them, as `enumerate` does.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

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

 private:
  /// How a walk looks at what it evaluates, and what that has taken; 0: not known.
  struct Way {
    std::optional<Walker::Look> look;
    double seconds_per_group = 0.0;
  };
  Way& next_way();

  BoxDomain const& domain_;
  Backend& backend_;
  std::array<Way, 3> ways_ = {Way{}, Way{Walker::Look{false, 1}}, Way{Walker::Look{true, 1}}};
  std::size_t walks_ = 0;
};

}  // namespace fairlane
