// The kernels of boxes for a pack of the host.
#pragma once

#include "kernels/boxes/box_narrowing.h"
#include "kernels/boxes/box_probing.h"
#include "kernels/boxes/box_spilling.h"

namespace fairlane {

/// BoxKernels for a pack.
template <class P>
struct BoxTiles {
  static void add(double const* from, double scale, double* to, int count) {
    typename P::F const by = P::splat(scale);
    for (int i = 0; i < count; i += P::kLanes)
      P::store(P::fma(by, P::load(from + i), P::load(to + i)), to + i);
  }

  static void tabulate(HingeTable const& t, double* sums) {
    using F = typename P::F;
    F const zero = P::splat(0.0);
    int const padded = (t.columns + P::kLanes - 1) / P::kLanes * P::kLanes;
    for (int r = 0; r < t.rows; ++r) {
      double const* const row = t.row_sums + static_cast<long>(r) * (1 + t.hinges);
      for (int c = 0; c < t.columns; c += P::kLanes) {
        double const* column = t.column_sums + c;
        F sum = P::splat(row[0]) + P::load(column);
        for (int h = 0; h < t.hinges; ++h) {
          column += padded;
          F const inner = P::splat(row[1 + h]) + P::load(column);
          sum = sum - P::splat(t.weights[h]) * P::max(inner, zero);
        }
        // What is beyond a row's end is written over by the next one.
        P::store(sum, sums + static_cast<long>(r) * t.columns + c);
      }
    }
  }

  /// Of kCount inputs from `first` on.
  template <int kCount>
  static void weigh_inputs(BoxLayer const& layer, double const* from, int width, int first,
                           double* to) {
    using F = typename P::F;
    for (int i = 0; i < width; i += P::kLanes) {
      F sums[kCount];
      for (F& sum : sums) sum = P::splat(0.0);
      for (int o = 0; o < layer.outputs; ++o) {
        F const value = P::load(from + static_cast<long>(o) * width + i);
        for (int k = 0; k < kCount; ++k) {
          long const weight = static_cast<long>(first + k) * layer.outputs + o;
          sums[k] = P::fma(P::abs(P::splat(layer.weights[weight])), value, sums[k]);
        }
      }
      for (int k = 0; k < kCount; ++k)
        P::store(sums[k], to + static_cast<long>(first + k) * width + i);
    }
  }

  static void weigh(BoxLayer const& layer, double const* from, int width, double* to) {
    constexpr int kBlock = 4;
    int k = 0;
    for (; k + kBlock <= layer.inputs; k += kBlock) weigh_inputs<kBlock>(layer, from, width, k, to);
    for (; k < layer.inputs; ++k) weigh_inputs<1>(layer, from, width, k, to);
  }

  static BoxKernels const* table() {
    static constexpr BoxKernels kTable = {P::kLanes,
                                          BoxSpilling<P>::bound,
                                          BoxNarrowing<P>::narrow,
                                          BoxProbing<P>::probe,
                                          add,
                                          tabulate,
                                          weigh,
                                          LeafSums<P>::add,
                                          LeafSums<P>::spread,
                                          LeafSums<P>::span,
                                          LeafSums<P>::rank};
    return &kTable;
  }
};

}  // namespace fairlane
