// One round of a count of shares: its boxes are measured, and some of them evaluated.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "engine/verify/certain_shares.h"
#include "engine/verify/deciders/box_walk.h"

namespace fairlane {

class ShareRound {
 public:
  /// existing  outlives it
  /// overdue   whether no more boxes are to be looked at: they are left open
  ShareRound(ExistingGroups const& existing, std::function<bool()> overdue)
      : existing_(existing), overdue_(std::move(overdue)) {}

  /// Asks a queue for boxes. Returns false where there are none.
  bool begin(ShareQueue& queue, MeasureCosts const& costs);
  std::size_t boxes() const { return boxes_.size(); }
  /// Measures boxes [first, first + count), before any is evaluated. Each thread others.
  void measure(BoxDecider& decider, std::size_t first, std::size_t count);
  /// Which boxes, after that, are to be evaluated.
  std::vector<std::size_t> to_evaluate() const;
  /// Each thread others.
  void evaluate(BoxWalk& walk, std::size_t box);
  /// Hands all to the queue.
  void end(ShareQueue& queue) { queue.take(decisions_, certain_); }

 private:
  void measure_alike(BoxDecider& decider, std::size_t first, std::size_t end, bool in_part);

  ExistingGroups const& existing_;
  std::function<bool()> overdue_;
  std::span<OpenBox const> boxes_;
  std::size_t to_evaluate_ = 0;
  bool in_part_ = false;
  std::vector<Decision> decisions_;
  std::vector<CertainGroups> certain_;
};

}  // namespace fairlane
