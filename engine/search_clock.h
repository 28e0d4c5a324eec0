// Whether a search has to end: because the user wants it, or because its seconds are over.
#pragma once

#include <atomic>

#include "engine/search.h"
#include "engine/stopwatch.h"
#include "kernels/core/error.h"

namespace fairlane {

/// Runs from when it is made, as part of a search whose earlier sessions' seconds its result has. Any thread.
class SearchClock {
 public:
  SearchClock(RunConfig const& config, SearchOptions const& options, SearchResult const& result)
      : config_(config), options_(options), result_(result) {}

  bool stopped() const {
    return options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed);
  }
  /// Throws Error(kInterrupted) where the user wants the search to end.
  void check_stop() const {
    if (stopped()) throw Error(ExitCode::kInterrupted, "interrupted; nothing was written");
  }
  /// Seconds of all sessions.
  double seconds() const { return since_start_.seconds() + result_.earlier_seconds; }
  /// The budget of seconds is spent; never where a run is repeated, whose end is known.
  bool late() const {
    return config_.budget.seconds && !options_.replay && seconds() >= *config_.budget.seconds;
  }

 private:
  RunConfig const& config_;
  SearchOptions const& options_;
  SearchResult const& result_;
  Stopwatch since_start_;
};

}  // namespace fairlane
