// Rounds of a local search for a window of lanes that one team takes through them: a warp on a GPU,
// a loop on the host. The state lies in device memory as between the kernels of a single round;
// what each stage does is kernels/rounds' and kernels/device/record_kernels.h's.
//
// Lanes are independent, so none waits for another's round: each stands before a stage, and the
// team takes as many as it has threads through one stage after the other. The results are those of
// rounds in lockstep, whatever the order.
#pragma once

#include "kernels/core/member_logits.h"
#include "kernels/device/record_kernels.h"
#include "kernels/device/tile_kernels.h"
#include "kernels/lane_block.h"

namespace fairlane {

/// What a lane stands before.
enum class Stage : std::uint8_t {
  kResting,   // its rounds are over
  kStale,     // new partner and weights
  kReady,     // a step
  kUnknown,   // the evaluation of its group
};
inline constexpr int kWorkStages = 3;  // those that are work
FL_HD Stage work_stage(int k) { return static_cast<Stage>(static_cast<int>(Stage::kStale) + k); }

/// A team's lanes.
/// lane    the first one; count: how many
/// place   the first of the team's places in the arrays over places, kTake of them
/// stage   [count] what each stands before; left [count]: rounds that it still begins
struct Window {
  long lane = 0;
  int count = 0;
  long place = 0;
  Stage* stage = nullptr;
  std::uint16_t* left = nullptr;
};

/// A team
/// kTake                 lanes that it takes through a stage together
/// each(n, work)         work(i) for i in [0, n), all done on return
/// count(window, of)     of [kWorkStages]: lanes before each stage, from kStale on
/// take(window, stage, list)  lists up to kTake of the window's lanes before that stage, ascending;
///                       returns how many

/// Takes the lanes of a window through rounds of the gradient-guided search. Labels are kept in the record, and no output is undefined.
/// Gradient: GradientTiles or DifferenceTiles.
template <class Gradient>
struct WeightedRounds {
  static constexpr ScratchNeeds kNeeds = Gradient::kNeeds;
  RecordContext c;
  WeightedStep how;
  std::uint16_t rounds;

  template <Pack P, int kM, class Team>
  FL_HOST_DEVICE void operator()(Team const& team, Subject const& s, Window const& w,
                                 float* scratch) const {
    team.each(w.count, [&](int i) {
      w.left[i] = rounds;
      w.stage[i] = next_round(w, w.lane + i);
    });
    for (;;) {
      int waiting[kWorkStages];
      team.count(w, waiting);
      Stage const stage = fullest(waiting);
      if (stage == Stage::kResting) return;
      int const n = team.take(w, stage, c.lanes.list + w.place);
      if (stage == Stage::kStale) renew<P>(team, s, w, n, scratch);
      if (stage == Stage::kReady) step(team, w, n);
      if (stage == Stage::kUnknown) classify<P, kM>(team, s, w, n, scratch);
    }
  }

 private:
  /// The stage before which most lanes stand.
  static FL_HD Stage fullest(int const (&waiting)[kWorkStages]) {
    int best = 0;
    for (int k = 1; k < kWorkStages; ++k) {
      if (waiting[k] > waiting[best]) best = k;
    }
    return waiting[best] == 0 ? Stage::kResting : work_stage(best);
  }

  /// Begins a lane's next round.
  FL_HD Stage next_round(Window const& w, long lane) const {
    auto const& l = c.lanes;
    std::uint16_t& left = w.left[lane - w.lane];
    if (left == 0) return Stage::kResting;
    --left;
    ++l.iteration[lane];
    auto const streak = static_cast<std::uint32_t>(l.streak[lane]);
    return !how.never_update && streak >= how.update_interval ? Stage::kStale : Stage::kReady;
  }
  FL_HD Stage end_round(Window const& w, long lane) const {
    SettleLanes{c, !how.never_update}(lane);
    return next_round(w, lane);
  }
  static FL_HD Stage& stage_of(Window const& w, long lane) { return w.stage[lane - w.lane]; }

  template <Pack P, class Team>
  FL_HOST_DEVICE void renew(Team const& team, Subject const& s, Window const& w, int n,
                            float* scratch) const {
    auto const& l = c.lanes;
    team.each(n, [&](int i) {
      DrawPartners{c}(w.place + i);
      PairRows{c, l.list, nullptr, l.chosen, l.stride}(w.place + i);
    });
    Scratch const m = lay_out_scratch(s, kNeeds, 2 * P::kLanes, scratch);
    Gradient const gradient{how.gradient, l.rows, 2 * l.stride, l.gradient};
    for (int at = 0; at < n; at += P::kLanes) gradient.template pair<P>(s, w.place + at, m);
    team.each(n, [&](int i) {
      WeighLanes{c, l.list, how.epsilon, false, l.stride}(w.place + i);
      stage_of(w, l.list[w.place + i]) = Stage::kReady;
    });
  }

  template <class Team>
  FL_HOST_DEVICE void step(Team const& team, Window const& w, int n) const {
    auto const& l = c.lanes;
    team.each(n, [&](int i) {
      long const lane = l.list[w.place + i];
      StepLanes{c, how.step}(lane);
      stage_of(w, lane) = l.mark[lane] != 0 ? Stage::kUnknown : end_round(w, lane);
    });
  }

  template <Pack P, int kM, class Team>
  FL_HOST_DEVICE void classify(Team const& team, Subject const& s, Window const& w, int n,
                               float* scratch) const {
    auto const& l = c.lanes;
    team.each(n, [&](int i) { GatherRows{c}(w.place + i); });
    MemberScratch m;
    lay_out_members(s, kM, P::kLanes, scratch, m);
    MemberLogits<P, kM> const logits{s, m, l.rows + w.place, 2 * l.stride};
    LaneTiles<P, 1>::classify_by(s, logits, n, l.found_labels + w.place, l.found_flags + w.place);
    team.each(n, [&](int i) {
      RecordClassified{c, false}(w.place + i);
      long const lane = l.list[w.place + i];
      stage_of(w, lane) = end_round(w, lane);
    });
  }
};

/// Takes the lanes of a window through rounds of the margin method, one round after the other, since
/// every lane is evaluated in every round.
struct MarginRounds {
  static constexpr ScratchNeeds kNeeds = GradientTiles::kNeeds;
  RecordContext c;
  MarginLanes m;
  std::int32_t step;
  std::uint16_t rounds;

  template <Pack P, int kM, class Team>
  FL_HOST_DEVICE void operator()(Team const& team, Subject const& s, Window const& w,
                                 float* scratch) const {
    auto const& l = c.lanes;
    for (int round = 0; round < rounds; ++round) {
      team.each(w.count, [&](int i) {
        MarkStale{c, m}(w.lane + i);
        w.stage[i] = l.mark[w.lane + i] != 0 ? Stage::kStale : Stage::kReady;
      });
      while (int const n = team.take(w, Stage::kStale, l.list + w.place))
        renew<P>(team, s, w, n, scratch);
      team.each(w.count, [&](int i) { MoveMargin{c, m, step}(w.lane + i); });
      MemberScratch memory;
      lay_out_members(s, kM, P::kLanes, scratch, memory);
      MemberLogits<P, kM> const logits{s, memory, l.x + w.lane, l.stride, l.variant + w.lane};
      LaneTiles<P, 1>::margins_by(s, logits, w.count, m.probe.from(w.lane));
      team.each(w.count, [&](int i) { SettleMargin{c, m}(w.lane + i); });
    }
  }

 private:
  template <Pack P, class Team>
  FL_HOST_DEVICE void renew(Team const& team, Subject const& s, Window const& w, int n,
                            float* scratch) const {
    auto const& l = c.lanes;
    team.each(n, [&](int i) {
      PairSides{c, m}(w.place + i);
      PairRows{c, l.list, l.chosen, l.second, l.stride}(w.place + i);
    });
    Scratch const memory = lay_out_scratch(s, kNeeds, 2 * P::kLanes, scratch);
    GradientTiles const gradient{
        {GradientKind::kMargin, 1.0F}, l.rows, 2 * l.stride, l.gradient};
    for (int at = 0; at < n; at += P::kLanes) gradient.pair<P>(s, w.place + at, memory);
    team.each(n, [&](int i) {
      RenewMargin{c, m, true, l.stride}(w.place + i);
      w.stage[l.list[w.place + i] - w.lane] = Stage::kReady;
    });
  }
};

}  // namespace fairlane
