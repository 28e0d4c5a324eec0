#include "engine/search/genetic/grft_search.h"

#include <fmt/format.h>

#include "engine/search/genetic/grft_task.h"

namespace fairlane {
namespace {

// Sections of the state, beside the visits.
constexpr char const* kGrftTests = "seed.tests";        // uint32 [seeds begun]
constexpr char const* kGrftLastRows = "seed.last_row";  // int32 [seeds begun][attributes], tracing
constexpr char const* kGrftHitSeeds = "hit.seed";       // uint32 [hits]
constexpr char const* kGrftHitRows = "hit.row";         // int32 [hits][attributes]
constexpr char const* kGrftWaveSeeds = "wave.seed";     // uint32 [populations on their way]
constexpr char const* kGrftWaveRows = "wave.row";   // int32 [the same][kGrftPopulation][attributes]
constexpr char const* kGrftSteps = "origin.steps";  // uint32 [origins begun]
constexpr char const* kGrftPoints = "origin.point";  // int64 [origins on their way][movable]

}  // namespace

GrftSearch::GrftSearch(RunConfig const& config, SeedSource const& seeds, Backend& backend,
                       SearchOptions const& options)
    : SearchTask(config, seeds, backend, options),
      attributes_(static_cast<std::size_t>(backend.subject().get().columns)),
      threads_(options.threads > 0 ? options.threads : backend.concurrency()),
      places_(backend.subject()),
      global_tests_(backend, Phase::kGlobal),
      local_tests_(backend, Phase::kLocal) {
  auto const limit = [&](std::int64_t tests, char const* reason) {
    if (tests >= tests_budget_) return;
    tests_budget_ = tests;
    tests_reason_ = reason;
  };
  if (config.budget.iterations) limit(*config.budget.iterations, "iterations");
  if (config.budget.evaluations)
    limit(divided_up(*config.budget.evaluations, variants()), "evaluations");
}

void GrftSearch::search() {
  try {
    global_phase();
    cut_global();
    if (result_.cut.local_seeds != 0 && config_.local.num > 0) local_phase();
  } catch (Error const& error) {
    fails_midway_ = config_.budget.seconds && is_model_failure(error);
    throw;
  }
}

bool GrftSearch::between_rounds() {
  job_.check_stop();
  if (job_.saves() && job_.due()) job_.save_on_the_way();
  return job_.late();
}

void GrftSearch::report(std::int64_t ended, std::int64_t tests) {
  if (options_.progress == nullptr) return;
  options_.progress->done += ended;
  options_.progress->iterations += tests;
  options_.progress->found(static_cast<std::int64_t>(backend_.instances()));
}

void GrftSearch::count() {
  auto& counts = result_.counts;
  auto const add = [&](std::uint64_t finder, std::int64_t tests) {
    counts.iterations += tests;
    counts.model_evaluations += tests * variants();
    if (options_.legs) result_.legs.push_back({finder, counts.model_evaluations});
  };
  counts.global_seeds = seeds_begun();
  counts.global_unique = origins();
  for (std::size_t s = 0; s < result_.global.size(); ++s) {
    counts.global_found += result_.global[s].found ? 1 : 0;
    add(Finder::pack(Phase::kGlobal, static_cast<std::uint32_t>(s), 0),
        result_.global[s].iterations);
  }
  std::int64_t const cut = result_.cut.local_seeds;
  std::int64_t const counted = cut >= 0 ? std::min(cut, origins_begun()) : origins_begun();
  for (std::int64_t i = 0; i < counted; ++i)
    add(Finder::pack(Phase::kLocal, static_cast<std::uint32_t>(i), 0),
        steps_[static_cast<std::size_t>(i)]);
}

std::string GrftSearch::done() const {
  if (!steps_.empty()) {
    return fmt::format("{} of {} origins", origins_begun() - wave_origins(), origins());
  }
  return fmt::format("{} of {} seeds",
                     seeds_begun() - static_cast<std::int64_t>(wave_.seeds.size()), seeds_.count());
}

void GrftSearch::write_state(CheckpointWriter& state) {
  std::vector<std::uint32_t> tests;
  for (auto const& outcome : result_.global) tests.push_back(outcome.iterations);
  state.add(kGrftTests, tests);
  state.add(kGrftLastRows, result_.last_rows);
  state.add(kGrftHitSeeds, hit_seeds_);
  state.add(kGrftHitRows, hit_rows_);
  state.add(kGrftWaveSeeds, wave_.seeds);
  state.add(kGrftWaveRows, wave_.rows);
  state.add(kGrftSteps, steps_);
  state.add(kGrftPoints, points_);
  write_visits(state);
}

void GrftSearch::read_state(CheckpointReader const& state) {
  for (std::uint32_t const tests : state.values<std::uint32_t>(kGrftTests))
    result_.global.push_back({false, tests});
  result_.last_rows = state.values<std::int32_t>(kGrftLastRows);
  hit_seeds_ = state.values<std::uint32_t>(kGrftHitSeeds);
  for (std::uint32_t const seed : hit_seeds_) result_.global.at(seed).found = true;
  hit_rows_ = state.values<std::int32_t>(kGrftHitRows);
  wave_.seeds = state.values<std::uint32_t>(kGrftWaveSeeds);
  wave_.rows = state.values<std::int32_t>(kGrftWaveRows);
  steps_ = state.values<std::uint32_t>(kGrftSteps);
  points_ = state.values<std::int64_t>(kGrftPoints);
  read_visits(state);
}

SearchResult grft_search(RunConfig const& config, SeedSource const& seeds, Backend& backend,
                         SearchOptions const& options) {
  return GrftSearch(config, seeds, backend, options).run();
}

}  // namespace fairlane
