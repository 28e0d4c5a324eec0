// The progress line of a search on a terminal.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "engine/search.h"

namespace fairlane {

/// Draws one line on stderr, over and over, from another thread; erases it at the end.
class ProgressLine {
 public:
  /// Draws nothing where `enabled` is false. The configuration says how much there is to do.
  ProgressLine(SearchProgress const& progress, RunConfig const& config, bool enabled);
  ~ProgressLine();
  ProgressLine(ProgressLine const&) = delete;
  ProgressLine& operator=(ProgressLine const&) = delete;

  /// Erases the line, so that a message can be written; the next one follows by itself.
  void clear();

 private:
  void draw();

  SearchProgress const& progress_;
  double tests_per_seed_;    // of the global phase, at most
  double steps_per_origin_;  // of the local phase
  bool drawn_ = false;
  bool ended_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace fairlane
