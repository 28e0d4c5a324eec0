// The kernels of the margin method; see kernels/core/margin.h for its decisions.
#pragma once

#include "kernels/core/margin.h"
#include "kernels/device/search_kernels.h"

namespace fairlane {

/// What the margin method keeps beside LaneState; arrays over lanes with its stride.
/// probe             results of the last MarginTiles; its side_a and side_b are the current sides
/// slope_a, slope_b  [columns] gradients of both sides' margins where they were last taken
/// tried             [movable] moves that missed here; misses, stale: see core/margin.h
/// hit_*             the probe's best sides, members and margins at the current IDI
/// margin_a, margin_b  margins of the sides at the current IDI
/// move, move_step   index and step of the last move
struct MarginLanes {
  MarginResult probe;
  float* slope_a = nullptr;
  float* slope_b = nullptr;
  std::uint8_t* tried = nullptr;
  std::int32_t* misses = nullptr;
  std::int32_t* stale = nullptr;
  std::int32_t* hit_side_a = nullptr;
  std::int32_t* hit_side_b = nullptr;
  std::int32_t* hit_member_a = nullptr;
  std::int32_t* hit_member_b = nullptr;
  float* hit_margin_a = nullptr;
  float* hit_margin_b = nullptr;
  float* margin_a = nullptr;
  float* margin_b = nullptr;
  std::int32_t* move = nullptr;
  std::int32_t* move_step = nullptr;
};

/// Where a lane hit, its row becomes the place to return to.
FL_HD void keep_margin_origin(LaneContext const& c, MarginLanes const& m, std::int64_t lane) {
  auto const& s = c.lanes;
  for (int k = 0; k < c.subject.columns; ++k)
    s.origin[k * s.stride + lane] = s.x[k * s.stride + lane];
  for (int w = 0; w < c.visits.words; ++w)
    s.origin_key[w * s.stride + lane] = s.key[w * s.stride + lane];
  m.margin_a[lane] = m.probe.margin_a[lane];
  m.margin_b[lane] = m.probe.margin_b[lane];
  m.hit_side_a[lane] = m.probe.best_a[lane];
  m.hit_side_b[lane] = m.probe.best_b[lane];
  m.hit_member_a[lane] = m.probe.member_a[lane];
  m.hit_member_b[lane] = m.probe.member_b[lane];
  m.hit_margin_a[lane] = m.probe.best_margin_a[lane];
  m.hit_margin_b[lane] = m.probe.best_margin_b[lane];
}

/// After MarginTiles of the global phase: hit, and the visit of the next iteration.
struct RecordMargin {
  LaneContext c;
  MarginLanes m;

  FL_HD void operator()(std::int64_t lane) const {
    ++c.lanes.iteration[lane];
    c.lanes.hit[lane] = margin_hit(m.probe.label[lane], m.probe.flags[lane]) ? 1 : 0;
    RecordProbed::record(c, lane);
  }
};

/// Newton step of every lane, from the gradients at its members with the least and the largest margin.
struct NewtonLanes {
  LaneContext c;
  MarginLanes m;
  std::int32_t reach;

  FL_HD void operator()(std::int64_t lane) const {
    auto const& s = c.lanes;
    LaneDraw const draw{s.seed[lane], s.iteration[lane], c.run_seed};
    if ((s.flags[lane] & kGroupUndefined) != 0) {
      random_step(c.subject, draw, s.x + lane, s.stride);
    } else {
      newton_step(c.subject, draw, s.gradient + lane, s.gradient + s.stride + lane, 2 * s.stride,
                  m.probe.low_margin[lane], reach, s.x + lane, s.stride);
    }
    c.compute_key(lane);
  }
};

/// After MarginTiles: where every lane stands becomes the origin of its local search; marks all for their first sides.
struct BeginMargin {
  LaneContext c;
  MarginLanes m;

  FL_HD void operator()(std::int64_t lane) const {
    auto const& s = c.lanes;
    s.hit[lane] = margin_hit(m.probe.label[lane], m.probe.flags[lane]) ? 1 : 0;
    if (s.hit[lane] != 0) keep_margin_origin(c, m, lane);
    m.misses[lane] = 0;
    for (int i = 0; i < c.subject.movable_count; ++i) m.tried[i * s.stride + lane] = 0;
    s.mark[lane] = 1;
  }
};

/// Begins a local iteration and marks lanes whose gradients are due.
struct MarkStale {
  LaneContext c;
  MarginLanes m;

  FL_HD void operator()(std::int64_t lane) const {
    ++c.lanes.iteration[lane];
    c.lanes.mark[lane] = margin_renewal_due(c.subject, m.stale[lane] != 0, m.misses[lane],
                                            m.margin_a[lane], m.margin_b[lane])
                             ? 1
                             : 0;
  }
};

/// The members whose gradients the listed lanes want: chosen and second.
struct PairSides {
  LaneContext c;
  MarginLanes m;

  FL_HD void operator()(std::int64_t i) const {
    auto const& s = c.lanes;
    s.chosen[i] = m.hit_member_a[s.list[i]];
    s.second[i] = m.hit_member_b[s.list[i]];
  }
};

/// New sides for the listed lanes, from the gradients at their members. counts: as a renewal
struct RenewMargin {
  LaneContext c;
  MarginLanes m;
  bool counts;

  FL_HD void operator()(std::int64_t i) const {
    auto const& s = c.lanes;
    long const lane = s.list[i];
    for (int k = 0; k < c.subject.columns; ++k) {
      m.slope_a[k * s.stride + lane] = s.gradient[k * 2 * s.stride + i];
      m.slope_b[k * s.stride + lane] = s.gradient[k * 2 * s.stride + s.stride + i];
    }
    m.probe.side_a[lane] = m.hit_side_a[lane];
    m.probe.side_b[lane] = m.hit_side_b[lane];
    m.margin_a[lane] = m.hit_margin_a[lane];
    m.margin_b[lane] = m.hit_margin_b[lane];
    m.stale[lane] = 0;
    s.renewals[lane] += counts ? 1 : 0;
  }
};

/// Draws a move and steps.
struct MoveMargin {
  LaneContext c;
  MarginLanes m;
  std::int32_t step;

  FL_HD void operator()(std::int64_t lane) const {
    auto const& s = c.lanes;
    auto const words = c.draw(lane, 0);
    auto const move =
        choose_margin_move(c.subject,
                           {s.x + lane, m.slope_a + lane, m.slope_b + lane, m.tried + lane,
                            s.stride, m.margin_a[lane], m.margin_b[lane]},
                           step, words.w[0], words.w[1]);
    m.move[lane] = move.index;
    m.move_step[lane] = move.step;
    if (move.index < 0) return;
    int const k = c.subject.movable[move.index];
    c.move(lane, k, s.x[k * s.stride + lane] + move.step);
  }
};

/// After MarginTiles of the local phase: records the visit; a miss returns to its origin.
struct SettleMargin {
  LaneContext c;
  MarginLanes m;

  FL_HD void operator()(std::int64_t lane) const {
    auto const& s = c.lanes;
    s.hit[lane] = margin_hit(m.probe.label[lane], m.probe.flags[lane]) ? 1 : 0;
    RecordProbed::record(c, lane);
    note_margin_move(c.subject, s.hit[lane] != 0, {m.move[lane], m.move_step[lane]}, m.tried + lane,
                     s.stride);
    if (s.hit[lane] != 0) {
      keep_margin_origin(c, m, lane);
      m.misses[lane] = 0;
      m.stale[lane] = 1;
      return;
    }
    ++m.misses[lane];
    for (int k = 0; k < c.subject.columns; ++k)
      s.x[k * s.stride + lane] = s.origin[k * s.stride + lane];
    for (int w = 0; w < c.visits.words; ++w)
      s.key[w * s.stride + lane] = s.origin_key[w * s.stride + lane];
  }
};

}  // namespace fairlane
