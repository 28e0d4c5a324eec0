// The tests of one origin, chosen by a team: as many moves as it has threads are predicted at once,
// and the promising ones are ranked one after the other, as plan_trials does it.
#pragma once

#include "kernels/core/bits.h"
#include "kernels/core/trial_plan.h"

namespace fairlane {

/// Working memory of a team's choice.
/// plan         the moves so far are in one of them, the next ones in the other
/// order, hash  [kMostTaken] of the moves that were predicted together
/// columns      what moves ask of the origin's
struct TrialBoard {
  static constexpr int kMostTaken = 32;

  TrialPlan plan[2];
  std::uint64_t order[kMostTaken];
  std::uint64_t hash[kMostTaken];

  FL_HD KeptColumns<ScalarPack> columns() {
    return KeptColumns<ScalarPack>(reinterpret_cast<std::int32_t*>(this + 1));
  }
  static constexpr FL_HD std::size_t bytes(int columns) {
    constexpr std::size_t kAligned = 16;
    auto const words = static_cast<std::size_t>(KeptColumns<ScalarPack>::words(columns));
    std::size_t const used = sizeof(TrialBoard) + words * sizeof(std::int32_t);
    return (used + kAligned - 1) / kAligned * kAligned;
  }
};

namespace detail {

/// Predicts draw d; where it may be among the best, its order and hash are at place i of the board.
/// Whether it may.
FL_HD bool predict_trial(Subject const& s, MoveTable const& table, PlanLanes const& lanes,
                         long lane, int d, float worst, TrialBoard& board, int i) {
  MoveDraw const draw = table.draws[d];
  MovePrediction<ScalarPack, KeptColumns<ScalarPack>> const prediction(s, lanes, lane,
                                                                       board.columns());
  LatticeMove<ScalarPack> const move = prediction.move(draw);
  std::int32_t const move_class = prediction.class_of(draw, move.solved, move.least, move.moved);
  float const rate = table.rate[move_class] * draw.weight;
  if (!move.near || move_class < kMoveCentres || !(rate > worst)) return false;
  if (s.feasible.finding_rules > 0 && !prediction.may_find(draw, move.solved)) return false;
  std::uint64_t const group = hash_after(lanes, draw, KeyChange(lanes, draw, 0), move.solved, lane);
  if (table.tested.has(group)) return false;
  board.order[i] = TrialPlan::order_of(rate, TrialWord::pack(d, move.solved, move_class));
  board.hash[i] = group;
  return true;
}

}  // namespace detail

/// plan_trials for one lane by a team (kernels/device/rounds/round_kernels.h). board: with memory
/// behind it
template <class Team>
FL_HOST_DEVICE void plan_trials_together(Team const& team, Subject const& s, MoveTable const& table,
                                         PlanLanes const& lanes, long lane, TrialBoard& board) {
  static_assert(Team::kTake <= TrialBoard::kMostTaken && kMostTrials <= Team::kTake);
  LaneColumns<ScalarPack> const columns{s, lanes, lane};
  constexpr int kLeast = KeptColumns<ScalarPack>::kLeast;
  team.each(s.columns - kLeast,
            [&](int i) { board.columns().keep(i + kLeast, columns(i + kLeast)); });
  team.each(kMostTrials, [&](int t) {
    for (TrialPlan& plan : board.plan) plan.clear(t);
  });
  int now = 0;
  for (int at = 0; at < table.count; at += Team::kTake) {
    team.sync();  // a thread may still read what others would write
    float const worst = board.plan[now].worst(table.trials);
    if (!(table.draws[at].bound > worst)) break;
    int const n = table.count - at < Team::kTake ? table.count - at : Team::kTake;
    std::uint32_t promising = team.which(n, [&](int i) {
      return detail::predict_trial(s, table, lanes, lane, at + i, worst, board, i);
    });
    for (; promising != 0; promising &= promising - 1) {
      int const i = lowest_bit(promising);
      std::uint64_t const order = board.order[i];
      std::uint64_t const group = board.hash[i];
      TrialPlan const& from = board.plan[now];
      TrialPlan& to = board.plan[1 - now];
      if (order < from.order[table.trials - 1]) continue;
      if (team.which(kMostTrials, [&](int t) { return from.hash[t] == group; }) != 0) continue;
      auto const ahead = team.which(table.trials, [&](int t) { return from.order[t] > order; });
      int const place = static_cast<int>(pop_count(std::uint32_t{ahead}));
      team.each(table.trials, [&](int t) {
        to.order[t] = t == place ? order : from.order[t < place ? t : t - 1];
        to.hash[t] = t == place ? group : from.hash[t < place ? t : t - 1];
      });
      now = 1 - now;
    }
  }
  team.each(table.trials, [&](int t) {
    lanes.trial[t * lanes.trial_stride + lane] = board.plan[now].trial(t);
    lanes.trial_hash[t * lanes.trial_stride + lane] = board.plan[now].high_bits(t);
  });
}

}  // namespace fairlane
