// A network's output at points, and its slopes there, a point a lane.
#pragma once

#include "kernels/boxes/box_bounding.h"

namespace fairlane {

/// Probes over a pack.
template <class P>
struct BoxProbing {
  using F = typename P::F;
  using M = typename P::M;
  using Rows = BoxRows<P>;
  using Work = typename Rows::Work;

  /// A layer's activations at points, and their slopes in w.below_slope.
  static FL_HOST_DEVICE void pass_activation(BoxNetwork const& n, Work const& w, int l,
                                             double* values) {
    BoxLayer const& layer = n.layer[l];
    F const zero = P::splat(0.0);
    for (int o = 0; o < layer.outputs; ++o) {
      int const u = layer.first_unit + o;
      if (layer.straight) {
        F const z = Rows::get(values, o);
        F const slope = P::splat(layer.slope);
        Rows::put(w.below_slope, u, P::select(z < zero, slope, P::splat(1.0)));
        Rows::put(values, o, P::select(z < zero, slope * z, z));
        continue;
      }
      if constexpr (P::kCurved) pass_curved(layer, w, values, o);
    }
    // What is straight is 0 where its slope is.
    Rows::list_live(n, w, l, [&](int o) {
      F const slope = Rows::get(w.below_slope, layer.first_unit + o);
      return layer.straight ? P::lnot(slope == zero) : zero == zero;
    });
  }

  static void pass_curved(BoxLayer const& layer, Work const& w, double* values, int o) {
    constexpr double kStep = 1.0e-5;
    auto const value = [&](double x) { return activation_value(layer.activation, layer.alpha, x); };
    for (int lane = 0; lane < P::kLanes; ++lane) {
      double& z = values[o * P::kStride + lane];
      w.below_slope[(layer.first_unit + o) * P::kStride + lane] =
          (value(z + kStep) - value(z - kStep)) / (2.0 * kStep);
      z = value(z);
    }
  }

  static FL_HOST_DEVICE void probe(BoxNetwork const& n, BoxLanes const& b, bool slopes) {
    Work const w(n, b.work);
    double const* from = b.low;
    double* to = w.centre;
    for (int l = 0; l < n.layers; ++l) {
      BoxLayer const& layer = n.layer[l];
      LiveUnits<P> const inputs = Rows::live_inputs(n, w, l);
      for (int o = 0; o < layer.outputs; ++o) {
        double const* const weight = layer.transposed + static_cast<long>(o) * layer.inputs;
        F sum = P::splat(layer.bias[o]);
        for (int i = 0; i < inputs.count; ++i)
          sum = P::fma(P::splat(weight[inputs[i]]), Rows::get(from, inputs[i]), sum);
        Rows::put(to, o, sum);
      }
      if (l + 1 < n.layers) pass_activation(n, w, l, to);
      from = to;
      to = to == w.centre ? w.radius : w.centre;
    }
    Rows::put(b.least, 0, Rows::get(from, 0));
    if (!slopes) return;
    Rows::put(w.sums_below, 0, P::splat(1.0));
    Rows::put(w.sums_above, 0, P::splat(0.0));
    for (int l = n.layers - 1;; --l) {
      BoxBounding<P>::multiply(n, w, l);
      if (l == 0) break;
      LiveUnits<P> const units = Rows::live_units(n, w, l - 1);
      for (int i = 0; i < units.count; ++i) {
        int const u = n.layer[l - 1].first_unit + units[i];
        Rows::put(w.sums_below, i, Rows::get(w.inputs_below, i) * Rows::get(w.below_slope, u));
        Rows::put(w.sums_above, i, P::splat(0.0));
      }
    }
    for (int k = 0; k < n.inputs; ++k) Rows::put(b.below, k, Rows::get(w.inputs_below, k));
  }
};

}  // namespace fairlane
