#include "engine/search/lockstep/search_effort.h"

#include <algorithm>
#include <cmath>

namespace fairlane {

namespace {

constexpr double kRemembered = 0.9;  // of what a wave has told, in the next one
constexpr double kLeastTrials = 4.0;
constexpr double kStepShare = 0.125;      // by which the number of trials changes at once
constexpr double kTrialShare = 1.0 / 64;  // of all evaluations, for the other kind, to compare

}  // namespace

OriginEffort SearchEffort::of_wave(std::uint32_t number) const {
  bool gradients = true;
  if (skips_gradients_) {
    bool const known = arms_[0].evaluations > 0.0 && arms_[1].evaluations > 0.0;
    gradients = known ? arms_[0].rate() >= arms_[1].rate() : number % 2 == 1;
    Arm const& other = arms_[gradients ? 1 : 0];
    if (known && other.spent < kTrialShare * (arms_[0].spent + arms_[1].spent))
      gradients = !gradients;
  }
  return {gradients, static_cast<int>(std::lround(arms_[gradients ? 0 : 1].trials))};
}

void SearchEffort::learn(OriginEffort effort, EffortResult const& result, double test_evaluations) {
  if (result.evaluations == 0.0) return;
  Arm& arm = arm_of(effort.gradients);
  arm.evaluations = kRemembered * arm.evaluations + result.evaluations;
  arm.spent += result.evaluations;
  arm.found *= kRemembered;
  double tests = 0.0;
  double found = 0.0;
  for (int rank = 0; rank < effort.trials; ++rank) {
    auto const at = static_cast<std::size_t>(rank);
    arm.found += result.found[at];
    if (rank < effort.trials - effort.trials / 4) continue;
    tests += result.tests[at];
    found += result.found[at];
  }
  if (tests == 0.0) return;
  double const step = std::max(1.0, kStepShare * arm.trials);
  bool const pays = found / (tests * test_evaluations) > arm.rate();
  arm.trials = std::clamp(arm.trials + (pays ? step : -step), kLeastTrials, double{kMostTrials});
}

std::vector<double> SearchEffort::state() const {
  std::vector<double> state;
  for (Arm const& arm : arms_) {
    state.insert(state.end(), {arm.trials, arm.evaluations, arm.found, arm.spent});
  }
  return state;
}

void SearchEffort::restore(std::span<double const> state) {
  for (std::size_t a = 0; a < arms_.size(); ++a)
    arms_[a] = {state[4 * a], state[4 * a + 1], state[4 * a + 2], state[4 * a + 3]};
}

}  // namespace fairlane
