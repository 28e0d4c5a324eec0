// Bounds of a network over boxes of inputs, a box a lane: intervals, lines merged through the
// layers, and how a condition on the output narrows the box. The proof is that of
// kernels/boxes/network_bounds.h, whose BoxBounds is the reference that one box is compared with.
//
// Beyond it, sums may be known to lie in bounds that a caller has set (a unit's two sides are
// looked at one after the other): an input that breaks them is none that the lane speaks of, so the
// lines hold for the others. A constraint sum w_k a_k + b + e >= z over ranges of a leaves
//     w_j a_j >= z - (most - most of w_j a_j),    most = b + E + sum of the most of w_k a_k,
// where kSlack of all magnitudes is more than the few roundings to double on the way.
#pragma once

#include <limits>

#include "kernels/boxes/box_kernels.h"
#include "kernels/boxes/box_pack.h"
#include "kernels/boxes/relaxation.h"
#include "kernels/core/dense.h"

namespace fairlane {

/// What roundings cost; see kernels/boxes/network_bounds.cpp.
struct BoxError {
  static constexpr double kLargest = 1.0e38;
  static constexpr double kRounding = 0x1p-24 * 1.02;
  static constexpr double kSubnormal = 0x1p-148;
  static constexpr double kConstant = 0x1p-52;
  static constexpr double kUnderflow = 1.0e-250;
  static constexpr double kLine = 0x1p-44;
  static constexpr double kProduct = 0x1p-23;
  static constexpr double kTiny = 0x1p-120;
  static constexpr double kNarrow = 0x1p-20;
  static constexpr double kSlack = 0x1p-36;
};

/// BoxKernels for a pack.
template <class P>
struct BoxTiles {
  using F = typename P::F;
  using M = typename P::M;
  static constexpr int kN = P::kLanes;
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  static FL_HD F get(double const* rows, int i) { return P::load(rows + i * kN); }
  static FL_HD void put(double* rows, int i, F x) { P::store(x, rows + i * kN); }
  static FL_HD F negative(F x) { return P::splat(0.0) - x; }

  /// Working memory by name.
  struct Work {
    double* error;
    double* below_slope;
    double* below_offset;
    double* above_slope;
    double* above_offset;
    double* range_low;
    double* range_high;
    double* sums_below;  // [widest] coefficients of a layer's sums, and of its inputs
    double* sums_above;
    double* inputs_below;
    double* inputs_above;
    double* centre;  // [widest]
    double* radius;
    double* reach;

    FL_HD Work(BoxNetwork const& n, double* p) {
      long const units = static_cast<long>(n.units) * kN;
      long const wide = static_cast<long>(n.widest) * kN;
      double** const of_units[] = {&error,        &below_slope, &below_offset, &above_slope,
                                   &above_offset, &range_low,   &range_high};
      for (double** const at : of_units) {
        *at = p;
        p += units;
      }
      double** const of_inputs[] = {&sums_below, &sums_above, &inputs_below, &inputs_above,
                                    &centre,     &radius,     &reach};
      for (double** const at : of_inputs) {
        *at = p;
        p += wide;
      }
    }
  };

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
    return l == 0 ? get(b.low, k) : get(w.range_low, n.layer[l - 1].first_unit + k);
  }
  static FL_HD F input_high(BoxNetwork const& n, BoxLanes const& b, Work const& w, int l, int k) {
    return l == 0 ? get(b.high, k) : get(w.range_high, n.layer[l - 1].first_unit + k);
  }

  /// Intervals of kCount of a layer's sums from w.centre, radius and reach. Returns where they are
  /// finite.
  template <int kCount>
  static FL_HD M enclose_outputs(BoxLayer const& layer, BoxLanes const& b, Work const& w,
                                 int first) {
    F sum[kCount];
    F spread[kCount];
    F size[kCount];
    for (int i = 0; i < kCount; ++i) {
      sum[i] = P::splat(layer.bias[first + i]);
      spread[i] = P::splat(0.0);
      size[i] = P::splat(layer.bias_magnitudes[first + i]);
    }
    for (int k = 0; k < layer.inputs; ++k) {
      F const centre = get(w.centre, k);
      F const radius = get(w.radius, k);
      F const reach = get(w.reach, k);
      double const* const weight = layer.weights + static_cast<long>(k) * layer.outputs + first;
      double const* const magnitude =
          layer.magnitudes + static_cast<long>(k) * layer.outputs + first;
      FL_UNROLL
      for (int i = 0; i < kCount; ++i) {
        F const x = P::splat(weight[i]);
        sum[i] = P::fma(x, centre, sum[i]);
        spread[i] = P::fma(P::abs(x), radius, spread[i]);
        size[i] = P::fma(P::splat(magnitude[i]), reach, size[i]);
      }
    }
    M finite = size[0] < P::splat(BoxError::kLargest);
    for (int i = 0; i < kCount; ++i) {
      int const u = layer.first_unit + first + i;
      F const error = P::splat(layer.inputs * BoxError::kRounding) * size[i] +
                      P::splat(layer.inputs * BoxError::kSubnormal);
      put(w.error, u, error);
      put(b.sum_low, u, P::max(get(b.sum_low, u), sum[i] - spread[i] - error));
      put(b.sum_high, u, P::min(get(b.sum_high, u), sum[i] + spread[i] + error));
      finite = P::land(finite, size[i] < P::splat(BoxError::kLargest));
    }
    return finite;
  }

  /// Intervals of a layer's sums. Returns where they are finite.
  static M enclose(BoxNetwork const& n, BoxLanes const& b, Work const& w, int l) {
    constexpr int kBlock = 4;
    BoxLayer const& layer = n.layer[l];
    F const largest = P::splat(BoxError::kLargest);
    F most = P::splat(0.0);
    for (int k = 0; k < layer.inputs; ++k) {
      F const low = input_low(n, b, w, l, k);
      F const high = input_high(n, b, w, l, k);
      F const centre = low + (high - low) * P::splat(0.5);
      put(w.centre, k, centre);
      put(w.radius, k, P::max(high - centre, centre - low));
      F const reach = P::max(P::abs(low), P::abs(high));
      put(w.reach, k, reach);
      most = P::max(reach, most);
    }
    M finite = P::lnot(most > largest);
    int o = 0;
    for (; o + kBlock <= layer.outputs; o += kBlock)
      finite = P::land(finite, enclose_outputs<kBlock>(layer, b, w, o));
    for (; o < layer.outputs; ++o) finite = P::land(finite, enclose_outputs<1>(layer, b, w, o));
    return finite;
  }

  /// The extreme of what takes its extremes at an interval's ends, or is 0 at 0, where that lies in
  /// it.
  static F extreme(M crosses, F first, F last, bool least) {
    F const end = least ? P::min(first, last) : P::max(first, last);
    F const zero = P::splat(0.0);
    return P::select(crosses, least ? P::min(end, zero) : P::max(end, zero), end);
  }

  /// Lines and ranges of a layer's activations.
  static void activate(BoxNetwork const& n, BoxLanes const& b, Work const& w, int l) {
    BoxLayer const& layer = n.layer[l];
    for (int o = 0; o < layer.outputs; ++o) {
      int const u = layer.first_unit + o;
      if (!layer.straight) {
        activate_curved(layer, b, w, u);
        continue;
      }
      F const zero = P::splat(0.0);
      F const one = P::splat(1.0);
      F const slope = P::splat(layer.slope);
      F const low = get(b.sum_low, u);
      F const high = get(b.sum_high, u);
      F const at_low = P::select(low < zero, slope * low, low);
      F const at_high = P::select(high < zero, slope * high, high);
      F const reach = P::max(P::abs(low), P::abs(high));
      F const width = high - low;
      M const apart = width > P::splat(BoxError::kNarrow) * reach;
      F const slope_low = P::select(low < zero, slope, one);
      F const chord = P::select(apart, (at_high - at_low) / width, slope_low);
      M const crosses = P::land(zero > low, high > zero);
      F const near = P::select(high > negative(low), one, slope);
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
      put(w.below_slope, u, below);
      put(w.above_slope, u, above);
      put(w.below_offset, u,
          extreme(crosses, at_low - below * low, at_high - below * high, true) - below_pad);
      put(w.above_offset, u,
          extreme(crosses, at_low - above * low, at_high - above * high, false) + above_pad);
      put(w.range_low, u, least - range_pad);
      put(w.range_high, u, most + range_pad);
    }
  }

  static void activate_curved(BoxLayer const& layer, BoxLanes const& b, Work const& w, int u) {
    for (int lane = 0; lane < kN; ++lane) {
      long const at = static_cast<long>(u) * kN + lane;
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

  /// Moves lines in the sums of layer l down to the network's inputs: from w.sums_* to w.inputs_*.
  static void move_down(BoxNetwork const& n, Work const& w, int l, Lines& lines) {
    for (;; --l) {
      BoxLayer const& layer = n.layer[l];
      for (int o = 0; o < layer.outputs; ++o) {
        F const below = get(w.sums_below, o);
        F const above = get(w.sums_above, o);
        F const bias = P::splat(layer.bias[o]);
        F const error = get(w.error, layer.first_unit + o);
        lines.add_below(below * bias);
        lines.add_below(negative(P::abs(below) * error));
        lines.add_above(above * bias);
        lines.add_above(P::abs(above) * error);
      }
      multiply(layer, w);
      if (l == 0) return;
      through_activation(n.layer[l - 1], w, lines);
    }
  }

  /// Coefficients of a layer's inputs from those of its sums.
  static void multiply(BoxLayer const& layer, Work const& w) {
    constexpr int kBlock = 8;
    for (int first = 0; first < layer.inputs; first += kBlock) {
      F below[kBlock];
      F above[kBlock];
      for (int i = 0; i < kBlock; ++i) below[i] = above[i] = P::splat(0.0);
      if (first + kBlock <= layer.inputs) {
        for (int o = 0; o < layer.outputs; ++o) {
          F const of_below = get(w.sums_below, o);
          F const of_above = get(w.sums_above, o);
          double const* const weight =
              layer.transposed + static_cast<long>(o) * layer.inputs + first;
          FL_UNROLL
          for (int i = 0; i < kBlock; ++i) {
            F const x = P::splat(weight[i]);
            below[i] = P::fma(of_below, x, below[i]);
            above[i] = P::fma(of_above, x, above[i]);
          }
        }
        for (int i = 0; i < kBlock; ++i) {
          put(w.inputs_below, first + i, below[i]);
          put(w.inputs_above, first + i, above[i]);
        }
        continue;
      }
      for (int k = first; k < layer.inputs; ++k) {
        F x = P::splat(0.0);
        F y = P::splat(0.0);
        for (int o = 0; o < layer.outputs; ++o) {
          F const weight = P::splat(layer.transposed[static_cast<long>(o) * layer.inputs + k]);
          x = P::fma(get(w.sums_below, o), weight, x);
          y = P::fma(get(w.sums_above, o), weight, y);
        }
        put(w.inputs_below, k, x);
        put(w.inputs_above, k, y);
      }
    }
  }

  /// Coefficients of a layer's sums from those of its activations.
  static void through_activation(BoxLayer const& layer, Work const& w, Lines& lines) {
    F const zero = P::splat(0.0);
    for (int o = 0; o < layer.outputs; ++o) {
      int const u = layer.first_unit + o;
      F const below = get(w.inputs_below, o);
      F const above = get(w.inputs_above, o);
      F const below_slope = get(w.below_slope, u);
      F const above_slope = get(w.above_slope, u);
      F const below_offset = get(w.below_offset, u);
      F const above_offset = get(w.above_offset, u);
      M const turns_below = below < zero;
      M const turns_above = above < zero;
      lines.add_below(below * P::select(turns_below, above_offset, below_offset));
      lines.add_above(above * P::select(turns_above, below_offset, above_offset));
      put(w.sums_below, o, below * P::select(turns_below, above_slope, below_slope));
      put(w.sums_above, o, above * P::select(turns_above, below_slope, above_slope));
    }
  }

  /// Least and most that lines in the inputs can be over the box, padded; the constants, too.
  static void finish(BoxNetwork const& n, BoxLanes const& b, Work const& w, Lines& lines, F& least,
                     F& most) {
    F const zero = P::splat(0.0);
    F low = lines.below;
    F high = lines.above;
    for (int k = 0; k < n.inputs; ++k) {
      F const from = get(b.low, k);
      F const to = get(b.high, k);
      F const reach = P::max(P::abs(from), P::abs(to));
      F const below = get(w.inputs_below, k);
      F const above = get(w.inputs_above, k);
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

  /// Bounds of a hidden layer's sums by lines, where intervals leave both sides of 0.
  static void tighten(BoxNetwork const& n, BoxLanes const& b, Work const& w, int l) {
    BoxLayer const& layer = n.layer[l];
    if (layer.straight && layer.slope == 1.0) return;
    F const zero = P::splat(0.0);
    for (int o = 0; o < layer.outputs; ++o) {
      int const u = layer.first_unit + o;
      M const open = P::land(get(b.sum_low, u) < zero, get(b.sum_high, u) > zero);
      if (layer.straight && !P::any(open)) continue;
      for (int k = 0; k < layer.inputs; ++k) {
        F const weight = P::splat(layer.transposed[static_cast<long>(o) * layer.inputs + k]);
        put(w.inputs_below, k, weight);
        put(w.inputs_above, k, weight);
      }
      Lines lines;
      F const bias = P::splat(layer.bias[o]);
      F const error = get(w.error, u);
      lines.add_below(bias);
      lines.add_above(bias);
      lines.add_below(negative(error));
      lines.add_above(error);
      through_activation(n.layer[l - 1], w, lines);
      move_down(n, w, l - 1, lines);
      F least;
      F most;
      finish(n, b, w, lines, least, most);
      // Lanes without need keep theirs: what a lane gets must not depend on its neighbours.
      M const takes = layer.straight ? open : P::lnot(zero > zero);
      put(b.sum_low, u, P::select(takes, P::max(get(b.sum_low, u), least), get(b.sum_low, u)));
      put(b.sum_high, u, P::select(takes, P::min(get(b.sum_high, u), most), get(b.sum_high, u)));
    }
  }

  static void bound(BoxNetwork const& n, BoxLanes const& b) {
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
    put(w.sums_below, 0, P::splat(1.0));
    put(w.sums_above, 0, P::splat(1.0));
    Lines lines;
    move_down(n, w, last, lines);
    F least;
    F most;
    finish(n, b, w, lines, least, most);
    put(b.sum_low, output, P::max(get(b.sum_low, output), least));
    put(b.sum_high, output, P::min(get(b.sum_high, output), most));
    M impossible = zero > zero;
    F const none = P::splat(kInfinity);
    for (int u = 0; u < n.units; ++u) {
      F const low = P::select(bounded, get(b.sum_low, u), negative(none));
      F const high = P::select(bounded, get(b.sum_high, u), none);
      put(b.sum_low, u, low);
      put(b.sum_high, u, high);
      impossible = P::lor(impossible, low > high);
    }
    put(b.possible, 0, P::select(impossible, zero, P::splat(1.0)));
    put(b.least, 0, get(b.sum_low, output));
    put(b.most, 0, get(b.sum_high, output));
    put(b.below_constant, 0, lines.below);
    put(b.above_constant, 0, lines.above);
    for (int k = 0; k < n.inputs; ++k) {
      put(b.below, k, get(w.inputs_below, k));
      put(b.above, k, get(w.inputs_above, k));
    }
  }

  /// Of a x_k >= least (or a x_k <= most, with the sign turned): the new ends of x_k's range, where
  /// the others leave `slack` of it. coefficient: of x_k
  static FL_HD void clip(F coefficient, F slack, F& low, F& high) {
    F const zero = P::splat(0.0);
    M const rises = coefficient > zero;
    M const falls = coefficient < zero;
    F const by = slack / P::abs(coefficient);
    F const pad = P::splat(BoxError::kSlack) * (P::abs(by) + P::max(P::abs(low), P::abs(high)));
    F const from = high - by - pad;
    F const to = low + by + pad;
    low = P::select(P::land(rises, from > low), from, low);
    high = P::select(P::land(falls, to < high), to, high);
  }

  /// Narrows the ranges that enter layer l to what its sums' bounds leave. active: lanes
  static void narrow_inputs(BoxNetwork const& n, BoxLanes const& b, Work const& w, int l,
                            M active) {
    BoxLayer const& layer = n.layer[l];
    F const zero = P::splat(0.0);
    double* const lows =
        l == 0 ? b.low : w.range_low + static_cast<long>(n.layer[l - 1].first_unit) * kN;
    double* const highs =
        l == 0 ? b.high : w.range_high + static_cast<long>(n.layer[l - 1].first_unit) * kN;
    for (int o = 0; o < layer.outputs; ++o) {
      int const u = layer.first_unit + o;
      double const* const weight = layer.transposed + static_cast<long>(o) * layer.inputs;
      F const error = get(w.error, u);
      F const bias = P::splat(layer.bias[o]);
      F low = bias - error;
      F high = bias + error;
      F size = P::abs(bias) + error;
      for (int k = 0; k < layer.inputs; ++k) {
        F const x = P::splat(weight[k]);
        F const from = get(lows, k);
        F const to = get(highs, k);
        bool const rises = weight[k] > 0.0;
        low = P::fma(x, rises ? from : to, low);
        high = P::fma(x, rises ? to : from, high);
        size = P::fma(P::abs(x), P::max(P::abs(from), P::abs(to)), size);
      }
      F const pad = P::splat(BoxError::kSlack) * size;
      F const least = get(b.sum_low, u);
      F const most = get(b.sum_high, u);
      M const at_least = P::land(active, least > low);
      M const at_most = P::land(active, most < high);
      if (!P::any(P::lor(at_least, at_most))) continue;
      // A bound that does not bite leaves all the slack there is.
      F const none = P::splat(kInfinity);
      F const above = P::select(at_least, high - least + pad, none);
      F const below = P::select(at_most, most - low + pad, none);
      M const broken = P::lor(above < zero, below < zero);
      put(b.possible, 0, P::select(broken, zero, get(b.possible, 0)));
      for (int k = 0; k < layer.inputs; ++k) {
        if (weight[k] == 0.0) continue;
        F const x = P::splat(weight[k]);
        F from = get(lows, k);
        F to = get(highs, k);
        clip(x, above, from, to);
        clip(negative(x), below, from, to);
        put(lows, k, from);
        put(highs, k, to);
      }
    }
  }

  /// Bounds of a layer's sums from the ranges of its activations, which are straight.
  static void narrow_sums(BoxLayer const& layer, BoxLanes const& b, Work const& w, M active) {
    F const zero = P::splat(0.0);
    F const pad = P::splat(BoxError::kSlack);
    for (int o = 0; o < layer.outputs; ++o) {
      int const u = layer.first_unit + o;
      F const from = get(w.range_low, u);
      F const to = get(w.range_high, u);
      F low = get(b.sum_low, u);
      F high = get(b.sum_high, u);
      F const positive = from - pad * P::abs(from);
      low = P::select(P::land(active, positive > zero), P::max(low, positive), low);
      if (layer.slope > 0.0) {
        // A product is rounded once, and where it is tiny by more.
        F const over = P::splat(1.0 / layer.slope);
        F const loose = P::splat(0x1p-20);
        F const tiny = P::splat(BoxError::kTiny / layer.slope);
        F const least = from * over - loose * P::abs(from * over) - tiny;
        F const most = to * over + loose * P::abs(to * over) + tiny;
        low = P::select(P::land(active, from < zero), P::max(low, least), low);
        high = P::select(P::land(active, most < zero), P::min(high, most), high);
      }
      F const upper = P::max(to + pad * P::abs(to), zero);
      high = P::select(active, P::min(high, upper), high);
      put(b.sum_low, u, low);
      put(b.sum_high, u, high);
      M const broken =
          P::land(active, P::lor(low > high, layer.slope == 0.0 ? to < zero : zero > zero));
      put(b.possible, 0, P::select(broken, zero, get(b.possible, 0)));
    }
  }

  static void narrow(BoxNetwork const& n, double threshold, BoxLanes const& b) {
    Work const w(n, b.work);
    F const zero = P::splat(0.0);
    F const t = P::splat(threshold);
    F const wanted = get(b.wanted, 0);
    int const output = n.last().first_unit;
    // A lane whose output is not bounded has no lines.
    M const bounded = get(b.most, 0) < P::splat(kInfinity);
    M const above = P::land(bounded, wanted > zero);
    M const below = P::land(bounded, wanted < zero);
    M const active = P::lor(above, below);
    if (!P::any(active)) return;
    put(b.sum_low, output,
        P::select(above, P::max(get(b.sum_low, output), t), get(b.sum_low, output)));
    put(b.sum_high, output,
        P::select(below, P::min(get(b.sum_high, output), t), get(b.sum_high, output)));
    // The lines' own slack over the box; their constants are padded for this.
    F most = get(b.above_constant, 0);
    F least = get(b.below_constant, 0);
    for (int k = 0; k < n.inputs; ++k) {
      F const rise = get(b.above, k);
      F const fall = get(b.below, k);
      most = P::fma(rise, P::select(rise < zero, get(b.low, k), get(b.high, k)), most);
      least = P::fma(fall, P::select(fall < zero, get(b.high, k), get(b.low, k)), least);
    }
    F const none = P::splat(kInfinity);
    F const slack_above = P::select(above, most - t, none);
    F const slack_below = P::select(below, t - least, none);
    M const broken = P::lor(slack_above < zero, slack_below < zero);
    put(b.possible, 0, P::select(broken, zero, get(b.possible, 0)));
    for (int k = 0; k < n.inputs; ++k) {
      F low = get(b.low, k);
      F high = get(b.high, k);
      clip(get(b.above, k), slack_above, low, high);
      clip(negative(get(b.below, k)), slack_below, low, high);
      put(b.low, k, low);
      put(b.high, k, high);
    }
    if (!n.straight) return;
    for (int l = n.layers - 1; l >= 0; --l) {
      narrow_inputs(n, b, w, l, active);
      if (l > 0) narrow_sums(n.layer[l - 1], b, w, active);
    }
  }

  /// A layer's activations at points, and their slopes in w.reach.
  static void pass_activation(BoxLayer const& layer, Work const& w, double* values) {
    F const zero = P::splat(0.0);
    for (int o = 0; o < layer.outputs; ++o) {
      int const u = layer.first_unit + o;
      if (layer.straight) {
        F const z = get(values, o);
        F const slope = P::splat(layer.slope);
        put(w.below_slope, u, P::select(z < zero, slope, P::splat(1.0)));
        put(values, o, P::select(z < zero, slope * z, z));
        continue;
      }
      for (int lane = 0; lane < kN; ++lane) {
        constexpr double kStep = 1.0e-5;
        double& z = values[o * kN + lane];
        auto const value = [&](double x) {
          return activation_value(layer.activation, layer.alpha, x);
        };
        w.below_slope[u * kN + lane] = (value(z + kStep) - value(z - kStep)) / (2.0 * kStep);
        z = value(z);
      }
    }
  }

  static void probe(BoxNetwork const& n, BoxLanes const& b, bool slopes) {
    Work const w(n, b.work);
    double const* from = b.low;
    double* to = w.centre;
    for (int l = 0; l < n.layers; ++l) {
      BoxLayer const& layer = n.layer[l];
      for (int o = 0; o < layer.outputs; ++o) {
        F sum = P::splat(layer.bias[o]);
        for (int k = 0; k < layer.inputs; ++k) {
          sum = P::fma(P::splat(layer.transposed[static_cast<long>(o) * layer.inputs + k]),
                       get(from, k), sum);
        }
        put(to, o, sum);
      }
      if (l + 1 < n.layers) pass_activation(layer, w, to);
      from = to;
      to = to == w.centre ? w.radius : w.centre;
    }
    put(b.least, 0, get(from, 0));
    if (!slopes) return;
    put(w.sums_below, 0, P::splat(1.0));
    put(w.sums_above, 0, P::splat(0.0));
    for (int l = n.layers - 1;; --l) {
      multiply(n.layer[l], w);
      if (l == 0) break;
      BoxLayer const& before = n.layer[l - 1];
      for (int o = 0; o < before.outputs; ++o) {
        put(w.sums_below, o, get(w.inputs_below, o) * get(w.below_slope, before.first_unit + o));
        put(w.sums_above, o, P::splat(0.0));
      }
    }
    for (int k = 0; k < n.inputs; ++k) put(b.below, k, get(w.inputs_below, k));
  }

  static void add(double const* from, double scale, double* to, int count) {
    F const by = P::splat(scale);
    for (int i = 0; i < count; i += kN)
      P::store(P::fma(by, P::load(from + i), P::load(to + i)), to + i);
  }

  static BoxKernels const* table() {
    static constexpr BoxKernels kTable = {kN, bound, narrow, probe, add};
    return &kTable;
  }
};

}  // namespace fairlane
