// Rounds of a local search for a window of lanes that one team takes through them: a warp on a GPU,
// a loop on the host. The state lies in device memory as between the kernels of a single round;
// what each stage does is kernels/rounds' and kernels/device/record/record_kernels.h's.
//
// Lanes are independent, so none waits for another's round: each stands before a stage, and the
// team takes as many as it has threads through one stage after the other. The results are those of
// rounds in lockstep, whatever the order.
#pragma once

#include "kernels/core/member_logits.h"
#include "kernels/core/spread_logits.h"
#include "kernels/device/record/record_kernels.h"
#include "kernels/device/rounds/round_plan.h"
#include "kernels/device/tile_kernels.h"
#include "kernels/lane_block.h"
#include "kernels/rounds/window.h"

namespace fairlane {

// A team has
//   kTake               lanes that it takes through a stage together
//   each(n, work)       work(i) for i in [0, n); all is done on return
//   sync()              what every thread has written is there for all
//   choose(window, enough, n)  the stage that choose_stage says, and n lanes before it, at most
//                       kTake, in the window's list; kResting: none
//
// kM says how it evaluates: that many members of a group in each thread, whose packs share weights;
// or kSpreadMembers, for few lanes: every member in a thread of its own.

/// Packs of a tile of kernel K that lie side by side; kSpreadMembers: none.
template <class K, int kM>
inline constexpr int kSideBySide = kM;

/// Calls use(i, logits) for places i of the window's list [0, n), a thread each, with a source of
/// the logits of that lane's group, some lanes at a time.
template <Pack P, class Team, class Use>
FL_HOST_DEVICE void spread_groups(Team const& team, RecordContext const& near, Window const& w,
                                  int n, float* scratch, Use const& use) {
  auto const& s = near.subject;
  constexpr int kPairs = Team::kTake;
  SpreadScratch m;
  lay_out_spread(s, kPairs, P::kLanes, scratch, m);
  // Where the groups' labels and flags go when their members are done.
  auto* const pair_lane = reinterpret_cast<std::int32_t*>(w.labels);
  std::int32_t* const pair_variant = w.flags;
  int const together = kPairs / s.variants;
  for (int first = 0; first < n; first += together) {
    int const lanes = n - first < together ? n - first : together;
    int const last = lanes * s.variants - 1;
    team.each(kPairs, [&](int i) {
      int const pair = i < last ? i : last;
      pair_lane[i] = w.list[first + pair / s.variants];
      pair_variant[i] = pair % s.variants;
    });
    for (int at = 0; at <= last; at += P::kLanes)
      evaluate_spread<P>(s, near.lanes.x, near.lanes.stride, pair_lane, pair_variant, at, kPairs,
                         m);
    team.sync();
    team.each(lanes, [&](int i) {
      auto const variant = static_cast<int>(near.lanes.variant[w.list[first + i]]);
      use(first + i, SpreadLogits{m.logits + i * s.variants, kPairs, variant});
    });
  }
}

/// The logits of the groups of the window's list [0, n): spread(i, logits, terms) for each place,
/// or together(logits, terms) for all; terms: memory behind the logits', with their stride.
template <Pack P, int kM, class Team, class Spread, class Together>
FL_HOST_DEVICE void evaluate_groups(Team const& team, RecordContext const& near, Window const& w,
                                    int n, float* scratch, Spread const& spread,
                                    Together const& together) {
  auto const& s = near.subject;
  auto const& l = near.lanes;
  if constexpr (kM == kSpreadMembers) {
    SpreadScratch m;
    int const rows = lay_out_spread(s, Team::kTake, P::kLanes, scratch, m);
    float* const terms = scratch + static_cast<long>(rows) * P::kLanes;
    spread_groups<P>(team, near, w, n, scratch,
                     [&](int i, SpreadLogits const& logits) { spread(i, logits, terms + i); });
  } else {
    MemberScratch m;
    int const rows = lay_out_members(s, kM, P::kLanes, scratch, m);
    MemberLogits<P, kM> const logits{s, m, l.x, l.stride, w.list, l.variant};
    together(logits, scratch + static_cast<long>(rows) * P::kLanes);
    team.sync();  // threads without a lane have read another's
  }
}

/// Margins of the groups of the window's list [0, n), by place.
template <Pack P, int kM, class Team>
FL_HOST_DEVICE void find_margins(Team const& team, RecordContext const& near, Window const& w,
                                 int n, float* scratch, MarginResult const& found) {
  Subject const& s = near.subject;
  evaluate_groups<P, kM>(
      team, near, w, n, scratch,
      [&](int i, SpreadLogits const& logits, float*) {
        LaneTiles<ScalarPack, 1>::margins_by(s, logits, 1, found.from(i));
      },
      [&](auto const& logits, float*) { LaneTiles<P, 1>::margins_by(s, logits, n, found); });
}

/// Gradients of the lanes in the window's list [0, n) and their partners: pair(i, behind) gathers
/// those of place i, done(i, behind) takes the results from there. A row and its partner lie in
/// threads of their own where that fills fewer packs.
template <Pack P, int kM, class Tiles, class Team, class Pair, class Done>
FL_HOST_DEVICE void pair_gradients(Team const& team, RecordContext const& near, GradientSpec spec,
                                   Window const& w, int n, float* scratch, Pair const& pair,
                                   Done const& done) {
  Subject const& s = near.subject;
  long const stride = near.lanes.stride;
  Tiles const tiles{spec, near.lanes.rows, 2 * stride, near.lanes.gradient};
  constexpr int kHalf = Team::kTake / 2;
  bool const halves = kM == kSpreadMembers || n <= kHalf;
  int const together = halves ? kHalf : Team::kTake;
  long const behind = halves ? kHalf : stride;
  for (int first = 0; first < n; first += together) {
    int const lanes = n - first < together ? n - first : together;
    team.each(lanes, [&](int i) { pair(first + i, w.place + i, behind); });
    if (halves) {
      Scratch const m = lay_out_scratch(s, Tiles::kNeeds, P::kLanes, scratch);
      for (int at = 0; at < 2 * kHalf; at += P::kLanes)
        tiles.template rows<P, 1>(s, w.place + at, m);
      team.sync();
    } else if constexpr (kM != kSpreadMembers) {
      Scratch const m = lay_out_scratch(s, Tiles::kNeeds, 2 * P::kLanes, scratch);
      for (int at = 0; at < lanes; at += P::kLanes)
        tiles.template rows<P, 2>(s, w.place + at, m, stride);
    }
    team.each(lanes, [&](int i) { done(first + i, w.place + i, behind); });
  }
}

/// Results by place, in arrays that are only used by lane where a lane keeps margins of its own.
FL_HD MarginResult margins_by_place(LaneState const& l, MarginLanes const& m) {
  return {l.stages[0].label, l.found_labels, l.found_flags,  m.move,
          m.move_step,       m.hit_margin_a, m.hit_side_a,   m.hit_side_b,
          m.margin_a,        m.margin_b,     m.hit_member_a, m.hit_member_b,
          m.misses,          m.stale,        m.hit_margin_b, m.probe.margin_a};
}

/// Takes the lanes of a window through rounds of the gradient-guided search. Labels are kept in the
/// record, and no output is undefined.
/// Gradient: GradientTiles or DifferenceTiles.
template <class Gradient>
struct WeightedRounds {
  static constexpr ScratchNeeds kNeeds = Gradient::kNeeds;
  static constexpr int kTerms = 0;
  RecordContext c;
  WeightedStep how;
  std::uint16_t rounds;

  /// s: the subject to read, whose arrays may lie on chip
  template <Pack P, int kM, class Team>
  FL_HOST_DEVICE void operator()(Team const& team, Subject const& s, Window& w,
                                 float* scratch) const {
    RecordContext near = c;
    near.subject = s;
    team.each(w.room, [&](int i) {
      w.left[i] = i < w.count ? rounds : std::uint16_t{0};
      begin_round(w, w.lane + i, state_of(w.lane + i));
    });
    for (;;) {
      int n = 0;
      Stage const stage = team.choose(w, kFullest, n);
      if (stage == Stage::kResting) return;
      if (stage == Stage::kStale) renew<P, kM>(team, near, w, n, scratch);
      if (stage == Stage::kReady) step(team, near, w, n);
      if (stage == Stage::kUnknown) classify<P, kM>(team, near, w, n, scratch);
    }
  }

 private:
  /// What a lane's round ends with, read before the record is asked, which takes its time.
  struct LaneTurn {
    std::int32_t streak;
    std::uint32_t iteration;
  };
  FL_HD LaneTurn state_of(long lane) const {
    return {c.lanes.streak[lane], c.lanes.iteration[lane]};
  }

  FL_HD void begin_round(Window const& w, long lane, LaneTurn at) const {
    long const i = lane - w.lane;
    if (w.left[i] == 0) {
      w.stage[i] = Stage::kResting;
      return;
    }
    --w.left[i];
    c.lanes.iteration[lane] = at.iteration + 1;
    bool const due = static_cast<std::uint32_t>(at.streak) >= how.update_interval;
    w.stage[i] = due && !how.never_update ? Stage::kStale : Stage::kReady;
  }
  FL_HD void end_round(RecordContext const& near, Window const& w, long lane, LaneTurn at,
                       bool hit) const {
    at.streak = streak_after(hit, at.streak);
    settle(near, lane, hit, at.streak, !how.never_update);
    begin_round(w, lane, at);
  }

  template <Pack P, int kM, class Team>
  FL_HOST_DEVICE void renew(Team const& team, RecordContext const& near, Window const& w, int n,
                            float* scratch) const {
    pair_gradients<P, kM, Gradient>(
        team, near, how.gradient, w, n, scratch,
        [&](int i, long place, long behind) {
          long const lane = w.list[i];
          std::int32_t const partner = draw_partner(near, lane, c.draw(lane, 0).w[2]);
          gather_pair(near, place, lane, -1, partner, behind);
        },
        [&](int i, long place, long behind) {
          long const lane = w.list[i];
          weigh(near, place, lane, how.epsilon, behind);
          count_renewal(c, lane);
          w.stage[lane - w.lane] = Stage::kReady;
        });
  }

  template <class Team>
  FL_HOST_DEVICE void step(Team const& team, RecordContext const& near, Window const& w,
                           int n) const {
    team.each(n, [&](int i) {
      long const lane = w.list[i];
      auto const at = state_of(lane);
      auto const known = StepLanes{near, how.step}.any(lane);
      if (known.known) {
        end_round(near, w, lane, at, (known.flags & kHitFlag) != 0);
      } else {
        w.stage[lane - w.lane] = Stage::kUnknown;
      }
    });
  }

  template <Pack P, int kM, class Team>
  FL_HOST_DEVICE void classify(Team const& team, RecordContext const& near, Window const& w, int n,
                               float* scratch) const {
    auto const& s = near.subject;
    if constexpr (kM == kSpreadMembers) {
      spread_groups<P>(team, near, w, n, scratch, [&](int i, SpreadLogits const& logits) {
        LaneTiles<ScalarPack, 1>::classify_by(s, logits, 1, w.labels + i, w.flags + i);
        note(near, w, i);
      });
    } else {
      MemberScratch m;
      lay_out_members(s, kM, P::kLanes, scratch, m);
      MemberLogits<P, kM> const logits{s, m, c.lanes.x, c.lanes.stride, w.list};
      LaneTiles<P, 1>::classify_by(s, logits, n, w.labels, w.flags);
      team.sync();  // threads without a lane have read another's
      team.each(n, [&](int i) { note(near, w, i); });
    }
  }

  /// What was found out about the group of the lane at place i of the list.
  FL_HD void note(RecordContext const& near, Window const& w, int i) const {
    long const lane = w.list[i];
    auto const at = state_of(lane);
    bool const hit = (w.flags[i] & kGroupMixed) != 0;
    c.lanes.hit[lane] = hit ? 1 : 0;
    c.lanes.labels[lane] = w.labels[i];
    c.record(lane, w.labels[i], visit_flags(hit, false, false));
    end_round(near, w, lane, at, hit);
  }
};

/// Takes the lanes of a window through rounds of the margin method.
struct MarginRounds {
  static constexpr ScratchNeeds kNeeds = GradientTiles::kNeeds;
  static constexpr int kTerms = 0;
  RecordContext c;
  MarginLanes m;
  std::int32_t step_size;
  std::uint16_t rounds;

  template <Pack P, int kM, class Team>
  FL_HOST_DEVICE void operator()(Team const& team, Subject const& s, Window& w,
                                 float* scratch) const {
    RecordContext near = c;
    near.subject = s;
    team.each(w.room, [&](int i) {
      w.left[i] = i < w.count ? rounds : std::uint16_t{0};
      begin_round(near, w, w.lane + i);
    });
    for (;;) {
      int n = 0;
      Stage const stage = team.choose(w, kEnoughStale, n);
      if (stage == Stage::kResting) return;
      if (stage == Stage::kStale) renew<P, kM>(team, near, w, n, scratch);
      if (stage == Stage::kReady) step<P, kM>(team, near, w, n, scratch);
    }
  }

 private:
  static constexpr int kEnoughStale = 5;  // counted on the simulator, census: 1 to 24 were tried

  FL_HD void begin_round(RecordContext const& near, Window const& w, long lane) const {
    long const i = lane - w.lane;
    if (w.left[i] == 0) {
      w.stage[i] = Stage::kResting;
      return;
    }
    --w.left[i];
    w.stage[i] = begin_margin_round(near, m, lane) ? Stage::kStale : Stage::kReady;
  }

  /// Results by place: those of lanes are not asked for between rounds.
  FL_HD MarginResult found_at(long place) const {
    auto const& l = c.lanes;
    MarginResult found = m.probe;
    found.label = l.stages[0].label;
    found.packed = l.found_labels;
    found.flags = l.found_flags;
    found.side_a = l.chosen;
    found.side_b = l.second;
    return found.from(place);
  }

  template <Pack P, int kM, class Team>
  FL_HOST_DEVICE void step(Team const& team, RecordContext const& near, Window const& w, int n,
                           float* scratch) const {
    auto const& l = c.lanes;
    MarginResult const found = found_at(w.place);
    team.each(n, [&](int i) {
      long const lane = w.list[i];
      found.side_a[i] = m.probe.side_a[lane];
      found.side_b[i] = m.probe.side_b[lane];
      MoveMargin{near, m, step_size}(lane);
    });
    find_margins<P, kM>(team, near, w, n, scratch, found);
    team.each(n, [&](int i) {
      long const lane = w.list[i];
      l.label[lane] = found.label[i];
      l.labels[lane] = found.packed[i];
      l.flags[lane] = found.flags[i];
      SettleMargin{near, m}.settle(found, i, lane);
      begin_round(near, w, lane);
    });
  }

  template <Pack P, int kM, class Team>
  FL_HOST_DEVICE void renew(Team const& team, RecordContext const& near, Window const& w, int n,
                            float* scratch) const {
    pair_gradients<P, kM, GradientTiles>(
        team, near, {GradientKind::kMargin, 1.0F}, w, n, scratch,
        [&](int i, long place, long behind) {
          long const lane = w.list[i];
          gather_pair(near, place, lane, m.hit_member_a[lane], m.hit_member_b[lane], behind);
        },
        [&](int i, long place, long behind) {
          take_sides(near, m, place, w.list[i], behind);
          ++c.lanes.renewals[w.list[i]];
          w.stage[w.list[i] - w.lane] = Stage::kReady;
        });
  }
};

}  // namespace fairlane
