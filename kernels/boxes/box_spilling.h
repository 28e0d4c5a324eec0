// Lines that most groups of a box keep to, after kernels/boxes/box_bounding.h.
//
// In a box with many inputs nearly all groups lie near its middle: a unit's sum rarely comes near
// its bounds. Here bounds are narrower, and leave a tail of groups out (kernels/boxes/box_tails.h).
// Of hidden layers but the last one, and of smooth ones, such groups are counted: of them the lines
// say nothing. A unit of a straight last hidden layer may leave its lines by what its sum lies
// beyond its bounds, times the difference of the slopes there at most, and the output by that times
// a weight. The mean of all that over the groups is known, so that the output lies beyond a line
// moved by z only for a share of them that is that mean over z (Markov). Roundings are bounded for
// the whole box.
#pragma once

#include "kernels/boxes/box_bounding.h"
#include "kernels/boxes/box_tails.h"

namespace fairlane {

/// Bounds over a pack: BoxBounding's, and then those of most groups.
template <class P>
struct BoxSpilling {
  using F = typename P::F;
  using M = typename P::M;
  using Rows = BoxRows<P>;
  using Work = typename Rows::Work;
  using Bounding = BoxBounding<P>;
  using Tails = BoxTails<P>;

  static FL_HOST_DEVICE void bound(BoxNetwork const& n, BoxLanes const& b) {
    F const zero = P::splat(0.0);
    M const lanes = Rows::get(b.share, 0) > zero;
    if (!P::any(lanes)) return Bounding::bound(n, b);
    Work const w(n, b.work);
    put(b.left_out, zero, lanes);
    put(b.below_spill, zero, lanes);
    put(b.above_spill, zero, lanes);
    for (int l = 0; l + 1 < n.layers; ++l) {
      tighten(n, b, w, l, lanes);
      Bounding::activate(n, b, w, l);
      if (spills(n, l)) spill(n, b, w, lanes);
    }
    F least;
    F most;
    auto const lines = Bounding::output_lines(n, b, w, lanes, least, most);
    for (int k = 0; k < n.inputs; ++k)
      Rows::put(w.sums_below, k, Rows::get(w.inputs_below, k) - Rows::get(w.inputs_above, k));
    typename Tails::Limits const apart = Tails::limits_anywhere(
        n, b, w.sums_below, 1.0, lines.below - lines.above, Rows::get(b.rarity, 0));
    M const crosses = apart.all > zero;
    put(b.crossing, P::select(crosses, P::max(apart.most, zero), zero), lanes);
    leave_out(b, Rows::get(b.share, 0), P::land(lanes, P::land(crosses, apart.all > apart.most)));
    Bounding::put_lines(n, b, w, lines, lanes);
  }

 private:
  // Tails that are counted cost more than those that are weighed: they are to be rarer.
  static constexpr double kRarer = 4.0;
  static constexpr double kLogRarer = 1.3862943611198908;  // rounded up

  /// Whether the tails of a hidden layer are weighed: how far a smooth activation may leave its
  /// lines is not bounded here.
  static FL_HD bool spills(BoxNetwork const& n, int l) {
    return l + 2 == n.layers && n.layer[l].straight;
  }
  static FL_HD void put(double* row, F x, M lanes) {
    Rows::put(row, 0, P::select(lanes, x, Rows::get(row, 0)));
  }
  static FL_HD void leave_out(BoxLanes const& b, F share, M lanes) {
    put(b.left_out, Rows::get(b.left_out, 0) + share, lanes);
  }

  /// A bound of a unit's sum, from above, and where it has a tail.
  struct Limit {
    F most;
    M tail;
  };

  /// The least of what a sum is never above, of what it is for inputs with the output at the level,
  /// and of what it is for most of them, if that is worthwhile.
  static FL_HD Limit choose(F known, typename Tails::Limits const& by_lines, F worthwhile) {
    F const all = P::min(known, by_lines.all);
    M const tail = all - worthwhile > by_lines.most;
    return {P::select(tail, by_lines.most, all), tail};
  }

  /// Narrows the bounds of a hidden layer's sums that leave both sides of 0. Where it spills,
  /// w.centre and w.radius get the means of what they lie below and above them.
  static FL_HOST_DEVICE void tighten(BoxNetwork const& n, BoxLanes const& b, Work const& w, int l,
                                     M lanes) {
    constexpr double kWorthwhile = 0.02;  // of the range
    F const zero = P::splat(0.0);
    BoxLayer const& layer = n.layer[l];
    bool const last = spills(n, l);
    F const share = Rows::get(b.share, 0) * P::splat(last ? 1.0 : 1.0 / kRarer);
    F const rarity = Rows::get(b.rarity, 0) + P::splat(last ? 0.0 : kLogRarer);
    for (int o = 0; o < layer.outputs; ++o) {
      int const u = layer.first_unit + o;
      if (last) {
        Rows::put(w.centre, o, zero);
        Rows::put(w.radius, o, zero);
      }
      if (layer.straight && layer.slope == 1.0) continue;
      F const low = Rows::get(b.sum_low, u);
      F const high = Rows::get(b.sum_high, u);
      M takes = lanes;
      if (layer.straight) takes = P::land(takes, P::land(low<zero, high> zero));
      if (!P::any(takes)) continue;
      F least;
      F most;
      auto const lines = Bounding::sum_lines(n, b, w, l, o, least, most);
      F const worthwhile = P::splat(kWorthwhile) * (high - low);
      auto const by_above = Tails::limits(n, b, w.inputs_above, 1.0, lines.above, rarity);
      auto const by_below = Tails::limits(n, b, w.inputs_below, -1.0, lines.below, rarity);
      Limit const up = choose(high, by_above, worthwhile);
      Limit const down = choose(Rows::negative(low), by_below, worthwhile);
      // Bounds that cross leave nothing between them: all may lie beyond.
      F const from = Rows::negative(down.most);
      M const crossed = from > up.most;
      F const middle = P::splat(0.5) * (from + up.most);
      Rows::put(b.sum_low, u, P::select(takes, P::select(crossed, middle, from), low));
      Rows::put(b.sum_high, u, P::select(takes, P::select(crossed, middle, up.most), high));
      M const over = P::land(takes, up.tail);
      M const under = P::land(takes, down.tail);
      if (last) {
        Rows::put(w.centre, o, P::select(under, share * by_below.excess, zero));
        Rows::put(w.radius, o, P::select(over, share * by_above.excess, zero));
      } else {
        leave_out(b, share, over);
        leave_out(b, share, under);
      }
    }
  }

  /// What the output lies beyond its lines by the tails of the last hidden layer's units.
  static FL_HOST_DEVICE void spill(BoxNetwork const& n, BoxLanes const& b, Work const& w, M lanes) {
    constexpr double kLoose = 0x1p-20;  // more than products are rounded by
    F const zero = P::splat(0.0);
    BoxLayer const& layer = n.layer[n.layers - 2];
    F const slope = P::splat(layer.slope);
    // Only a chord is left: the other line holds everywhere.
    bool const convex = layer.slope < 1.0;
    bool const exact = layer.slope == 0.0 || layer.slope == 1.0;
    F below = zero;
    F above = zero;
    for (int o = 0; o < layer.outputs; ++o) {
      int const u = layer.first_unit + o;
      F const low = Rows::get(w.centre, o);
      F const high = Rows::get(w.radius, o);
      F under = exact ? zero : P::splat(kLoose) * (low + high);
      F over = under;
      F const chord = Rows::get(convex ? w.above_slope : w.below_slope, u);
      F const beyond = P::fma(P::abs(P::splat(1.0) - chord), high, P::abs(chord - slope) * low);
      (convex ? over : under) = (convex ? over : under) + beyond;
      double const weight = n.last().weights[o];
      F const by = P::splat(weight < 0.0 ? -weight : weight);
      below = P::fma(by, weight < 0.0 ? over : under, below);
      above = P::fma(by, weight < 0.0 ? under : over, above);
    }
    F const loose = P::splat(1.0 + BoxError::kSlack);
    put(b.below_spill, below * loose, lanes);
    put(b.above_spill, above * loose, lanes);
  }
};

}  // namespace fairlane
