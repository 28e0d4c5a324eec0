// The tests of moves of several attributes from the lanes of a window: see round_kernels.h for
// windows and teams, kernels/rounds/lattice_rounds.h for what each stage does.
#pragma once

#include "kernels/device/rounds/round_kernels.h"

namespace fairlane {

inline constexpr int kMoveSides = 2;  // of a move, which are evaluated together

/// Takes the lanes of a window through tests [first, last) of those that PlanLattice has chosen.
struct LatticeRounds {
  static constexpr ScratchNeeds kNeeds{};
  static constexpr int kTerms = 0;
  RecordContext c;
  MarginLanes m;
  LatticeLanes l;
  MoveDraw const* draws;
  int first;
  int last;

  template <Pack P, int kM, class Team>
  FL_HOST_DEVICE void operator()(Team const& team, Subject const& s, Window& w,
                                 float* scratch) const {
    RecordContext near = c;
    near.subject = s;
    if constexpr (kM == kSpreadMembers) {
      for (int i = 0; i < w.count; ++i) test_together<P>(team, near, w, w.lane + i, scratch);
    } else {
      for (int t = first; t < last; ++t) test_all<P>(team, near, w, t, scratch);
    }
  }

 private:
  /// Test t of every lane.
  template <Pack P, class Team>
  FL_HOST_DEVICE void test_all(Team const& team, RecordContext const& near, Window const& w, int t,
                               float* scratch) const {
    auto const& s = near.subject;
    auto const& lanes = near.lanes;
    team.each(w.count, [&](int i) { TryMove{near, l, draws, t}(w.lane + i); });
    MemberScratch memory;
    lay_out_members(s, kMoveSides, P::kLanes, scratch, memory);
    MemberPair const pair = MemberPair{l.side_a, l.side_b}.from(w.lane);
    PairLogits<P> const logits{{s, memory, lanes.x + w.lane, lanes.stride}, pair};
    LaneTiles<P, 1>::pair_margins_by(s, logits, w.count, pair, m.probe.from(w.lane));
    team.each(w.count, [&](int i) { SettleTrial{near, m.probe, l, t}(w.lane + i); });
  }

  /// All tests of one lane, whose members fill a pack.
  template <Pack P, class Team>
  FL_HOST_DEVICE void test_together(Team const& team, RecordContext const& near, Window const& w,
                                    long lane, float* scratch) const {
    auto const& s = near.subject;
    auto const& lanes = near.lanes;
    constexpr int kPairs = Team::kTake;
    constexpr int kTogether = kPairs / 2;
    SpreadScratch memory;
    lay_out_spread(s, kPairs, P::kLanes, scratch, memory);
    auto* const pair_row = reinterpret_cast<std::int32_t*>(w.labels);
    std::int32_t* const pair_variant = w.flags;
    MemberPair const pair = MemberPair{l.side_a, l.side_b}.from(lane);
    MarginResult const found = margins_by_place(lanes, m).from(w.place);
    long const row_stride = 2 * lanes.stride;
    for (int at = first; at < last; at += kTogether) {
      int const n = last - at < kTogether ? last - at : kTogether;
      team.each(kPairs, [&](int i) {
        int const trial = i / 2 < n ? i / 2 : n - 1;
        pair_row[i] = static_cast<std::int32_t>(w.place) + trial;
        pair_variant[i] = i % 2 == 0 ? *pair.first : *pair.second;
      });
      team.each(n, [&](int i) {
        std::int32_t* const row = lanes.rows + w.place + i;
        for (int k = 0; k < s.columns; ++k) row[k * row_stride] = lanes.x[k * lanes.stride + lane];
        for_each_step(l, draws, at + i, lane,
                      [&](int k, std::int32_t by) { row[k * row_stride] += by; });
      });
      for (int i = 0; i < 2 * n; i += P::kLanes)
        evaluate_spread<P>(s, lanes.rows, row_stride, pair_row, pair_variant, i, kPairs, memory);
      team.sync();
      team.each(n, [&](int i) {
        SpreadLogits const logits{memory.logits + 2 * i, kPairs, 0};
        LaneTiles<ScalarPack, 1>::pair_margins_by(s, logits, 1, pair, found.from(i));
      });
      team.each(1, [&](int) {
        for (int i = 0; i < n; ++i) settle(near, found, i, lane, at + i);
      });
    }
  }

  /// Test t of a lane, whose results are at place i of `found`.
  FL_HD void settle(RecordContext const& near, MarginResult const& found, int i, long lane,
                    int t) const {
    TryMove{near, l, draws, t}(lane);
    m.probe.label[lane] = found.label[i];
    m.probe.flags[lane] = found.flags[i];
    m.probe.low_margin[lane] = found.low_margin[i];
    m.probe.best_margin_a[lane] = found.best_margin_a[i];
    m.probe.best_margin_b[lane] = found.best_margin_b[i];
    SettleTrial{near, m.probe, l, t}(lane);
  }
};

template <int kM>
inline constexpr int kSideBySide<LatticeRounds, kM> = kM == kSpreadMembers ? kM : kMoveSides;

}  // namespace fairlane
