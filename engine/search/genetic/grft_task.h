// The search of GRFT: a file for each phase, one for the rest.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/threads/thread_pool.h"
#include "engine/search/genetic/grft_operators.h"
#include "engine/search/genetic/grft_tester.h"
#include "engine/search/search_task.h"

namespace fairlane {

/// One search on its way; see grft_search().
class GrftSearch : public SearchTask {
 public:
  GrftSearch(RunConfig const& config, SeedSource const& seeds, Backend& backend,
             SearchOptions const& options);

 private:
  static constexpr char const* kClock = "seconds";  // the budget
  static constexpr std::int64_t kPopulation = kGrftPopulation;

  void search() override;
  void count() override;
  void write_state(CheckpointWriter& state) override;
  void read_state(CheckpointReader const& state) override;
  std::string done() const override;
  /// A round that has failed has made visits which the clock might later not count.
  bool can_save() const override { return !fails_midway_; }

  /// Seeds on their way, ascending, and their populations.
  /// rows  [seeds][kPopulation][attributes]
  struct Wave {
    std::vector<std::uint32_t> seeds;
    std::vector<std::int32_t> rows;
  };
  void global_phase();
  void start_seeds(std::int64_t end);
  void run_generation();
  /// Tested populations whose seeds go on. hits [wave][kPopulation]
  Wave survivors(std::span<std::uint8_t const> hits) const;
  /// Rows of the next generation.
  std::vector<std::int32_t> bred(Wave const& wave);
  /// What a population's test means to its seed.
  void take_outcome(std::size_t population, std::uint8_t const* hits);
  /// Seeds that make so many tests together; one more than there are where they make fewer.
  std::int64_t seeds_with(std::int64_t tests) const;
  void cut_global();
  /// Only so many seeds count, and no origin.
  void end_behind(std::int64_t seeds);
  void collect_origins();

  /// Origins that count, and which budget leaves others out; empty: none does.
  struct End {
    std::int64_t origins = 0;
    char const* reason = "";
  };
  void local_phase();
  /// Where what is known beforehand ends the phase.
  End known_end() const;
  /// Whether the clock has ended them.
  bool run_origins(std::int64_t end);
  void start_origins(std::int64_t end);
  void take_step();
  /// Where the origins on their way get to by a step. rows [wave][attributes]
  std::vector<std::int32_t> stepped_rows(std::size_t stepped, std::int64_t by);
  /// Origins behind which the budget of instances is reached, -1 where it is not.
  std::int64_t origins_for_instances();
  void cut_local(End const& end);

  /// Between two rounds: stops, saves, and tells whether the time is over.
  bool between_rounds();
  void report(std::int64_t ended, std::int64_t tests);
  /// Calls work(first, count) for pieces of [0, count) on all threads.
  template <class Work>
  void in_parallel(std::int64_t count, std::int64_t piece, Work const& work) {
    pool_.share(threads_, 0, count, piece,
                [&](int, std::int64_t first, std::int64_t n) { work(first, n); });
  }

  std::int64_t variants() const { return backend_.subject().get().variants; }
  std::int64_t seeds_begun() const { return static_cast<std::int64_t>(result_.global.size()); }
  std::int64_t origins() const { return static_cast<std::int64_t>(origin_seeds_.size()); }
  std::int64_t origins_begun() const { return static_cast<std::int64_t>(steps_.size()); }
  /// Origins on their way, the last ones begun.
  std::int64_t wave_origins() const {
    return static_cast<std::int64_t>(points_.size() / places_.count());
  }
  /// Rows that a wave tests at once.
  std::int64_t rows_at_once(std::int64_t todo) const {
    return static_cast<std::int64_t>(backend_.concurrency()) * backend_.block_lanes(todo);
  }
  std::int64_t tests() const {
    std::int64_t tests = 0;
    for (auto const& outcome : result_.global) tests += outcome.iterations;
    return tests;
  }
  /// Tests of a seed at most: fewer where a repeated run's clock ended it.
  std::int64_t most_tests(std::int64_t seed) const;
  /// Steps of an origin at most, the same.
  std::int64_t most_steps(std::int64_t origin) const {
    return common_limit(local_limits(), origin, origin + 1, config_.local.num).steps;
  }
  static std::int64_t divided_up(std::int64_t total, std::int64_t by) {
    return total / by + (total % by != 0 ? 1 : 0);
  }
  bool has_instances() const {
    auto const& budget = config_.budget.instances;
    return budget && static_cast<std::int64_t>(backend_.instances()) >= *budget;
  }
  bool repeats_local() const { return options_.replay && options_.replay->local_seeds >= 0; }
  bool repeats_global() const { return options_.replay && options_.replay->local_seeds == 0; }
  std::span<StepLimit const> local_limits() const {
    if (!options_.replay) return {};
    return options_.replay->unfinished;
  }

  std::size_t attributes_;
  int threads_;
  MovablePlaces places_;
  ThreadPool pool_;
  GrftTester global_tests_;
  GrftTester local_tests_;

  std::int64_t tests_budget_ = std::numeric_limits<std::int64_t>::max();  // of both phases
  char const* tests_reason_ = "";                                         // what limits them
  Wave wave_;                                                             // not tested yet
  std::vector<std::uint32_t> hit_seeds_;                                  // [hits]
  std::vector<std::int32_t> hit_rows_;                                    // [hits][attributes]
  std::vector<std::uint32_t> origin_seeds_;  // [origins] the first to meet each, ascending
  std::vector<std::int32_t> origin_rows_;    // [origins][attributes] distinct
  std::vector<std::uint32_t> steps_;         // [origins begun] taken
  std::vector<std::int64_t> points_;         // [origins on their way][movable] places, also outside
  bool fails_midway_ = false;                // in a round, of which some visits were made
};

}  // namespace fairlane
