// The search whose lanes advance together. This folder is one class: a file for each phase, one for
// what is saved of it, one for the rest; and what its phases learn: StepAdaptation, Frontier.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/threads/workers.h"
#include "engine/ranks/ranks.h"
#include "engine/search/lockstep/frontier.h"
#include "engine/search/lockstep/step_adaptation.h"
#include "engine/search/search_task.h"

namespace fairlane {

/// Global IDIs and the seeds that led to them.
/// seed [count], rows [count][attributes]
struct GlobalHits {
  std::vector<std::uint32_t> seed;
  std::vector<std::int32_t> rows;
};

/// One search on its way. The phases share its state; each has a file of its own: random_phase.cpp,
/// global_phase.cpp, local_phase.cpp, adaptive_phase.cpp; what is saved of it is saved_state.cpp's,
/// what ranks tell each other shared_search.cpp's.
class LockstepSearch : public SearchTask {
 public:
  LockstepSearch(RunConfig const& config, MethodSpec const& method, SeedSource const& seeds,
                 Backend& backend, SearchOptions const& options)
      : SearchTask(config, seeds, backend, options),
        method_(method),
        attributes_(backend.subject().get().columns) {}

 private:
  /// All phases.
  void search() override;
  void write_state(CheckpointWriter& state) override;
  void read_state(CheckpointReader const& state) override;
  std::string done() const override;
  /// A round that has failed has made visits which the clock might later not count.
  bool can_save() const override { return !fails_midway_; }
  void random_phase();
  /// Tests draws [first_draw, end).
  void random_round(std::int64_t first_draw, std::int64_t end);
  void global_phase();
  void global_worker(WorkList& seeds, int wanted_lanes, GlobalHits& hits);
  /// Writes outcomes of lanes that ended; keep[lane] = 0 for those.
  bool retire(LaneBlock& block, bool after_step, std::vector<std::uint8_t>& keep, GlobalHits& hits);
  /// All lanes, each of which has come to its end.
  void retire_all(LaneBlock& block, std::vector<std::uint8_t>& keep, GlobalHits& hits);
  /// Writes the outcome of a lane whose seed has ended.
  void end_seed(LaneBlock const& block, int lane, bool hit, GlobalHits& hits);
  void collect_origins();
  void local_phase();
  /// steps: that every origin takes.
  void local_worker(WorkList& origins, int wanted_lanes, std::int64_t steps);
  /// The local phase of origins [begin, end), as far as a repeated run's cut lets each of them.
  void search_around(std::int64_t begin, std::int64_t end);
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
  void adaptive_local(std::int64_t begin, std::int64_t end, std::int64_t steps);
  void adaptive_worker(Population& population, int worker, std::int64_t begin, std::int64_t end,
                       std::int64_t steps);
  /// After a step of all lanes, while the workers rest.
  static void learn(Population& population);
  /// After the last step of origins [first, last).
  void end_population(Population const& population, std::int64_t first, std::int64_t last);
  /// The margin method's local phase: waves of a frontier, whose origins and starts are numbered in
  /// the order in which they are taken.
  void frontier_phase();
  void new_frontier();
  /// Uniform inputs, but for what nothing may change: that is a seed's.
  Frontier::StartRow start_rows() const;
  /// The wave's lanes run -> wave_results_; meanwhile the frontier plans.
  void run_wave(Wave const& wave, std::int64_t first);
  /// Those that `members` hands out, so many at once, in a worker's block.
  void run_members(Wave const& wave, std::int64_t first, WorkList& members, std::int64_t most,
                   LaneBlock& block);
  /// Of so many lanes, those that a worker takes at once, at most `most`: few, where one comes
  /// late, as it plans before.
  std::int64_t together(std::int64_t lanes, int most) const;
  /// For the frontier's own work.
  int frontier_threads() const {
    return options_.threads > 0 ? options_.threads : backend_.concurrency();
  }
  /// Places members [begin, begin + count) of a wave whose first one has number `first`.
  void place_wave(Wave const& wave, std::int64_t first, LaneBlock& block, std::int64_t begin,
                  int count) const;
  /// What was placed, from start or origin `begin` on.
  void run_starts(LaneBlock& block, std::int64_t begin, WaveResults& results);
  void run_origins(LaneBlock& block, std::int64_t begin, WaveResults& results);
  Frontier::Size frontier_size() const;
  /// Tests that the frontier makes at most.
  std::int64_t frontier_tests() const;
  /// Ranks that share the search, and the numbers of [begin, end) that are one rank's.
  int ranks() const { return options_.ranks == nullptr ? 1 : options_.ranks->size(); }
  std::vector<WorkList::Range> ranges_of(int rank, std::int64_t begin, std::int64_t end) const;
  std::vector<WorkList::Range> wave_ranges_of(int rank, Wave const& wave) const;
  /// Marks those of other ranks.
  void leave_to_others(std::vector<std::uint8_t>& done, std::int64_t begin, std::int64_t end) const;
  /// What all ranks tell each other: their threads; what became of their seeds, of their origins
  /// in [begin, end), of their part of a wave.
  void share_threads();
  void share_seeds();
  void share_origins(std::int64_t begin, std::int64_t end);
  void share_wave(Wave const& wave, WaveResults& results);
  void cut_global();
  void cut_local(std::int64_t done);
  /// Tests that a seed takes at most: fewer than max_iter() where a repeated run's clock ended it.
  std::uint32_t tests_of(std::size_t seed) const {
    return seed_limits_.empty() ? max_iter() : std::min(max_iter(), seed_limits_[seed]);
  }
  void limit_seeds();
  /// Limits of a repeated run's origins; none where the clock ended the global phase.
  std::span<StepLimit const> origin_limits() const {
    if (!options_.replay) return {};
    return options_.replay->unfinished;
  }
  /// How far lanes have come that are on their way, for what the clock ends and for what is saved:
  /// never less than in an earlier session, whose visits count too.
  void note_seeds(LaneBlock const& block);
  void note_steps(std::int64_t origin, std::int64_t steps, std::uint32_t renewals);
  /// Origins after which the budgets of evaluations and instances are reached, -1 when the first
  /// `done` do not reach them; by which one.
  std::int64_t origins_for_budgets(std::int64_t done, char const*& reason);
  /// Origins after which the budget of instances is reached, -1 when the first `done` do not reach
  /// it.
  std::int64_t origins_for_instances(std::int64_t done);
  /// Same for the budget of iterations, of which so many are left for the local phase.
  std::int64_t origins_for_iterations(std::int64_t done) const;
  std::int64_t iterations_left() const;
  /// Same for the budget of model evaluations; what is left of it after so many origins; and how
  /// many more are worth searching at once.
  std::int64_t origins_for_evaluations(std::int64_t done) const;
  double evaluations_left(std::int64_t origins) const;
  std::int64_t evaluations_wave(std::int64_t done) const;
  /// Model evaluations that a seed's global phase takes by the method's definition, as if nothing
  /// were cached.
  double seed_evaluations(GlobalOutcome const& outcome) const;
  /// Same of so many steps of an origin's local phase, which renewed its gradients so many times.
  double origin_evaluations(std::int64_t steps, double renewals) const;
  double origin_evaluations(std::int64_t origin) const {
    auto const at = static_cast<std::size_t>(origin);
    return origin_evaluations(steps_[at], renewals_[at]);
  }
  void count() override;
  /// What was spent by each seed and each origin that counts.
  void list_legs();

  /// Between two rounds of a worker's block, of which note() writes how far its lanes have come;
  /// whether the time is over.
  template <class Note>
  bool between_rounds(Note const& note) {
    check_stop(note);
    if (job_.saves() && (workers_.rest_called() || job_.due())) {
      workers_.call_for_rest();
      note();
      workers_.rest([this] { job_.save_on_the_way(); });
      check_stop(note);
    }
    if (!job_.late()) return false;
    note();
    return true;
  }
  /// Ends a worker when the user wants it, or when another one has failed, which tells what
  /// happened.
  template <class Note>
  void check_stop(Note const& note) const {
    bool const failed = workers_.failed();
    if (!failed && !job_.stopped()) return;
    note();
    if (failed) throw Error(ExitCode::kStopped, "another worker has failed");
    job_.check_stop();
  }
  void report(std::int64_t done, std::int64_t iterations) const {
    if (options_.progress == nullptr) return;
    options_.progress->done.fetch_add(done, std::memory_order_relaxed);
    options_.progress->iterations.fetch_add(iterations, std::memory_order_relaxed);
    options_.progress->found(static_cast<std::int64_t>(backend_.instances()));
  }
  std::uint32_t max_iter() const {
    return tests_once() ? 1 : static_cast<std::uint32_t>(config_.global.max_iter);
  }
  bool adaptive() const { return method_.kind == SearchKind::kAdaptive; }
  /// The global phase tests every seed without a step: what follows finds its own way.
  bool tests_once() const { return adaptive() || method_.frontier; }
  /// Model evaluations of one gradient at one point. A scorer has differences in its place.
  double gradient_cost() const {
    return gradients_differ() ? 1.0 + backend_.subject().get().movable_count
                              : method_.gradient_cost(attributes_);
  }
  bool gradients_differ() const {
    return method_.gradient == GradientKind::kMargin &&
           backend_.subject().get().network.layers == 0;
  }
  double variants() const { return backend_.subject().get().variants; }
  /// Tests of one input after which a budget of model evaluations is reached.
  std::int64_t tests_within(std::int64_t evaluations) const {
    std::int64_t const each = backend_.subject().get().variants;
    return evaluations / each + (evaluations % each != 0 ? 1 : 0);
  }
  StepAdaptation new_adaptation() const {
    return {method_, backend_.subject().get().movable_count,
            static_cast<std::int32_t>(config_.local.step)};
  }

  MethodSpec const& method_;
  int attributes_;
  /// Number under which the visits of a local search's origin are recorded.
  std::uint32_t origin_seed(std::int64_t origin) const {
    return method_.frontier ? static_cast<std::uint32_t>(origin)
                            : origins_.seed[static_cast<std::size_t>(origin)];
  }

  Workers workers_;
  std::vector<GlobalHits> hits_;  // [workers]
  GlobalHits origins_;            // starting points of the local phase: distinct hits by least seed
  std::vector<std::uint8_t> global_done_;     // [seeds]
  std::vector<std::uint8_t> local_done_;      // [origins]
  std::vector<std::uint32_t> steps_;          // [origins] taken
  std::vector<std::uint32_t> renewals_;       // [origins]
  std::vector<std::uint32_t> seed_limits_;    // [seeds] of a repeated run; empty: none
  std::optional<StepAdaptation> adaptation_;  // AEQUITAS: after the last population that is done
  std::optional<Frontier> frontier_;          // margin: between two waves, or with one on its way
  std::vector<std::unique_ptr<LaneBlock>> wave_blocks_;  // [workers]
  WaveResults wave_results_;
  int threads_of_all_ = 1;          // of all ranks
  std::int64_t local_counted_ = 0;  // origins that count
  bool fails_midway_ = false;       // in a round, of which some visits were made
};

}  // namespace fairlane
