// How much a wave of the margin method spends on each of its origins: whether gradients are worth
// their evaluations, and how many moves are tested.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/core/lattice.h"

namespace fairlane {

/// What each origin of a wave gets. gradients: of its members' margins; trials: at most
struct OriginEffort {
  bool gradients = true;
  int trials = kUsualTrials;
};

/// What the origins of a wave have spent and brought.
/// tests, found  [trials] by rank, most promising moves first: tests, and new IDIs that they met
struct EffortResult {
  double evaluations = 0.0;
  std::array<double, kMostTrials> tests{};
  std::array<double, kMostTrials> found{};
};

/// Learns from wave to wave: gradients are taken where that brings more IDIs an evaluation, and the
/// last test of an origin should bring as many as an origin does on average.
class SearchEffort {
 public:
  /// skips_gradients: waves without them are tried, too
  explicit SearchEffort(bool skips_gradients) : skips_gradients_(skips_gradients) {}

  OriginEffort of_wave(std::uint32_t number) const;
  /// New IDIs an evaluation of recent waves; 0 where there were none.
  double rate() const { return std::max(arms_[0].rate(), arms_[1].rate()); }
  void learn(OriginEffort effort, EffortResult const& result, double test_evaluations);

  /// What is to be saved, and back.
  std::vector<double> state() const;
  void restore(std::span<double const> state);

 private:
  /// Waves with or without gradients; the most recent ones weigh most. spent: evaluations of all
  struct Arm {
    double trials = kUsualTrials;
    double evaluations = 0.0;
    double found = 0.0;
    double spent = 0.0;
    double rate() const { return evaluations > 0.0 ? found / evaluations : 0.0; }
  };
  Arm& arm_of(bool gradients) { return arms_[gradients ? 0 : 1]; }

  bool skips_gradients_;
  std::array<Arm, 2> arms_;
};

}  // namespace fairlane
