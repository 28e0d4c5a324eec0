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
  /// Heads worth asking for at once, best from a multiple of them on.
  virtual std::int64_t chunk() const = 0;
  /// Counts heads [first, first + count).
  /// mixed     [plan().get().groups][head_words(count)] bits of the heads whose group is
  ///           discriminatory, out
  /// counters  [plan().counters().size()] added to
  virtual void count(std::int64_t first, std::int64_t count, std::uint64_t* mixed,
                     std::uint64_t* counters) = 0;

  /// How count_open looks at boxes.
  /// detailed  more closely, in more time
  /// parts     of a head's members that are looked at apart, at most
  struct Look {
    bool detailed = false;
    int parts = 1;
  };
  /// Whether count_open may do better than count. Devices do not yet: their warps find out which
  /// units are closed (kernels/core/walk/walk_members.h), and bounds are of the host's packs.
  virtual bool proves() const { return false; }
  /// The same as count(), leaving out what is proven to change nothing: units that give 0 for all
  /// inputs of a box, and groups whose members are proven to have one label.
  /// Returns how many groups were not evaluated.
  virtual std::int64_t count_open(std::int64_t first, std::int64_t count, Look look,
                                  std::uint64_t* mixed, std::uint64_t* counters) {
    static_cast<void>(look);
    this->count(first, count, mixed, counters);
    return 0;
  }
  /// Takes the time that count_open takes for about `count` heads near one, and counts nothing.
  /// Of walkers that prove.
  virtual void try_open(std::int64_t head, std::int64_t count, Look look) {
    static_cast<void>(head);
    static_cast<void>(count);
    static_cast<void>(look);
  }
};

}  // namespace fairlane
