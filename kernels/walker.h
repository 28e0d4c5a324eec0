// Walks over all combinations of lists of values, on any device.
#pragma once

#include <cstdint>

#include "kernels/layout/walk_plan.h"

namespace fairlane {

/// Counts the groups of a walk, a range of heads at a time. Any thread, several at once.
class Walker {
 public:
  virtual ~Walker() = default;
  virtual WalkPlan const& plan() const = 0;
  /// Heads worth asking for at once: a multiple of kHeadsPerWord.
  virtual std::int64_t chunk() const = 0;
  /// Counts heads [first, first + count).
  /// mixed     [plan().get().groups][head_words(count)] bits of the heads whose group is
  ///           discriminatory, out
  /// counters  [plan().counters().size()] added to
  virtual void count(std::int64_t first, std::int64_t count, std::uint64_t* mixed,
                     std::uint64_t* counters) = 0;
};

}  // namespace fairlane
