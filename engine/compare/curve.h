// What a trial had found after how many model evaluations.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/record/findings.h"
#include "engine/search/search.h"

namespace fairlane {

/// Points of a curve, at equal parts of the budget.
inline constexpr int kCurvePoints = 20;

/// A trial's way to what it found. A point is where a budget of that part ends the trial: behind
/// the first leg by which as much is spent, or the last one.
/// evaluations, unique_groups, unique_instances  [kCurvePoints] spent and found by then
/// first_evaluations                             spent when the first IDI was found; -1: none was
struct Curve {
  std::vector<std::int64_t> evaluations;
  std::vector<std::int64_t> unique_groups;
  std::vector<std::int64_t> unique_instances;
  std::int64_t first_evaluations = -1;
};

/// The legs of a trial's rounds, one round after the other.
class Course {
 public:
  /// legs: by finder; their evaluations go on from those of the rounds before
  void add_round(std::span<Leg const> legs);
  /// Model evaluations of all rounds.
  std::int64_t spent() const { return ends_.empty() ? 0 : ends_.back(); }
  /// Those by which the last round's `finder` had made its visit. Throws Error(kBug) for one before
  /// all legs.
  std::int64_t spent_by(std::uint64_t finder) const;
  /// The trial's curve. Throws Error.
  /// budget    of model evaluations: what the last point has
  /// spent_by  what a finder of the findings stands for
  Curve curve(Findings const& findings, std::int64_t budget, Findings::Order const& spent_by) const;

 private:
  std::vector<Leg> round_;          // the last one's, with the evaluations of the trial
  std::vector<std::int64_t> ends_;  // of all legs, ascending
};

}  // namespace fairlane
