// Bounds of a network over boxes of inputs, a box a lane: intervals, and lines merged through the
// layers. The proof is that of kernels/boxes/network_bounds.h, whose BoxBounds is the reference
// that one box is compared with.
//
// Beyond it, sums may be known to lie in bounds that a caller has set (a unit's two sides are
// looked at one after the other): an input that breaks them is none that the lane speaks of, so the
// lines hold for the others.
#pragma once

#include "kernels/boxes/box_rows.h"
#include "kernels/boxes/relaxation.h"
#include "kernels/core/dense.h"

namespace fairlane {

/// Bounds over a pack.
template <class P>
struct BoxBounding {
  using F = typename P::F;
  using M = typename P::M;
  using Rows = BoxRows<P>;
  using Work = typename Rows::Work;

  /// Lines in a layer's inputs, as they are moved down.
  struct Lines {
    F below = P::splat(0.0);  // constants
    F above = P::splat(0.0);
    F below_size = P::splat(0.0);  // sums of magnitudes
    F above_size = P::splat(0.0);

    FL_HD void add_below(F x) {
      below = below + x;
      below_size = below_size + P::abs(x);
    }
    FL_HD void add_above(F x) {
      above = above + x;
      above_size = above_size + P::abs(x);
    }
  };

  /// What enters layer l: the box, or the ranges of the layer before.
  static FL_HD F input_low(BoxNetwork const& n, BoxLanes const& b, Work const& w, int l, int k) {
    return l == 0 ? Rows::get(b.low, k) : Rows::get(w.range_low, n.layer[l - 1].first_unit + k);
  }
  static FL_HD F input_high(BoxNetwork const& n, BoxLanes const& b, Work const& w, int l, int k) {
    return l == 0 ? Rows::get(b.high, k) : Rows::get(w.range_high, n.layer[l - 1].first_unit + k);
  }

  /// Intervals of kCount of a layer's sums from w.centre, radius and reach. Returns where they are
  /// finite.
  template <int kCount>
  static FL_HD M enclose_outputs(BoxLayer const& layer, LiveUnits<P> const& inputs,
                                 BoxLanes const& b, Work const& w, int first) {
    F sum[kCount];
    F spread[kCount];
    F size[kCount];
    for (int i = 0; i < kCount; ++i) {
      sum[i] = P::splat(layer.bias[first + i]);
      spread[i] = P::splat(0.0);
      size[i] = P::splat(layer.bias_magnitudes[first + i]);
    }
    for (int i = 0; i < inputs.count; ++i) {
      int const k = inputs[i];
      F const centre = Rows::get(w.centre, i);
      F const radius = Rows::get(w.radius, i);
      F const reach = Rows::get(w.reach, i);
      double const* const weight = layer.weights + static_cast<long>(k) * layer.outputs + first;
      double const* const magnitude =
          layer.magnitudes + static_cast<long>(k) * layer.outputs + first;
      FL_UNROLL
      for (int o = 0; o < kCount; ++o) {
        F const x = P::splat(weight[o]);
        sum[o] = P::fma(x, centre, sum[o]);
        spread[o] = P::fma(P::abs(x), radius, spread[o]);
        size[o] = P::fma(P::splat(magnitude[o]), reach, size[o]);
      }
    }
    M finite = size[0] < P::splat(BoxError::kLargest);
    for (int i = 0; i < kCount; ++i) {
      int const u = layer.first_unit + first + i;
      F const error = P::splat(layer.inputs * BoxError::kRounding) * size[i] +
                      P::splat(layer.inputs * BoxError::kSubnormal);
      Rows::put(w.error, u, error);
      Rows::put(b.sum_low, u, P::max(Rows::get(b.sum_low, u), sum[i] - spread[i] - error));
      Rows::put(b.sum_high, u, P::min(Rows::get(b.sum_high, u), sum[i] + spread[i] + error));
      finite = P::land(finite, size[i] < P::splat(BoxError::kLargest));
    }
    return finite;
  }

  /// Intervals of a layer's sums. Returns where they are finite.
  static FL_HOST_DEVICE M enclose(BoxNetwork const& n, BoxLanes const& b, Work const& w, int l) {
    constexpr int kBlock = 4;
    BoxLayer const& layer = n.layer[l];
    F const largest = P::splat(BoxError::kLargest);
    F most = P::splat(0.0);
    LiveUnits<P> const inputs = Rows::live_inputs(n, w, l);
    for (int i = 0; i < inputs.count; ++i) {
      F const low = input_low(n, b, w, l, inputs[i]);
      F const high = input_high(n, b, w, l, inputs[i]);
      F const centre = low + (high - low) * P::splat(0.5);
      Rows::put(w.centre, i, centre);
      Rows::put(w.radius, i, P::max(high - centre, centre - low));
      F const reach = P::max(P::abs(low), P::abs(high));
      Rows::put(w.reach, i, reach);
      most = P::max(reach, most);
    }
    M finite = P::lnot(most > largest);
    int o = 0;
    for (; o + kBlock <= layer.outputs; o += kBlock)
      finite = P::land(finite, enclose_outputs<kBlock>(layer, inputs, b, w, o));
    for (; o < layer.outputs; ++o)
      finite = P::land(finite, enclose_outputs<1>(layer, inputs, b, w, o));
    return finite;
  }

  /// The extreme of what takes its extremes at an interval's ends, or is 0 at 0, where that lies in
  /// it.
  static FL_HOST_DEVICE F extreme(M crosses, F first, F last, bool least) {
    F const end = least ? P::min(first, last) : P::max(first, last);
    F const zero = P::splat(0.0);
    return P::select(crosses, least ? P::min(end, zero) : P::max(end, zero), end);
  }

  /// Lines and ranges of a layer's activations.
  static FL_HOST_DEVICE void activate(BoxNetwork const& n, BoxLanes const& b, Work const& w,
                                      int l) {
    BoxLayer const& layer = n.layer[l];
    for (int o = 0; o < layer.outputs; ++o) {
      int const u = layer.first_unit + o;
      if (!layer.straight) {
        if constexpr (P::kCurved) activate_curved(layer, b, w, u);
        continue;
      }
      F const zero = P::splat(0.0);
      F const one = P::splat(1.0);
      F const slope = P::splat(layer.slope);
      F const low = Rows::get(b.sum_low, u);
      F const high = Rows::get(b.sum_high, u);
      F const at_low = P::select(low < zero, slope * low, low);
      F const at_high = P::select(high < zero, slope * high, high);
      F const reach = P::max(P::abs(low), P::abs(high));
      F const width = high - low;
      M const apart = width > P::splat(BoxError::kNarrow) * reach;
      F const slope_low = P::select(low < zero, slope, one);
      F const chord = P::select(apart, (at_high - at_low) / width, slope_low);
      M const crosses = P::land(zero > low, high > zero);
      F const near = P::select(high > Rows::negative(low), one, slope);
      M const convex = chord > slope;
      F const below = P::select(P::land(crosses, convex), near, chord);
      F const above = P::select(P::land(crosses, P::lnot(convex)), near, chord);
      F const least = extreme(crosses, at_low, at_high, true);
      F const most = extreme(crosses, at_low, at_high, false);
      F const largest = P::max(P::abs(least), P::abs(most));
      bool const exact = layer.slope == 0.0 || layer.slope == 1.0;
      F const error =
          exact ? zero : P::splat(BoxError::kProduct) * largest + P::splat(BoxError::kTiny);
      F const line = P::splat(BoxError::kLine);
      F const below_pad = error + line * (largest + P::abs(below) * reach);
      F const above_pad = error + line * (largest + P::abs(above) * reach);
      F const range_pad = exact ? zero : error + line * largest;
      Rows::put(w.below_slope, u, below);
      Rows::put(w.above_slope, u, above);
      Rows::put(w.below_offset, u,
                extreme(crosses, at_low - below * low, at_high - below * high, true) - below_pad);
      Rows::put(w.above_offset, u,
                extreme(crosses, at_low - above * low, at_high - above * high, false) + above_pad);
      Rows::put(w.range_low, u, least - range_pad);
      Rows::put(w.range_high, u, most + range_pad);
    }
    double const* const rows_of[] = {w.below_slope,  w.below_offset, w.above_slope,
                                     w.above_offset, w.range_low,    w.range_high};
    Rows::list_live(n, w, l, [&](int o) {
      F const zero = P::splat(0.0);
      M is_zero = zero == zero;
      for (double const* rows : rows_of)
        is_zero = P::land(is_zero, Rows::get(rows, layer.first_unit + o) == zero);
      return P::lnot(is_zero);
    });
  }

  static void activate_curved(BoxLayer const& layer, BoxLanes const& b, Work const& w, int u) {
    for (int lane = 0; lane < P::kLanes; ++lane) {
      long const at = static_cast<long>(u) * P::kStride + lane;
      Interval z{b.sum_low[at], b.sum_high[at]};
      if (!(z.low <= z.high) || !(z.high - z.low <= BoxError::kLargest)) z = {};
      Relaxation const lines = relax(layer.activation, layer.alpha, z);
      w.below_slope[at] = lines.below.slope;
      w.below_offset[at] = lines.below.offset;
      w.above_slope[at] = lines.above.slope;
      w.above_offset[at] = lines.above.offset;
      w.range_low[at] = lines.range.low;
      w.range_high[at] = lines.range.high;
    }
  }

  /// Moves lines in the sums of layer l down to what enters layer `to`: from w.sums_* to
  /// w.inputs_*.
  static FL_HOST_DEVICE void move_down(BoxNetwork const& n, Work const& w, int l, int to,
                                       Lines& lines) {
    for (;; --l) {
      BoxLayer const& layer = n.layer[l];
      LiveUnits<P> const units = Rows::live_units(n, w, l);
      for (int i = 0; i < units.count; ++i) {
        int const o = units[i];
        F const below = Rows::get(w.sums_below, i);
        F const above = Rows::get(w.sums_above, i);
        F const bias = P::splat(layer.bias[o]);
        F const error = Rows::get(w.error, layer.first_unit + o);
        lines.add_below(below * bias);
        lines.add_below(Rows::negative(P::abs(below) * error));
        lines.add_above(above * bias);
        lines.add_above(P::abs(above) * error);
      }
      multiply(n, w, l);
      if (l <= to) return;
      through_activation(n, w, l - 1, lines);
    }
  }

  /// Coefficients of kCount of a layer's live inputs, from `first` on, from those of its live sums.
  template <int kCount>
  static FL_HD void multiply_inputs(BoxLayer const& layer, LiveUnits<P> const& units,
                                    LiveUnits<P> const& inputs, Work const& w, int first) {
    F below[kCount];
    F above[kCount];
    int at[kCount];
    for (int i = 0; i < kCount; ++i) {
      below[i] = above[i] = P::splat(0.0);
      at[i] = inputs[first + i];
    }
    for (int row = 0; row < units.count; ++row) {
      F const of_below = Rows::get(w.sums_below, row);
      F const of_above = Rows::get(w.sums_above, row);
      double const* const weight = layer.transposed + static_cast<long>(units[row]) * layer.inputs;
      FL_UNROLL
      for (int i = 0; i < kCount; ++i) {
        F const x = P::splat(weight[at[i]]);
        below[i] = P::fma(of_below, x, below[i]);
        above[i] = P::fma(of_above, x, above[i]);
      }
    }
    for (int i = 0; i < kCount; ++i) {
      Rows::put(w.inputs_below, first + i, below[i]);
      Rows::put(w.inputs_above, first + i, above[i]);
    }
  }

  /// Coefficients of a layer's live inputs from those of its live sums.
  static FL_HOST_DEVICE void multiply(BoxNetwork const& n, Work const& w, int l) {
    constexpr int kBlock = P::kLanes > 1 ? 8 : 4;  // sums that registers hold
    LiveUnits<P> const units = Rows::live_units(n, w, l);
    LiveUnits<P> const inputs = Rows::live_inputs(n, w, l);
    int first = 0;
    for (; first + kBlock <= inputs.count; first += kBlock)
      multiply_inputs<kBlock>(n.layer[l], units, inputs, w, first);
    for (; first + kBlock / 2 <= inputs.count; first += kBlock / 2)
      multiply_inputs<kBlock / 2>(n.layer[l], units, inputs, w, first);
    for (; first < inputs.count; ++first) multiply_inputs<1>(n.layer[l], units, inputs, w, first);
  }

  /// Coefficients of a layer's sums from those of its activations.
  static FL_HOST_DEVICE void through_activation(BoxNetwork const& n, Work const& w, int l,
                                                Lines& lines) {
    F const zero = P::splat(0.0);
    LiveUnits<P> const units = Rows::live_units(n, w, l);
    for (int i = 0; i < units.count; ++i) {
      int const u = n.layer[l].first_unit + units[i];
      F const below = Rows::get(w.inputs_below, i);
      F const above = Rows::get(w.inputs_above, i);
      F const below_slope = Rows::get(w.below_slope, u);
      F const above_slope = Rows::get(w.above_slope, u);
      F const below_offset = Rows::get(w.below_offset, u);
      F const above_offset = Rows::get(w.above_offset, u);
      M const turns_below = below < zero;
      M const turns_above = above < zero;
      lines.add_below(below * P::select(turns_below, above_offset, below_offset));
      lines.add_above(above * P::select(turns_above, below_offset, above_offset));
      Rows::put(w.sums_below, i, below * P::select(turns_below, above_slope, below_slope));
      Rows::put(w.sums_above, i, above * P::select(turns_above, below_slope, above_slope));
    }
  }

  /// Least and most that lines in the inputs can be over the box, padded; the constants, too.
  static FL_HOST_DEVICE void finish(BoxNetwork const& n, BoxLanes const& b, Work const& w,
                                    Lines& lines, F& least, F& most) {
    F const zero = P::splat(0.0);
    F low = lines.below;
    F high = lines.above;
    for (int k = 0; k < n.inputs; ++k) {
      F const from = Rows::get(b.low, k);
      F const to = Rows::get(b.high, k);
      F const reach = P::max(P::abs(from), P::abs(to));
      F const below = Rows::get(w.inputs_below, k);
      F const above = Rows::get(w.inputs_above, k);
      low = P::fma(below, P::select(below < zero, to, from), low);
      high = P::fma(above, P::select(above < zero, from, to), high);
      lines.below_size = P::fma(P::abs(below), reach, lines.below_size);
      lines.above_size = P::fma(P::abs(above), reach, lines.above_size);
    }
    F const pad = P::splat(n.terms * BoxError::kConstant);
    F const spare = P::splat(BoxError::kUnderflow);
    F const pad_below = pad * lines.below_size + spare;
    F const pad_above = pad * lines.above_size + spare;
    lines.below = lines.below - pad_below;
    lines.above = lines.above + pad_above;
    least = low - pad_below;
    most = high + pad_above;
  }

  /// Lines of a unit's sum in the inputs, whose coefficients are in w.inputs_*, and its least and
  /// its most by them.
  static FL_HOST_DEVICE Lines sum_lines(BoxNetwork const& n, BoxLanes const& b, Work const& w,
                                        int l, int o, F& least, F& most) {
    BoxLayer const& layer = n.layer[l];
    LiveUnits<P> const inputs = Rows::live_inputs(n, w, l);
    for (int i = 0; i < inputs.count; ++i) {
      F const weight = P::splat(layer.transposed[static_cast<long>(o) * layer.inputs + inputs[i]]);
      Rows::put(w.inputs_below, i, weight);
      Rows::put(w.inputs_above, i, weight);
    }
    Lines lines;
    F const bias = P::splat(layer.bias[o]);
    F const error = Rows::get(w.error, layer.first_unit + o);
    lines.add_below(bias);
    lines.add_above(bias);
    lines.add_below(Rows::negative(error));
    lines.add_above(error);
    if (l > 0) {
      through_activation(n, w, l - 1, lines);
      move_down(n, w, l - 1, 0, lines);
    }
    finish(n, b, w, lines, least, most);
    return lines;
  }

  /// Lines of the output, as of a unit's sum.
  /// lanes: whose coefficients of the first layer's units are handed out
  static FL_HOST_DEVICE Lines output_lines(BoxNetwork const& n, BoxLanes const& b, Work const& w,
                                           M lanes, F& least, F& most) {
    Rows::put(w.sums_below, 0, P::splat(1.0));
    Rows::put(w.sums_above, 0, P::splat(1.0));
    Lines lines;
    move_down(n, w, n.layers - 1, 1, lines);
    if (n.layers > 1) {
      put_units(n, b, w, lanes);
      through_activation(n, w, 0, lines);
      move_down(n, w, 0, 0, lines);
    }
    finish(n, b, w, lines, least, most);
    return lines;
  }

  static FL_HOST_DEVICE void put_units(BoxNetwork const& n, BoxLanes const& b, Work const& w,
                                       M lanes) {
    F const zero = P::splat(0.0);
    for (int o = 0; o < n.hidden; ++o) {
      Rows::put(b.below_units, o, P::select(lanes, zero, Rows::get(b.below_units, o)));
      Rows::put(b.above_units, o, P::select(lanes, zero, Rows::get(b.above_units, o)));
    }
    LiveUnits<P> const units = Rows::live_units(n, w, 0);
    for (int i = 0; i < units.count; ++i) {
      int const o = units[i];
      Rows::put(b.below_units, o,
                P::select(lanes, Rows::get(w.inputs_below, i), Rows::get(b.below_units, o)));
      Rows::put(b.above_units, o,
                P::select(lanes, Rows::get(w.inputs_above, i), Rows::get(b.above_units, o)));
    }
  }

  /// Bounds of a hidden layer's sums by lines, where intervals leave both sides of 0.
  static FL_HOST_DEVICE void tighten(BoxNetwork const& n, BoxLanes const& b, Work const& w, int l) {
    BoxLayer const& layer = n.layer[l];
    if (layer.straight && layer.slope == 1.0) return;
    F const zero = P::splat(0.0);
    for (int o = 0; o < layer.outputs; ++o) {
      int const u = layer.first_unit + o;
      M const open = P::land(Rows::get(b.sum_low, u) < zero, Rows::get(b.sum_high, u) > zero);
      if (layer.straight && !P::any(open)) continue;
      F least;
      F most;
      sum_lines(n, b, w, l, o, least, most);
      // Lanes without need keep theirs: what a lane gets must not depend on its neighbours.
      M const takes = layer.straight ? open : P::lnot(zero > zero);
      Rows::put(b.sum_low, u,
                P::select(takes, P::max(Rows::get(b.sum_low, u), least), Rows::get(b.sum_low, u)));
      Rows::put(b.sum_high, u,
                P::select(takes, P::min(Rows::get(b.sum_high, u), most), Rows::get(b.sum_high, u)));
    }
  }

  static FL_HOST_DEVICE void bound(BoxNetwork const& n, BoxLanes const& b) {
    Work const w(n, b.work);
    F const zero = P::splat(0.0);
    M bounded = P::lnot(zero > zero);
    int const last = n.layers - 1;
    for (int l = 0; l <= last; ++l) {
      bounded = P::land(bounded, enclose(n, b, w, l));
      if (l == last) break;
      if (l > 0) tighten(n, b, w, l);
      activate(n, b, w, l);
    }
    int const output = n.last().first_unit;
    F least;
    F most;
    M const all = P::lnot(zero > zero);
    Lines const lines = output_lines(n, b, w, all, least, most);
    Rows::put(b.sum_low, output, P::max(Rows::get(b.sum_low, output), least));
    Rows::put(b.sum_high, output, P::min(Rows::get(b.sum_high, output), most));
    M impossible = zero > zero;
    F const none = P::splat(Rows::kInfinity);
    for (int u = 0; u < n.units; ++u) {
      F const low = P::select(bounded, Rows::get(b.sum_low, u), Rows::negative(none));
      F const high = P::select(bounded, Rows::get(b.sum_high, u), none);
      Rows::put(b.sum_low, u, low);
      Rows::put(b.sum_high, u, high);
      impossible = P::lor(impossible, low > high);
    }
    Rows::put(b.possible, 0, P::select(impossible, zero, P::splat(1.0)));
    Rows::put(b.least, 0, Rows::get(b.sum_low, output));
    Rows::put(b.most, 0, Rows::get(b.sum_high, output));
    put_lines(n, b, w, lines, all);
  }

  /// Hands lines in the inputs out. lanes: whose
  static FL_HOST_DEVICE void put_lines(BoxNetwork const& n, BoxLanes const& b, Work const& w,
                                       Lines const& lines, M lanes) {
    auto const put = [&](double* rows, int k, F x) {
      Rows::put(rows, k, P::select(lanes, x, Rows::get(rows, k)));
    };
    put(b.below_constant, 0, lines.below);
    put(b.above_constant, 0, lines.above);
    for (int k = 0; k < n.inputs; ++k) {
      put(b.below, k, Rows::get(w.inputs_below, k));
      put(b.above, k, Rows::get(w.inputs_above, k));
    }
  }
};

}  // namespace fairlane
