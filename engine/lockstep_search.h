// The state that the phases of a search share; private to engine/search.cpp and its phases.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/search.h"
#include "engine/search_clock.h"
#include "engine/step_adaptation.h"
#include "engine/workers.h"
#include "kernels/core/error.h"

namespace fairlane {

/// Global IDIs and the seeds that led to them.
/// seed [count], rows [count][attributes]
struct GlobalHits {
  std::vector<std::uint32_t> seed;
  std::vector<std::int32_t> rows;
};

/// One search on its way. The phases share its state; each has a file of its own: random_phase.cpp,
/// global_phase.cpp, local_phase.cpp, adaptive_phase.cpp; what is saved of it is search_state.cpp's.
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
  /// All phases, from where resume() has left them.
  SearchResult finish();
  void random_phase();
  /// Tests draws [first_draw, end).
  void random_round(std::int64_t first_draw, std::int64_t end);
  void global_phase();
  void global_worker(WorkList& seeds, int wanted_lanes, GlobalHits& hits);
  /// Writes outcomes of lanes that ended; keep[lane] = 0 for those.
  bool retire(LaneBlock& block, bool after_step, std::vector<std::uint8_t>& keep, GlobalHits& hits);
  void collect_origins();
  void local_phase();
  void local_worker(WorkList& origins, int wanted_lanes);
  /// Origins that step together.
  /// blocks      in the order in which they take origins; block b is worker b % workers's
  /// adaptation  of the next step
  /// events      [workers] of the step that is being taken
  /// over        time is up
  struct Population {
    std::vector<std::unique_ptr<LaneBlock>> blocks;
    int workers = 1;
    std::optional<StepAdaptation> adaptation;
    std::vector<std::vector<std::uint64_t>> events;
    bool over = false;
  };
  /// Room for a population of so many lanes.
  Population make_population(std::int64_t lanes);
  /// AEQUITAS: the local phase of origins [begin, end), which begin where a population does.
  void adaptive_local(std::int64_t begin, std::int64_t end);
  void adaptive_worker(Population& population, int worker, std::int64_t begin, std::int64_t end);
  /// After a step of all lanes, while the workers rest.
  static void learn(Population& population);
  /// After the last step of origins [first, last).
  void end_population(Population const& population, std::int64_t first, std::int64_t last);
  void cut_global();
  void cut_local(std::int64_t done);
  /// Origins after which the budget of instances is reached, -1 when the first `done` do not reach it.
  std::int64_t origins_for_instances(std::int64_t done);
  /// Same for the budget of model evaluations; what is left of it after so many origins; and how many more are worth
  /// searching at once.
  std::int64_t origins_for_evaluations(std::int64_t done) const;
  double evaluations_left(std::int64_t origins) const;
  std::int64_t evaluations_wave(std::int64_t done) const;
  std::vector<std::uint64_t> hit_finders();
  /// Model evaluations that a seed's global phase takes by the method's definition, as if nothing were cached.
  double seed_evaluations(GlobalOutcome const& outcome) const;
  /// Same of an origin's local phase, which renewed its gradients so many times.
  double origin_evaluations(double renewals) const;
  void count();

  /// Saves what is done. No block runs meanwhile. Throws Error.
  void save();
  /// save(), which may fail while the search goes on: that is told, and the earlier state stays. A device that fails
  /// ends the search.
  void save_on_the_way();
  /// What becomes of an error that ended the search: whether and where its state is saved.
  [[noreturn]] void stop(Error const& error);
  /// Takes what an earlier session has saved.
  void resume();
  /// "300 of 812 origins".
  std::string done_so_far() const;

  /// Between two rounds of a worker's block.
  void between_rounds() {
    check_stop();
    if (options_.saving == nullptr) return;
    if (!workers_.rest_called()) {
      if (!options_.saving->clock.due()) return;
      workers_.call_for_rest();
    }
    workers_.rest([this] { save_on_the_way(); });
    check_stop();
  }
  /// Ends a worker when the user wants it, or when another one has failed, which tells what happened.
  void check_stop() const {
    if (workers_.failed()) throw Error(ExitCode::kStopped, "another worker has failed");
    clock_.check_stop();
  }
  void report(std::int64_t done, std::int64_t iterations) const {
    if (options_.progress == nullptr) return;
    options_.progress->done.fetch_add(done, std::memory_order_relaxed);
    options_.progress->iterations.fetch_add(iterations, std::memory_order_relaxed);
    options_.progress->instances.store(static_cast<std::int64_t>(backend_.instances()),
                                       std::memory_order_relaxed);
  }
  /// done: how many of them in earlier sessions.
  void begin_phase(int phase, std::int64_t total, std::int64_t done = 0) const {
    if (options_.progress == nullptr) return;
    options_.progress->phase = phase;
    options_.progress->done = done;
    options_.progress->resumed = done;
    options_.progress->total = total;
  }
  /// Lanes per block: short blocks where the clock decides, so that little is lost at the end.
  int block_lanes(std::int64_t lanes) const {
    constexpr int kTimedLanes = 64;
    int const wanted = backend_.block_lanes(lanes);
    return config_.budget.seconds ? std::min(wanted, kTimedLanes) : wanted;
  }
  std::uint32_t max_iter() const {
    return adaptive() ? 1 : static_cast<std::uint32_t>(config_.global.max_iter);
  }
  bool adaptive() const { return method_.kind == SearchKind::kAdaptive; }
  double gradient_cost() const {
    return method_.evaluations_per_gradient > 0.0 ? method_.evaluations_per_gradient
                                                  : 1.0 + attributes_;
  }
  double variants() const { return backend_.subject().get().variants; }
  /// Tests of one input after which a budget of model evaluations is reached.
  std::int64_t tests_within(std::int64_t evaluations) const {
    std::int64_t const each = backend_.subject().get().variants;
    return evaluations / each + (evaluations % each != 0 ? 1 : 0);
  }
  GradientSpec gradient() const {
    return {method_.gradient, static_cast<float>(config_.perturbation_size)};
  }
  LocalStep local_step() const;
  StepAdaptation new_adaptation() const {
    return {method_, backend_.subject().get().movable_count,
            static_cast<std::int32_t>(config_.local.step)};
  }

  RunConfig const& config_;
  MethodSpec const& method_;
  SeedSource const& seeds_;
  Backend& backend_;
  SearchOptions const& options_;
  int attributes_;
  SearchResult result_;
  SearchClock clock_{config_, options_, result_};
  Workers workers_;
  std::vector<GlobalHits> hits_;  // [workers]
  GlobalHits origins_;            // starting points of the local phase: distinct hits by least seed
  std::vector<std::uint8_t> global_done_;     // [seeds]
  std::vector<std::uint8_t> local_done_;      // [origins]
  std::vector<std::uint32_t> renewals_;       // [origins]
  std::optional<StepAdaptation> adaptation_;  // AEQUITAS: after the last population that is done
  std::int64_t local_counted_ = 0;            // origins that count
  std::string saved_;  // done_so_far() of the state on disk, empty: there is none
};

}  // namespace fairlane
