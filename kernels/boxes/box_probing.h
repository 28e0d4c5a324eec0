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

  /// A layer's activations at points, and their slopes in w.reach.
  static FL_HOST_DEVICE void pass_activation(BoxLayer const& layer, Work const& w, double* values) {
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
      for (int o = 0; o < layer.outputs; ++o) {
        F sum = P::splat(layer.bias[o]);
        for (int k = 0; k < layer.inputs; ++k) {
          sum = P::fma(P::splat(layer.transposed[static_cast<long>(o) * layer.inputs + k]),
                       Rows::get(from, k), sum);
        }
        Rows::put(to, o, sum);
      }
      if (l + 1 < n.layers) pass_activation(layer, w, to);
      from = to;
      to = to == w.centre ? w.radius : w.centre;
    }
    Rows::put(b.least, 0, Rows::get(from, 0));
    if (!slopes) return;
    Rows::put(w.sums_below, 0, P::splat(1.0));
    Rows::put(w.sums_above, 0, P::splat(0.0));
    for (int l = n.layers - 1;; --l) {
      BoxBounding<P>::multiply(n.layer[l], w);
      if (l == 0) break;
      BoxLayer const& before = n.layer[l - 1];
      for (int o = 0; o < before.outputs; ++o) {
        Rows::put(w.sums_below, o,
                  Rows::get(w.inputs_below, o) * Rows::get(w.below_slope, before.first_unit + o));
        Rows::put(w.sums_above, o, P::splat(0.0));
      }
    }
    for (int k = 0; k < n.inputs; ++k) Rows::put(b.below, k, Rows::get(w.inputs_below, k));
  }
};

}  // namespace fairlane
