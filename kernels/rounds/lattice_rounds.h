// The stages of the margin method's tests of moves of several attributes; kernels/core/lattice.h
// has its decisions, search_rounds.h says what a stage is.
#pragma once

#include "kernels/rounds/margin_rounds.h"
#include "kernels/rounds/trial_board.h"

namespace fairlane {

/// What tests of several moves keep beside LaneState and the margins of the last probe; arrays over
/// lanes with its stride.
/// side_a, side_b      members on both sides; margin_a, margin_b their margins
/// sign_b              as SidePair has it
/// trial, trial_hash   [kMostTrials] as PlanLanes has them, `stride` apart
struct LatticeLanes {
  long stride = 0;
  std::int32_t* side_a = nullptr;
  std::int32_t* side_b = nullptr;
  float* margin_a = nullptr;
  float* margin_b = nullptr;
  float* sign_b = nullptr;
  std::uint32_t* trial = nullptr;
  std::uint32_t* trial_hash = nullptr;
};

/// After MarginTiles: every lane's input becomes an origin, between whose outermost members the
/// boundary is sought; its tests are visits of the first of these.
struct BeginLattice {
  LaneContext c;
  MarginResult probe;
  LatticeLanes l;

  FL_HD void operator()(std::int64_t lane) const {
    bool const hit = margin_hit(probe.label[lane], probe.flags[lane]);
    c.keep_row(lane);
    c.keep_key(lane);
    // All members of a miss have one label: the nearest one stands for the other side.
    std::int32_t const side_a = hit ? probe.member_a[lane] : probe.high[lane];
    std::int32_t const side_b = hit ? probe.member_b[lane] : probe.low[lane];
    l.side_a[lane] = side_a;
    l.side_b[lane] = side_b != side_a ? side_b : (side_a + 1) % c.subject.variants;
    c.lanes.variant[lane] = static_cast<std::uint32_t>(side_a);
    l.margin_a[lane] = probe.best_margin_a[lane];
    l.margin_b[lane] = hit ? probe.best_margin_b[lane] : -probe.low_margin[lane];
    l.sign_b[lane] = hit ? 1.0F : -1.0F;
  }
};

/// What lanes' tests are chosen from. behind: places from a gradient to that at the other side
FL_HD PlanLanes plan_lanes(LaneContext const& c, LatticeLanes const& l, long behind) {
  auto const& s = c.lanes;
  return {
      s.stride,   c.words,    s.x,          s.key,      c.columns.word,      c.columns.key_stride,
      l.margin_a, l.margin_b, l.sign_b,     s.gradient, s.gradient + behind, 2 * s.stride,
      l.stride,   l.trial,    l.trial_hash, l.side_a};
}

/// Chooses every lane's tests; a team may do it together, with memory of its own.
struct PlanLattice {
  LaneContext c;
  LatticeLanes l;
  MoveTable table;
  long behind;  // places from a gradient to that at the other side

  std::size_t team_bytes() const { return TrialBoard::bytes(c.subject.columns); }
  template <class Team>
  FL_HOST_DEVICE void operator()(Team const& team, std::int64_t lane, std::byte* memory) const {
    plan_trials_together(team, c.subject, table, plan_lanes(c, l, behind), lane,
                         *reinterpret_cast<TrialBoard*>(memory));
  }

  FL_HD void operator()(std::int64_t lane) const {
    PlanLanes const lanes = plan_lanes(c, l, behind);
    plan_trials<ScalarPack>(c.subject, table, lanes, lane,
                            LaneColumns<ScalarPack>{c.subject, lanes, lane});
  }
};

/// Calls step(column, by) for every attribute that trial t of a lane changes. A lane that has no
/// more of them repeats its last test, which changes nothing; one that has none at all tests its
/// origin.
template <class Step>
FL_HD void for_each_step(LatticeLanes const& l, MoveDraw const* draws, int t, long lane,
                         Step const& step) {
  std::uint32_t word = l.trial[t * l.stride + lane];
  while (t > 0 && !TrialWord::moves(word)) word = l.trial[--t * l.stride + lane];
  if (!TrialWord::moves(word)) return;
  MoveDraw const& draw = draws[TrialWord::draw(word)];
  for (int i = 0; i < kMoveAttributes; ++i) {
    std::int32_t const by = i < kMoveAttributes - 1 ? draw.by[i] : TrialWord::solved(word);
    if (by != 0) step(draw.column[i], by);
  }
}

/// Begins an iteration and moves a lane from its origin by trial t.
struct TryMove {
  LaneContext c;
  LatticeLanes l;
  MoveDraw const* draws;
  int t;

  FL_HD void operator()(std::int64_t lane) const {
    bool const is_new = t == 0 || TrialWord::moves(l.trial[t * l.stride + lane]);
    if (is_new) ++c.lanes.iteration[lane];
    for_each_step(l, draws, t, lane,
                  [&](int column, std::int32_t by) { c.move(lane, column, by); });
  }
};

/// After PairMarginTiles: what trial t of a lane met. Marks the lanes whose visit is recorded: where
/// there are other members, a miss of two says nothing of the group.
FL_HD void note_trial(LaneContext const& c, MarginResult const& probe, LatticeLanes const& l, int t,
                      long lane) {
  bool const hit = margin_hit(probe.label[lane], probe.flags[lane]);
  c.lanes.hit[lane] = hit ? 1 : 0;
  c.lanes.labels[lane] = 0;  // which nobody asks this search's record for
  bool const own_undefined = probe.label[lane] == kUndefinedLabel;
  c.lanes.mark[lane] = hit || own_undefined || c.subject.variants == 2 ? 1 : 0;
  std::uint32_t& word = l.trial[t * l.stride + lane];
  if (!TrialWord::moves(word)) return;
  bool const undefined = own_undefined || (probe.flags[lane] & kGroupUndefined) != 0;
  float const low = probe.low_margin[lane];
  float const from = l.margin_a[lane] < l.margin_b[lane] ? l.margin_a[lane] : l.margin_b[lane];
  bool const deep =
      from > 0.0F && probe.best_margin_a[lane] >= from && probe.best_margin_b[lane] >= from;
  TrialOutcome const outcome = hit && deep ? TrialOutcome::kDeep
                               : hit       ? TrialOutcome::kHit
                               : undefined ? TrialOutcome::kFar
                                           : miss_outcome(low, probe.best_margin_a[lane] - low);
  word |= static_cast<std::uint32_t>(outcome);
}

/// Takes a lane back to its origin.
FL_HD void return_to_origin(LaneContext const& c, long lane) {
  c.return_row(lane);
  c.return_key(lane);
}

}  // namespace fairlane
