// What moves of several attributes (kernels/core/lattice.h) are predicted to do to the margins of a
// pack of origins.
#pragma once

#include "kernels/core/feasibility.h"
#include "kernels/core/lattice.h"

namespace fairlane {

/// A draw at the origins of one pack.
/// solved  steps of the third attribute
/// least   the smaller one of the predicted margins of the two sides
/// moved   by how much the first would change if all steps went one way
/// near    where it stays in the domain, and is not predicted to miss by far
template <Pack P>
struct LatticeMove {
  typename P::I solved;
  typename P::F least;
  typename P::F moved;
  typename P::M near;
};

/// What moves ask of a column, at one pack of origins; 0 of kNoColumn, which never moves.
/// down, up          codes to the bounds of its domain, the first at most 0
/// slope_a, slope_b  change of the sides' margins by a step
/// closing           1 / (slope_a - slope_b): steps that bring the margins nearer by 1; 0: none do
template <Pack P>
struct MoveColumn {
  using F = typename P::F;
  using I = typename P::I;

  I down;
  I up;
  F slope_a;
  F slope_b;
  F closing;
};

/// The same from what lanes have, anew for every move.
template <Pack P>
struct LaneColumns {
  Subject const& s;
  PlanLanes const& lanes;
  long lane;

  FL_HD MoveColumn<P> operator()(int c) const {
    auto const zero = P::splat(0.0F);
    if (c == MoveDraw::kNoColumn) return {P::splat_i(0), P::splat_i(0), zero, zero, zero};
    auto const x = P::load_i(lanes.x + c * lanes.stride + lane);
    auto const sign_b = P::load(lanes.sign_b + lane);
    auto const slope_a = P::load(lanes.slope_a + c * lanes.slope_stride + lane);
    auto const slope_b = sign_b * P::load(lanes.slope_b + c * lanes.slope_stride + lane);
    auto const apart = slope_a - slope_b;
    auto const closing = P::select(apart == zero, zero, P::divide(P::splat(1.0F), apart));
    return {P::splat_i(s.low[c]) - x, P::splat_i(s.high[c]) - x, slope_a, slope_b, closing};
  }
};

/// The same in memory, for many moves.
template <Pack P>
class KeptColumns {
 public:
  static constexpr int kLeast = MoveDraw::kNoColumn;
  static constexpr FL_HD long words(int columns) { return long{kWords} * (columns - kLeast); }

  /// memory: words(columns), for columns from kLeast on
  FL_HD explicit KeptColumns(std::int32_t* memory) : memory_(memory) {}
  FL_HD void keep(int c, MoveColumn<P> const& column) const {
    P::store_i(column.down, place(c, 0));
    P::store_i(column.up, place(c, 1));
    P::store_i(P::bits_of(column.slope_a), place(c, 2));
    P::store_i(P::bits_of(column.slope_b), place(c, 3));
    P::store_i(P::bits_of(column.closing), place(c, 4));
  }
  FL_HD MoveColumn<P> operator()(int c) const {
    return {P::load_i(place(c, 0)), P::load_i(place(c, 1)), P::float_of(P::load_i(place(c, 2))),
            P::float_of(P::load_i(place(c, 3))), P::float_of(P::load_i(place(c, 4)))};
  }

 private:
  static constexpr int kFields = 5;
  static constexpr int kWords = kFields * P::kLanes;

  FL_HD std::int32_t* place(int c, int field) const {
    return memory_ + (long{c} - kLeast) * kWords + field * P::kLanes;
  }

  std::int32_t* memory_;
};

/// What the moves of one pack's origins are predicted from.
/// Columns: LaneColumns or KeptColumns
template <Pack P, class Columns>
struct MovePrediction {
  using F = typename P::F;
  using I = typename P::I;

  Subject const& s;
  PlanLanes const& lanes;
  long lane;
  Columns columns;
  F margin_a;
  F margin_b;
  F gap;
  I most;  // what the sum of the rule for findings may come to, where there is one

  FL_HD MovePrediction(Subject const& subject, PlanLanes const& from, long first, Columns const& of)
      : s(subject), lanes(from), lane(first), columns(of) {
    margin_a = P::load(lanes.margin_a + lane);
    margin_b = P::load(lanes.margin_b + lane);
    gap = P::abs(margin_a + margin_b);
    if (s.feasible.finding_rules == 0) return;
    auto const nowhere = [](int) { return P::splat_i(0); };
    most = Feasible<P>::most_after_step(
        s.feasible, [&] { return sum_after(nowhere); }, [&] { return origin_words(); });
  }
  FL_HD LatticeMove<P> move(MoveDraw const& draw) const {
    I const zero = P::splat_i(0);
    Margins at{margin_a, margin_b, P::splat(0.0F)};
    auto outside = P::less_i(zero, zero);
    for (int i = 0; i < kMoveAttributes - 1; ++i) {
      MoveColumn<P> const column = columns(draw.column[i]);
      I const by = P::splat_i(draw.by[i]);
      outside = P::lor(outside, P::lor(P::less_i(column.up, by), P::less_i(by, column.down)));
      at.shift(column, P::to_float(by));
    }
    MoveColumn<P> const last = columns(draw.column[kMoveAttributes - 1]);
    I const solved = solve(last, at);
    at.shift(last, P::to_float(solved));
    constexpr float kFar = -0.5F;
    F const least = P::min(at.a, at.b);
    F const scale = P::max(P::abs(at.a + at.b), gap);
    return {solved, least, at.moved, P::land(P::lnot(outside), least > P::splat(kFar) * scale)};
  }
  /// Class of a move that is near; below kMoveCentres where it goes nowhere.
  static FL_HD I class_of(MoveDraw const& draw, I solved, F least, F moved) {
    constexpr float kSafe[] = {0.05F, 0.2F, 0.5F};
    I const one = P::splat_i(1);
    I const far = P::max_i(solved, P::splat_i(0) - solved) + P::splat_i(draw.distance);
    I const distance = P::min_i(far, P::splat_i(kMoveDistances - 1));
    I centre = P::select_i(least > P::splat(0.0F), P::splat_i(2), one);
    for (float const safe : kSafe)
      centre = P::select_i(least > P::splat(safe) * moved, centre + one, centre);
    return distance * P::splat_i(kMoveCentres) + centre;
  }
  /// Where a move leads to what may be a finding, and no further away from the plausible than is
  /// drawn for the origin.
  FL_HD typename P::M may_find(MoveDraw const& draw, I solved) const {
    I const sum = sum_after([&](int column) {
      I by = P::splat_i(0);
      for (int i = 0; i < kMoveAttributes - 1; ++i)
        by = by + P::splat_i(draw.column[i] == column ? draw.by[i] : 0);
      return draw.column[kMoveAttributes - 1] == column ? by + solved : by;
    });
    return P::lnot(P::less_i(most, sum));
  }

 private:
  /// Predicted margins of both sides, after some steps.
  /// moved  by how much the first would change if all steps went one way
  struct Margins {
    F a;
    F b;
    F moved;

    FL_HD void shift(MoveColumn<P> const& column, F by) {
      F const change = by * column.slope_a;
      a = a + change;
      b = P::fma(by, column.slope_b, b);
      moved = moved + P::abs(change);
    }
  };

  /// The integer step of a column that centres the boundary, inside the domain.
  static FL_HD I solve(MoveColumn<P> const& column, Margins const& at) {
    F const longest = P::splat(static_cast<float>(kLongestSolved));
    F const wanted =
        P::max(P::min((at.b - at.a) * column.closing, longest), P::splat(0.0F) - longest);
    F const magic = P::splat(12582912.0F);  // 1.5 * 2^23: adding it rounds to an integer
    I const by = P::bits_of(wanted + magic) - P::bits_of(magic);
    return P::max_i(P::min_i(by, column.up), column.down);
  }
  /// The sum of the rule for findings, `by(c)` codes away in column c.
  template <class By>
  FL_HD I sum_after(By const& by) const {
    I const variant = P::load_i(lanes.side_a + lane);
    return Feasible<P>::finding_sum_near(s, lanes.x + lane, lanes.stride, variant, by);
  }
  /// Random bits that are each origin's, whenever and wherever it is planned for.
  FL_HD typename P::U origin_words() const {
    std::int32_t word[P::kLanes];
    for (int i = 0; i < P::kLanes; ++i) {
      std::uint64_t hash = 0;
      for (int w = 0; w < lanes.words; ++w)
        hash = hash_word(hash, lanes.key[w * lanes.stride + lane + i]);
      word[i] = static_cast<std::int32_t>(hash >> 32);
    }
    return P::i_to_u(P::load_i(word));
  }
};

}  // namespace fairlane
