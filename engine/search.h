// The lockstep search: a global phase from seeds to first IDIs, a local phase around each of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "engine/checkpoint.h"
#include "engine/findings.h"
#include "engine/method.h"
#include "engine/run_config.h"
#include "engine/seeds.h"
#include "kernels/backend.h"

namespace fairlane {

/// What became of one seed in the global phase.
struct GlobalOutcome {
  bool found = false;
  std::uint32_t iterations = 0;  // tests
};

/// Where a run ended in canonical order: everything before is complete, everything else does not count.
/// A budget is checked at seed boundaries; the seed that reaches it is the last one.
struct Cut {
  std::uint64_t finder =
      std::numeric_limits<std::uint64_t>::max();  // first finder that does not count
  std::int64_t global_seeds = -1;                 // seeds of the global phase, -1: all
  std::int64_t local_seeds = -1;                  // origins of the local phase, -1: all
  char const* reason =
      "";  // the budget that ended the run: seeds, iterations, evaluations, instances, seconds
};

/// The counts of summary.json that the search itself knows.
struct SearchCounts {
  std::int64_t global_seeds = 0;
  std::int64_t global_found = 0;
  std::int64_t global_unique = 0;
  std::int64_t iterations = 0;
  std::int64_t model_evaluations = 0;
};

/// What a watcher may show while a search runs.
struct SearchProgress {
  std::atomic<int> phase{0};             // 0 global, 1 local
  std::atomic<std::int64_t> done{0};     // seeds finished in this phase
  std::atomic<std::int64_t> resumed{0};  // of these, in earlier sessions
  std::atomic<std::int64_t> total{0};
  std::atomic<std::int64_t> iterations{0};  // tests and steps of both phases
  std::atomic<std::int64_t> instances{0};   // distinct IDIs so far
};

/// Result of a search; the visited inputs stay in the backend's table.
struct SearchResult {
  SearchCounts counts;
  Cut cut;
  std::vector<GlobalOutcome> global;    // [global seeds]
  std::vector<std::int32_t> last_rows;  // [global seeds][attributes] when tracing
  double search_seconds = 0.0;
  double earlier_seconds = 0.0;  // of these, in earlier sessions
};

/// Where a search saves what it has done, and from where it goes on.
struct Saving {
  std::string path;              // of the state
  std::string identity;          // what it belongs to: the manifest
  std::string place;             // for people: the output directory
  Findings* findings = nullptr;  // takes the visits that do not fit the backend's record
  CheckpointClock clock{0.0};
  std::unique_ptr<CheckpointReader> state;       // of an earlier session; null: none
  std::function<void(std::string const&)> tell;  // lines for people
};

/// Options that steer a search beside the configuration.
struct SearchOptions {
  bool trace = false;  // keep last_rows
  int threads =
      0;  // for what the host does beside the backend; 0: as many as the backend runs blocks
  std::atomic<bool> const* stop =
      nullptr;  // set by a signal: the search throws Error(kInterrupted), or kStopped where it has saved its state
  SearchProgress* progress = nullptr;
  std::optional<Cut> replay;  // repeat a run that a budget of seconds ended there
  Saving* saving = nullptr;   // null: nothing is saved
};

/// Whether a scorer has failed, which nothing else in a search fails with: all that is done can be saved.
bool is_model_failure(Error const& error);

/// Whether a search can go on from a saved state: not where distinct inputs are counted on the way.
bool can_resume(RunConfig const& config, MethodSpec const& method);

/// Runs the configured method. Throws Error; kStopped where the same search can go on from the saved state.
SearchResult search(RunConfig const& config, MethodSpec const& method, SeedSource const& seeds,
                    Backend& backend, SearchOptions const& options);

}  // namespace fairlane
