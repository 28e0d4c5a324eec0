// The order of the phases, and what all of them count.
#include "engine/search/lockstep/lockstep_search.h"

namespace fairlane {

void LockstepSearch::search() {
  if (method_.kind == SearchKind::kRandom) return random_phase();
  share_threads();
  try {
    global_phase();
    cut_global();
    if (result_.cut.local_seeds == 0 || config_.local.num == 0) return;
    if (method_.frontier) {
      frontier_phase();
    } else {
      local_phase();
    }
  } catch (Error const& error) {
    fails_midway_ = config_.budget.seconds && is_model_failure(error);
    throw;
  }
}

double LockstepSearch::seed_evaluations(GlobalOutcome const& outcome) const {
  double const tests = outcome.iterations;
  bool const cut = outcome.iterations < max_iter();  // by the clock
  bool const stepped_last = !outcome.found && (method_.steps_after_last_test || cut);
  double const steps = tests == 0.0 || stepped_last ? tests : tests - 1.0;
  return tests * variants() + steps * 2.0 * gradient_cost();
}

double LockstepSearch::origin_evaluations(std::int64_t steps, double renewals) const {
  if (steps == 0) return 0.0;
  double const pair = 2.0 * gradient_cost();
  if (method_.frontier)
    return frontier_size().evaluations(1.0, static_cast<double>(steps), renewals > 0.0);
  double evaluations = static_cast<double>(steps) * variants() + renewals * pair;
  if (method_.begins_with_partner) evaluations += variants();
  if (method_.begins_with_gradients) evaluations += pair;
  return evaluations;
}

void LockstepSearch::count() {
  if (options_.legs) list_legs();
  auto& c = result_.counts;
  c.global_seeds = static_cast<std::int64_t>(result_.global.size());
  double evaluations = 0.0;
  std::int64_t tests = 0;
  for (auto const& outcome : result_.global) {
    c.global_found += outcome.found ? 1 : 0;
    tests += outcome.iterations;
    evaluations += seed_evaluations(outcome);
  }
  if (method_.kind == SearchKind::kRandom) {
    c.global_seeds = c.iterations;
    c.global_unique = c.global_found;
    c.model_evaluations = static_cast<std::int64_t>(static_cast<double>(c.iterations) * variants());
    return;
  }
  c.global_unique = static_cast<std::int64_t>(origins_.seed.size());
  c.iterations = tests;
  for (std::int64_t i = 0; i < local_counted_; ++i) {
    c.iterations += steps_[static_cast<std::size_t>(i)];
    evaluations += origin_evaluations(i);
  }
  c.model_evaluations = static_cast<std::int64_t>(evaluations);
}

void LockstepSearch::list_legs() {
  double spent = 0.0;
  auto const add = [&](Phase phase, std::uint32_t seed, double evaluations) {
    spent += evaluations;
    result_.legs.push_back({Finder::pack(phase, seed, 0), static_cast<std::int64_t>(spent)});
  };
  bool const only_tests = method_.kind == SearchKind::kRandom;
  for (std::size_t s = 0; s < result_.global.size(); ++s) {
    GlobalOutcome const& seed = result_.global[s];
    if (seed.iterations == 0) continue;  // a draw that was drawn before
    add(Phase::kGlobal, static_cast<std::uint32_t>(s),
        only_tests ? variants() : seed_evaluations(seed));
  }
  for (std::int64_t i = 0; i < local_counted_; ++i)
    add(Phase::kLocal, origin_seed(i), origin_evaluations(i));
}

}  // namespace fairlane
