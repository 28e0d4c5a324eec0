// How a condition on the output narrows boxes, a box a lane, after kernels/boxes/box_bounding.h.
//
// A constraint sum w_k a_k + b + e >= z over ranges of a leaves
//     w_j a_j >= z - (most - most of w_j a_j),    most = b + E + sum of the most of w_k a_k,
// where kSlack of all magnitudes is more than the few roundings to double on the way.
#pragma once

#include "kernels/boxes/box_rows.h"

namespace fairlane {

/// Narrowing over a pack.
template <class P>
struct BoxNarrowing {
  using F = typename P::F;
  using M = typename P::M;
  using Rows = BoxRows<P>;
  using Work = typename Rows::Work;

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
  static FL_HOST_DEVICE void narrow_inputs(BoxNetwork const& n, BoxLanes const& b, Work const& w,
                                           int l, M active) {
    BoxLayer const& layer = n.layer[l];
    F const zero = P::splat(0.0);
    double* const lows =
        l == 0 ? b.low : w.range_low + static_cast<long>(n.layer[l - 1].first_unit) * P::kStride;
    double* const highs =
        l == 0 ? b.high : w.range_high + static_cast<long>(n.layer[l - 1].first_unit) * P::kStride;
    for (int o = 0; o < layer.outputs; ++o) {
      int const u = layer.first_unit + o;
      double const* const weight = layer.transposed + static_cast<long>(o) * layer.inputs;
      F const error = Rows::get(w.error, u);
      F const bias = P::splat(layer.bias[o]);
      F low = bias - error;
      F high = bias + error;
      F size = P::abs(bias) + error;
      for (int k = 0; k < layer.inputs; ++k) {
        F const x = P::splat(weight[k]);
        F const from = Rows::get(lows, k);
        F const to = Rows::get(highs, k);
        bool const rises = weight[k] > 0.0;
        low = P::fma(x, rises ? from : to, low);
        high = P::fma(x, rises ? to : from, high);
        size = P::fma(P::abs(x), P::max(P::abs(from), P::abs(to)), size);
      }
      F const pad = P::splat(BoxError::kSlack) * size;
      F const least = Rows::get(b.sum_low, u);
      F const most = Rows::get(b.sum_high, u);
      M const at_least = P::land(active, least > low);
      M const at_most = P::land(active, most < high);
      if (!P::any(P::lor(at_least, at_most))) continue;
      // A bound that does not bite leaves all the slack there is.
      F const none = P::splat(Rows::kInfinity);
      F const above = P::select(at_least, high - least + pad, none);
      F const below = P::select(at_most, most - low + pad, none);
      M const broken = P::lor(above < zero, below < zero);
      Rows::put(b.possible, 0, P::select(broken, zero, Rows::get(b.possible, 0)));
      for (int k = 0; k < layer.inputs; ++k) {
        if (weight[k] == 0.0) continue;
        F const x = P::splat(weight[k]);
        F from = Rows::get(lows, k);
        F to = Rows::get(highs, k);
        clip(x, above, from, to);
        clip(Rows::negative(x), below, from, to);
        Rows::put(lows, k, from);
        Rows::put(highs, k, to);
      }
    }
  }

  /// Bounds of a layer's sums from the ranges of its activations, which are straight.
  static FL_HOST_DEVICE void narrow_sums(BoxLayer const& layer, BoxLanes const& b, Work const& w,
                                         M active) {
    F const zero = P::splat(0.0);
    F const pad = P::splat(BoxError::kSlack);
    for (int o = 0; o < layer.outputs; ++o) {
      int const u = layer.first_unit + o;
      F const from = Rows::get(w.range_low, u);
      F const to = Rows::get(w.range_high, u);
      F low = Rows::get(b.sum_low, u);
      F high = Rows::get(b.sum_high, u);
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
      Rows::put(b.sum_low, u, low);
      Rows::put(b.sum_high, u, high);
      M const broken =
          P::land(active, P::lor(low > high, layer.slope == 0.0 ? to < zero : zero > zero));
      Rows::put(b.possible, 0, P::select(broken, zero, Rows::get(b.possible, 0)));
    }
  }

  static FL_HOST_DEVICE void narrow(BoxNetwork const& n, double threshold, BoxLanes const& b) {
    Work const w(n, b.work);
    F const zero = P::splat(0.0);
    F const t = P::splat(threshold);
    F const wanted = Rows::get(b.wanted, 0);
    int const output = n.last().first_unit;
    // A lane whose output is not bounded has no lines.
    M const bounded = Rows::get(b.most, 0) < P::splat(Rows::kInfinity);
    M const above = P::land(bounded, wanted > zero);
    M const below = P::land(bounded, wanted < zero);
    M const active = P::lor(above, below);
    if (!P::any(active)) return;
    Rows::put(
        b.sum_low, output,
        P::select(above, P::max(Rows::get(b.sum_low, output), t), Rows::get(b.sum_low, output)));
    Rows::put(
        b.sum_high, output,
        P::select(below, P::min(Rows::get(b.sum_high, output), t), Rows::get(b.sum_high, output)));
    // The lines' own slack over the box; their constants are padded for this.
    F most = Rows::get(b.above_constant, 0);
    F least = Rows::get(b.below_constant, 0);
    for (int k = 0; k < n.inputs; ++k) {
      F const rise = Rows::get(b.above, k);
      F const fall = Rows::get(b.below, k);
      most = P::fma(rise, P::select(rise < zero, Rows::get(b.low, k), Rows::get(b.high, k)), most);
      least =
          P::fma(fall, P::select(fall < zero, Rows::get(b.high, k), Rows::get(b.low, k)), least);
    }
    F const none = P::splat(Rows::kInfinity);
    F const slack_above = P::select(above, most - t, none);
    F const slack_below = P::select(below, t - least, none);
    M const broken = P::lor(slack_above < zero, slack_below < zero);
    Rows::put(b.possible, 0, P::select(broken, zero, Rows::get(b.possible, 0)));
    for (int k = 0; k < n.inputs; ++k) {
      F low = Rows::get(b.low, k);
      F high = Rows::get(b.high, k);
      clip(Rows::get(b.above, k), slack_above, low, high);
      clip(Rows::negative(Rows::get(b.below, k)), slack_below, low, high);
      Rows::put(b.low, k, low);
      Rows::put(b.high, k, high);
    }
    if (!n.straight) return;
    for (int l = n.layers - 1; l >= 0; --l) {
      narrow_inputs(n, b, w, l, active);
      if (l > 0) narrow_sums(n.layer[l - 1], b, w, active);
    }
  }
};

}  // namespace fairlane
