// The stages of a round of the margin method that ask neither the network nor the record; see
// kernels/core/margin.h for its decisions and search_rounds.h for what a stage is.
#pragma once

#include "kernels/core/margin.h"
#include "kernels/rounds/search_rounds.h"

namespace fairlane {

/// What the margin method keeps beside LaneState; arrays over lanes with its stride.
/// probe             results of the last MarginTiles, of MarginRounds by place; but side_a, side_b
///                   are the current sides
/// slope_a, slope_b  [columns] gradients of both sides' margins where they were last taken
/// tried             [2 * move_words] moves that missed here; misses, stale: see core/margin.h
/// hit_*             the probe's best sides, members and margins at the current IDI
/// margin_a, margin_b  margins of the sides at the current IDI
/// move, move_step   index and step of the last move
struct MarginLanes {
  MarginResult probe;
  float* slope_a = nullptr;
  float* slope_b = nullptr;
  std::uint32_t* tried = nullptr;
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

/// What a probe found in a lane, which is an IDI: where its next sides come from.
/// i  its place in `found`
FL_HD void keep_margins(MarginLanes const& m, MarginResult const& found, long i, long lane) {
  // All reads first: a GPU's thread would otherwise wait for memory at every one.
  float const margin_a = found.margin_a[i];
  float const margin_b = found.margin_b[i];
  std::int32_t const side_a = found.best_a[i];
  std::int32_t const side_b = found.best_b[i];
  std::int32_t const member_a = found.member_a[i];
  std::int32_t const member_b = found.member_b[i];
  float const best_a = found.best_margin_a[i];
  float const best_b = found.best_margin_b[i];
  m.margin_a[lane] = margin_a;
  m.margin_b[lane] = margin_b;
  m.hit_side_a[lane] = side_a;
  m.hit_side_b[lane] = side_b;
  m.hit_member_a[lane] = member_a;
  m.hit_member_b[lane] = member_b;
  m.hit_margin_a[lane] = best_a;
  m.hit_margin_b[lane] = best_b;
}

/// Whether a lane's input is an IDI, from what a probe found at place i.
FL_HD void note_margins(LaneContext const& c, MarginResult const& found, long i, long lane) {
  c.lanes.hit[lane] = margin_hit(found.label[i], found.flags[i]) ? 1 : 0;
}

/// Newton step of a lane, from the gradients at place i and, `behind` places behind it, which are
/// those at its members with the least and the largest margin.
FL_HD void newton_lane(LaneContext const& c, MarginLanes const& m, std::int32_t reach, long i,
                       long lane, long behind) {
  auto const& s = c.lanes;
  LaneDraw const draw{s.seed[lane], s.iteration[lane], c.run_seed};
  if ((s.flags[lane] & kGroupUndefined) != 0) {
    random_step(c.subject, draw, s.x + lane, s.stride);
  } else {
    newton_step(c.subject, draw, s.gradient + i, s.gradient + behind + i, 2 * s.stride,
                m.probe.low_margin[lane], reach, s.x + lane, s.stride);
  }
  c.compute_key(lane);
}

/// The same for every lane. behind: as PairRows has it
struct NewtonLanes {
  LaneContext c;
  MarginLanes m;
  std::int32_t reach;
  long behind;

  FL_HD void operator()(std::int64_t lane) const { newton_lane(c, m, reach, lane, lane, behind); }
};

/// After MarginTiles: where every lane stands becomes the origin of its local search; marks all for
/// their first sides.
struct BeginMargin {
  LaneContext c;
  MarginLanes m;

  FL_HD void operator()(std::int64_t lane) const {
    auto const& s = c.lanes;
    note_margins(c, m.probe, lane, lane);
    if (s.hit[lane] != 0) {
      c.keep_row(lane);
      c.keep_key(lane);
      keep_margins(m, m.probe, lane, lane);
    }
    m.misses[lane] = 0;
    for (int w = 0; w < 2 * move_words(c.subject); ++w) m.tried[w * s.stride + lane] = 0;
    s.mark[lane] = 1;
  }
};

/// Begins a local iteration of a lane. Returns whether its gradients are due.
FL_HD bool begin_margin_round(LaneContext const& c, MarginLanes const& m, long lane) {
  ++c.lanes.iteration[lane];
  return margin_renewal_due(c.subject, m.stale[lane] != 0, m.misses[lane], m.margin_a[lane],
                            m.margin_b[lane]);
}

/// The same for every lane; marks those.
struct MarkStale {
  LaneContext c;
  MarginLanes m;

  FL_HD void operator()(std::int64_t lane) const {
    c.lanes.mark[lane] = begin_margin_round(c, m, lane) ? 1 : 0;
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

/// New sides for a lane, from the gradients at place i and, `behind` places behind it, at its
/// members.
FL_HD void take_sides(LaneContext const& c, MarginLanes const& m, long i, long lane, long behind) {
  auto const& s = c.lanes;
  struct Slopes {
    float a;
    float b;
  };
  std::int32_t const side_a = m.hit_side_a[lane];
  std::int32_t const side_b = m.hit_side_b[lane];
  float const margin_a = m.hit_margin_a[lane];
  float const margin_b = m.hit_margin_b[lane];
  read_ahead(
      c.subject.columns,
      [&](int k) {
        float const* const at = s.gradient + k * 2 * s.stride + i;
        return Slopes{at[0], at[behind]};
      },
      [&](int k, Slopes const& slope) {
        m.slope_a[k * s.stride + lane] = slope.a;
        m.slope_b[k * s.stride + lane] = slope.b;
      });
  m.probe.side_a[lane] = side_a;
  m.probe.side_b[lane] = side_b;
  m.margin_a[lane] = margin_a;
  m.margin_b[lane] = margin_b;
  m.stale[lane] = 0;
}

/// The same for the listed lanes. counts: as a renewal
struct RenewMargin {
  LaneContext c;
  MarginLanes m;
  bool counts;
  long behind;

  FL_HD void operator()(std::int64_t i) const {
    long const lane = c.lanes.list[i];
    take_sides(c, m, i, lane, behind);
    c.lanes.renewals[lane] += counts ? 1 : 0;
  }
};

/// Draws a lane's move with words 0 and 1 of the round's draw, and steps.
FL_HD void move_margin(LaneContext const& c, MarginLanes const& m, long lane, std::int32_t step,
                       std::uint32_t word, std::uint32_t direction_word) {
  auto const& s = c.lanes;
  auto const move =
      choose_margin_move(c.subject,
                         {s.x + lane, m.slope_a + lane, m.slope_b + lane, m.tried + lane, s.stride,
                          m.margin_a[lane], m.margin_b[lane]},
                         step, word, direction_word);
  m.move[lane] = move.index;
  m.move_step[lane] = move.step;
  if (move.index >= 0) c.move(lane, c.subject.movable[move.index], move.step);
}

/// After the test of a local round and the record of the visit: what a hit and a miss do to a lane
/// beside its row.
/// i  its place in `found`
FL_HD void settle_margin(LaneContext const& c, MarginLanes const& m, MarginResult const& found,
                         long i, long lane) {
  auto const& s = c.lanes;
  bool const hit = s.hit[lane] != 0;
  note_margin_move(c.subject, hit, {m.move[lane], m.move_step[lane]}, m.tried + lane, s.stride);
  if (hit) {
    keep_margins(m, found, i, lane);
    c.keep_key(lane);
    m.misses[lane] = 0;
    m.stale[lane] = 1;
  } else {
    c.return_key(lane);
    ++m.misses[lane];
  }
}

}  // namespace fairlane
