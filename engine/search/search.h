// The lockstep search: a global phase from seeds to first IDIs, a local phase around each of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/config/run_config.h"
#include "engine/job/job.h"
#include "engine/record/findings.h"
#include "engine/search/cut.h"
#include "engine/search/method.h"
#include "engine/search/seeds.h"
#include "kernels/backend.h"

namespace fairlane {

class Ranks;

/// What became of one seed in the global phase.
struct GlobalOutcome {
  bool found = false;
  std::uint32_t iterations = 0;  // tests
};

/// The counts of summary.json that the search itself knows.
struct SearchCounts {
  std::int64_t global_seeds = 0;
  std::int64_t global_found = 0;
  std::int64_t global_unique = 0;
  std::int64_t iterations = 0;
  std::int64_t model_evaluations = 0;
};

/// A part of a search in canonical order, such as a seed or an origin: what finders from `finder`
/// on visited, before the next leg's, was visited within so many model evaluations of the search.
struct Leg {
  std::uint64_t finder = 0;
  std::int64_t evaluations = 0;
};

/// Result of a search; the visited inputs stay in the backend's table.
struct SearchResult {
  SearchCounts counts;
  Cut cut;
  std::vector<GlobalOutcome> global;    // [global seeds]
  std::vector<std::int32_t> last_rows;  // [global seeds][attributes] when tracing
  std::vector<Leg> legs;                // that count, by finder, when asked for
  double search_seconds = 0.0;
  double earlier_seconds = 0.0;  // of these, in earlier sessions
};

/// Options that steer a search beside the configuration, which has the budget of seconds.
/// trace     keep last_rows
/// legs      keep legs
/// threads   for what the host does beside the backend; 0: as many as the backend runs blocks
/// replay    repeat a run that a budget of seconds ended there
/// ranks     share the search, which saves no state; null: there is but this process
/// findings  takes the visits that do not fit the backend's record; needed where a state is kept
struct SearchOptions : JobOptions {
  bool trace = false;
  bool legs = false;
  int threads = 0;
  std::optional<Cut> replay;
  Ranks* ranks = nullptr;
  Findings* findings = nullptr;
};

/// Whether a search can go on from a saved state: not where distinct inputs are counted on the way.
bool can_resume(RunConfig const& config, MethodSpec const& method);

/// Throws Error(kConfig) where ranks cannot share a search with the same results.
void require_sharable(RunConfig const& config, MethodSpec const& method, bool replays);

/// Runs the configured method. Throws Error; kStopped where the same search can go on from the
/// saved state.
SearchResult search(RunConfig const& config, MethodSpec const& method, SeedSource const& seeds,
                    Backend& backend, SearchOptions const& options);

}  // namespace fairlane
