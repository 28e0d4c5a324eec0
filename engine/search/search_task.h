// What all searches have in common: a job that saves what was visited, and a result.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/job/job.h"
#include "engine/search/search.h"

namespace fairlane {

/// A search on its way.
class SearchTask : protected JobTask {
 public:
  SearchTask(RunConfig const& config, SeedSource const& seeds, Backend& backend,
             SearchOptions const& options);

  /// Throws Error; kStopped where the same search can go on from the saved state.
  SearchResult run();

 protected:
  /// Does what read_state() has left. Throws Error.
  virtual void search() = 0;
  /// Completes the result's counts.
  virtual void count() = 0;

  void work() final;
  /// A section with everything that the backend recorded and the findings took over.
  void write_visits(CheckpointWriter& state);
  /// Gives an earlier session's visits to the findings.
  void read_visits(CheckpointReader const& state);

  /// Finder of the n-th distinct IDI in canonical order; none where fewer were found. Throws
  /// Error(kMemory) where the record has not had room for all.
  std::optional<std::uint64_t> nth_instance(std::int64_t n);

  /// done: how many of them in earlier sessions
  void begin_phase(int phase, std::int64_t total, std::int64_t done = 0) const {
    if (options_.progress != nullptr) options_.progress->begin(phase, total, done);
  }

  RunConfig const& config_;
  SeedSource const& seeds_;
  Backend& backend_;
  SearchOptions const& options_;
  SearchResult result_;
  Job job_;
};

}  // namespace fairlane
