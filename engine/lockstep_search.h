// The state that the phases of a search share; private to engine/search.cpp and its phases.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "engine/search.h"
#include "kernels/core/error.h"

namespace fairlane {

/// Starting points of the local phase: distinct global IDIs by least seed.
/// seed [count], rows [count][attributes]
struct Origins {
  std::vector<std::uint32_t> seed;
  std::vector<std::int32_t> rows;
};

/// One search on its way. The phases share its state; each has a file of its own: random_phase.cpp,
/// global_phase.cpp, local_phase.cpp.
class LockstepSearch {
 public:
  LockstepSearch(RunConfig const& config, MethodSpec const& method, SeedSource const& seeds,
                 Backend& backend, SearchOptions const& options)
      : config_(config),
        method_(method),
        seeds_(seeds),
        backend_(backend),
        options_(options),
        attributes_(backend.subject().get().columns) {}

  SearchResult run();

 private:
  using Clock = std::chrono::steady_clock;

  void random_phase();
  /// Tests draws [first_draw, end).
  void random_round(std::int64_t first_draw, std::int64_t end);
  void global_phase();
  void global_worker(std::atomic<std::int64_t>& next, std::int64_t count,
                     std::vector<std::uint32_t>& hit_seeds, std::vector<std::int32_t>& hit_rows);
  /// Writes outcomes of lanes that ended; keep[lane] = 0 for those.
  bool retire(LaneBlock& block, bool after_step, std::vector<std::uint8_t>& keep,
              std::vector<std::uint32_t>& hit_seeds, std::vector<std::int32_t>& hit_rows);
  void collect_origins(std::vector<std::vector<std::uint32_t>> const& seeds,
                       std::vector<std::vector<std::int32_t>> const& rows);
  void local_phase();
  void local_worker(std::atomic<std::int64_t>& next, std::int64_t last, int wanted_lanes);
  void cut_global();
  void cut_local(std::int64_t done);
  /// Origins after which the budget of instances is reached, -1 when the first `done` do not reach it.
  std::int64_t origins_for_instances(std::int64_t done);
  std::vector<std::uint64_t> hit_finders();
  void count();

  /// Ends a worker when the user wants it, or when another one has failed, which tells what happened.
  void check_stop() const {
    if (failed_.load(std::memory_order_relaxed))
      throw Error(ExitCode::kStopped, "another worker has failed");
    if (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed)) {
      throw Error(ExitCode::kInterrupted, "interrupted; nothing was written");
    }
  }
  bool late() const {
    return config_.budget.seconds && !options_.replay &&
           std::chrono::duration<double>(Clock::now() - start_).count() >= *config_.budget.seconds;
  }
  void report(std::int64_t done, std::int64_t iterations) const {
    if (options_.progress == nullptr) return;
    options_.progress->done.fetch_add(done, std::memory_order_relaxed);
    options_.progress->iterations.fetch_add(iterations, std::memory_order_relaxed);
    options_.progress->instances.store(static_cast<std::int64_t>(backend_.instances()),
                                       std::memory_order_relaxed);
  }
  void begin_phase(int phase, std::int64_t total) const {
    if (options_.progress == nullptr) return;
    options_.progress->phase = phase;
    options_.progress->done = 0;
    options_.progress->total = total;
  }
  /// Lanes per block: short blocks where the clock decides, so that little is lost at the end.
  int block_lanes(std::int64_t lanes) const {
    constexpr int kTimedLanes = 64;
    int const wanted = backend_.block_lanes(lanes);
    return config_.budget.seconds ? std::min(wanted, kTimedLanes) : wanted;
  }
  std::uint32_t max_iter() const { return static_cast<std::uint32_t>(config_.global.max_iter); }
  double gradient_cost() const {
    return method_.evaluations_per_gradient > 0.0 ? method_.evaluations_per_gradient
                                                  : 1.0 + attributes_;
  }
  GradientSpec gradient() const {
    return {method_.gradient, static_cast<float>(config_.perturbation_size)};
  }
  LocalStep local_step() const;

  RunConfig const& config_;
  MethodSpec const& method_;
  SeedSource const& seeds_;
  Backend& backend_;
  SearchOptions const& options_;
  int attributes_;
  Clock::time_point start_ = Clock::now();
  SearchResult result_;
  Origins origins_;
  std::vector<std::uint8_t> global_done_;  // [seeds]
  std::vector<std::uint8_t> local_done_;   // [origins]
  std::vector<std::uint32_t> renewals_;    // [origins]
  std::int64_t local_counted_ = 0;         // origins that count
  std::atomic<bool> failed_{false};        // a worker has thrown
};

}  // namespace fairlane
