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
#include "kernels/rounds/window.h"

namespace fairlane {

// A team has
//   kTake                  lanes that it takes through a stage together
//   each(n, work)          work(i) for i in [0, n); all is done on return
//   count(window, of)      of [kWorkStages]: lanes before each stage that is work
//   take(window, stage)    lists up to kTake of the window's lanes before that stage in its list;
//                          returns how many

/// Takes the lanes of a window through rounds of the gradient-guided search. Labels are kept in the
/// record, and no output is undefined.
/// Gradient: GradientTiles or DifferenceTiles.
template <class Gradient>
struct WeightedRounds {
  static constexpr ScratchNeeds kNeeds = Gradient::kNeeds;
  RecordContext c;
  WeightedStep how;
  std::uint16_t rounds;

  template <Pack P, int kM, class Team>
  FL_HOST_DEVICE void operator()(Team const& team, Subject const& s, Window& w,
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
      int const n = team.take(w, stage);
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
  FL_HD void end_round(Window const& w, long lane, bool hit) const {
    settle(c, lane, hit, !how.never_update);
    stage_of(w, lane) = next_round(w, lane);
  }
  static FL_HD Stage& stage_of(Window const& w, long lane) { return w.stage[lane - w.lane]; }

  template <Pack P, class Team>
  FL_HOST_DEVICE void renew(Team const& team, Subject const& s, Window const& w, int n,
                            float* scratch) const {
    auto const& l = c.lanes;
    team.each(n, [&](int i) {
      long const lane = w.list[i];
      gather_pair(c, w.place + i, lane, -1, draw_partner(c, lane, c.draw(lane, 0).w[2]), l.stride);
    });
    Scratch const m = lay_out_scratch(s, kNeeds, 2 * P::kLanes, scratch);
    Gradient const gradient{how.gradient, l.rows, 2 * l.stride, l.gradient};
    for (int at = 0; at < n; at += P::kLanes) gradient.template pair<P>(s, w.place + at, m);
    team.each(n, [&](int i) {
      long const lane = w.list[i];
      weigh(c, w.place + i, lane, how.epsilon, l.stride);
      count_renewal(c, lane);
      stage_of(w, lane) = Stage::kReady;
    });
  }

  template <class Team>
  FL_HOST_DEVICE void step(Team const& team, Window const& w, int n) const {
    team.each(n, [&](int i) {
      long const lane = w.list[i];
      auto const known = StepLanes{c, how.step}(lane);
      if (known.known) {
        end_round(w, lane, (known.flags & kHitFlag) != 0);
      } else {
        stage_of(w, lane) = Stage::kUnknown;
      }
    });
  }

  template <Pack P, int kM, class Team>
  FL_HOST_DEVICE void classify(Team const& team, Subject const& s, Window const& w, int n,
                               float* scratch) const {
    auto const& l = c.lanes;
    MemberScratch m;
    lay_out_members(s, kM, P::kLanes, scratch, m);
    MemberLogits<P, kM> const logits{s, m, l.x, l.stride, w.list};
    LaneTiles<P, 1>::classify_by(s, logits, n, w.labels, w.flags);
    team.each(n, [&](int i) {
      long const lane = w.list[i];
      bool const hit = (w.flags[i] & kGroupMixed) != 0;
      l.hit[lane] = hit ? 1 : 0;
      l.labels[lane] = w.labels[i];
      c.record(lane, w.labels[i], visit_flags(hit, false, false));
      end_round(w, lane, hit);
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
  FL_HOST_DEVICE void operator()(Team const& team, Subject const& s, Window& w,
                                 float* scratch) const {
    auto const& l = c.lanes;
    for (int round = 0; round < rounds; ++round) {
      team.each(w.count, [&](int i) {
        MarkStale{c, m}(w.lane + i);
        w.stage[i] = l.mark[w.lane + i] != 0 ? Stage::kStale : Stage::kReady;
      });
      while (int const n = team.take(w, Stage::kStale))
        renew<P>(team, s, w, n, scratch);
      team.each(w.count, [&](int i) { MoveMargin{c, m, step}(w.lane + i); });
      MemberScratch memory;
      lay_out_members(s, kM, P::kLanes, scratch, memory);
      MemberLogits<P, kM> const logits{s, memory, l.x + w.lane, l.stride, nullptr,
                                          l.variant + w.lane};
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
      long const lane = w.list[i];
      gather_pair(c, w.place + i, lane, m.hit_member_a[lane], m.hit_member_b[lane], l.stride);
    });
    Scratch const memory = lay_out_scratch(s, kNeeds, 2 * P::kLanes, scratch);
    GradientTiles const gradient{
        {GradientKind::kMargin, 1.0F}, l.rows, 2 * l.stride, l.gradient};
    for (int at = 0; at < n; at += P::kLanes) gradient.pair<P>(s, w.place + at, memory);
    team.each(n, [&](int i) {
      take_sides(c, m, w.place + i, w.list[i], l.stride);
      ++l.renewals[w.list[i]];
      w.stage[w.list[i] - w.lane] = Stage::kReady;
    });
  }
};

}  // namespace fairlane
