// Which classes the members of a box may have, where a network has more than two.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/verify/deciders/merged_bounds.h"

namespace fairlane {

/// possible  a bit for each class that a member may have
/// pair      those two of them, a place in BoundNetwork::pairs(), that bounds tell apart least; -1:
///           one is left
/// apart     how far either of the two may be ahead of the other, the lesser of both
struct ClassContest {
  std::uint32_t possible = 0;
  int pair = -1;
  double apart = 0.0;
};

/// Finds out, by the outputs of all pairs of classes; one thread's.
class ClassContests {
 public:
  /// All outlive it.
  ClassContests(BoundNetwork const& network, LaneBounds& bounds, MergedBounds& merged)
      : networks_(network), bounds_(bounds), merged_(merged) {}

  /// [boxes]
  std::vector<ClassContest> find(BoxRound const& round);
  /// Of boxes of one pair of classes, decides those to which one of the two is lost: another class
  /// has more everywhere.
  void leave_out(BoxRound const& round);

 private:
  BoundNetwork const& networks_;
  LaneBounds& bounds_;
  MergedBounds& merged_;
};

}  // namespace fairlane
