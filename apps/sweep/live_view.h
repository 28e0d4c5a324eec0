// A sweep on a terminal: what is done, and a line for each cell that runs.
#pragma once

#include "apps/console.h"
#include "apps/progress.h"
#include "engine/sweep/sweep.h"

namespace fairlane {

/// Lines on stderr that are drawn over and over, and erased at the end.
class LiveView {
 public:
  explicit LiveView(ProgressStyle style) : style_(style), line_(style) {}
  ~LiveView() { clear(); }
  LiveView(LiveView const&) = delete;
  LiveView& operator=(LiveView const&) = delete;

  void show(SweepProgress const& progress);
  /// So that a message can be written.
  void clear();

 private:
  ProgressStyle style_;
  StatusLine line_;      // where lines stay
  int drawn_lines_ = 0;  // above the cursor
};

}  // namespace fairlane
