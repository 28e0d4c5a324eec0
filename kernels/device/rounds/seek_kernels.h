// The global phase of a window of lanes, test after test, until each has met an IDI or has taken
// all its tests: see round_kernels.h for windows and teams.
#pragma once

#include "kernels/device/rounds/round_kernels.h"

namespace fairlane {

/// How long a lane seeks that has met no IDI.
/// last        tests of it in all; steps_last: it takes the step after the last one, too
struct SeekLimit {
  std::uint32_t last = 1;
  bool steps_last = false;
};

/// Before a test a lane rests whose tests are over.
FL_HD void begin_test(LaneContext const& c, SeekLimit limit, Window const& w, long lane) {
  std::uint32_t const iteration = c.lanes.iteration[lane];
  bool const over = iteration >= limit.last;
  if (over) c.lanes.outcome[lane] = outcome_of(iteration, false);
  w.stage[lane - w.lane] = over ? Stage::kResting : Stage::kUnknown;
}

/// After a test, whose results the lane has: its visit is recorded, and an IDI rests.
FL_HD void end_test(RecordContext const& c, SeekLimit limit, Window const& w, long lane, bool hit) {
  auto const& l = c.lanes;
  std::uint32_t const iteration = l.iteration[lane] + 1;
  l.iteration[lane] = iteration;
  l.hit[lane] = hit ? 1 : 0;
  c.record_probed(lane);
  bool const over = hit || (iteration == limit.last && !limit.steps_last);
  if (over) l.outcome[lane] = outcome_of(iteration, hit);
  w.stage[lane - w.lane] = over ? Stage::kResting : Stage::kStale;
}

/// Takes the lanes of a window to their ends. how.test and how.step do that for the first n of the
/// window's list.
template <Pack P, int kM, class Team, class How>
FL_HOST_DEVICE void seek_window(Team const& team, How const& how, Subject const& s, Window& w,
                                float* scratch) {
  RecordContext near = how.c;
  near.subject = s;
  team.each(w.room, [&](int i) {
    w.stage[i] = Stage::kResting;
    if (i < w.count && near.lanes.hit[w.lane + i] == 0) begin_test(near, how.limit, w, w.lane + i);
  });
  for (;;) {
    int n = 0;
    Stage const stage = team.choose(w, kFullest, n);
    if (stage == Stage::kResting) return;
    if (stage == Stage::kUnknown) how.template test<P, kM>(team, near, w, n, scratch);
    if (stage == Stage::kStale) how.template step<P, kM>(team, near, w, n, scratch);
  }
}

/// Lanes that step along the signs of the gradients at themselves and their partners.
/// Gradient: GradientTiles or DifferenceTiles.
template <class Gradient>
struct SeekBySigns {
  static constexpr ScratchNeeds kNeeds = Gradient::kNeeds;
  static constexpr int kTerms = ProbeTiles::kNeeds.terms;  // rows for each output of a member
  RecordContext c;
  SignStep how;
  SeekLimit limit;

  template <Pack P, int kM, class Team>
  FL_HOST_DEVICE void operator()(Team const& team, Subject const& s, Window& w,
                                 float* scratch) const {
    seek_window<P, kM>(team, *this, s, w, scratch);
  }

  template <Pack P, int kM, class Team>
  FL_HOST_DEVICE void test(Team const& team, RecordContext const& near, Window const& w, int n,
                           float* scratch) const {
    auto const& s = near.subject;
    auto const& l = c.lanes;
    ProbeResult const found = decisions_from({l.stages[0].label, l.chosen, l.second, l.found_labels,
                                              l.found_flags, nullptr, nullptr, nullptr},
                                             w.place);
    evaluate_groups<P, kM>(
        team, near, w, n, scratch,
        [&](int i, SpreadLogits const& logits, float* terms) {
          LaneTiles<ScalarPack, 1>::probe_by(s, logits, 1, terms, decisions_from(found, i));
        },
        [&](auto const& logits, float* terms) {
          LaneTiles<P, 1>::probe_by(s, logits, n, terms, found);
        });
    team.each(n, [&](int i) {
      long const lane = w.list[i];
      l.label[lane] = found.label[i];
      l.partner[lane] = found.partner[i];
      l.labels[lane] = found.packed[i];
      l.flags[lane] = found.flags[i];
      end_test(near, limit, w, lane, found.pair[i] >= 0);
    });
  }

  template <Pack P, int kM, class Team>
  FL_HOST_DEVICE void step(Team const& team, RecordContext const& near, Window const& w, int n,
                           float* scratch) const {
    auto const& l = c.lanes;
    AdvanceSpec const spec{how.decay, how.step, how.sign};
    pair_gradients<P, kM, Gradient>(
        team, near, how.gradient, w, n, scratch,
        [&](int i, long place, long behind) {
          gather_pair(near, place, w.list[i], -1, l.partner[w.list[i]], behind);
        },
        [&](int i, long place, long behind) {
          advance_lane(near, spec, place, w.list[i], behind);
          begin_test(near, limit, w, w.list[i]);
        });
  }
};

/// Lanes that take Newton steps to the nearest member's decision boundary.
struct SeekBoundary {
  static constexpr ScratchNeeds kNeeds = GradientTiles::kNeeds;
  static constexpr int kTerms = 0;
  RecordContext c;
  MarginLanes m;
  std::int32_t reach;
  SeekLimit limit;

  template <Pack P, int kM, class Team>
  FL_HOST_DEVICE void operator()(Team const& team, Subject const& s, Window& w,
                                 float* scratch) const {
    seek_window<P, kM>(team, *this, s, w, scratch);
  }

  template <Pack P, int kM, class Team>
  FL_HOST_DEVICE void test(Team const& team, RecordContext const& near, Window const& w, int n,
                           float* scratch) const {
    auto const& l = c.lanes;
    MarginResult const found = margins_by_place(near.lanes, m).from(w.place);
    find_margins<P, kM>(team, near, w, n, scratch, found);
    team.each(n, [&](int i) {
      long const lane = w.list[i];
      l.label[lane] = found.label[i];
      l.labels[lane] = found.packed[i];
      l.flags[lane] = found.flags[i];
      m.probe.low[lane] = found.low[i];
      m.probe.high[lane] = found.high[i];
      m.probe.low_margin[lane] = found.low_margin[i];
      end_test(near, limit, w, lane, margin_hit(found.label[i], found.flags[i]));
    });
  }

  template <Pack P, int kM, class Team>
  FL_HOST_DEVICE void step(Team const& team, RecordContext const& near, Window const& w, int n,
                           float* scratch) const {
    pair_gradients<P, kM, GradientTiles>(
        team, near, {GradientKind::kMargin, 1.0F}, w, n, scratch,
        [&](int i, long place, long behind) {
          long const lane = w.list[i];
          gather_pair(near, place, lane, m.probe.low[lane], m.probe.high[lane], behind);
        },
        [&](int i, long place, long behind) {
          newton_lane(near, m, reach, place, w.list[i], behind);
          begin_test(near, limit, w, w.list[i]);
        });
  }
};

}  // namespace fairlane
