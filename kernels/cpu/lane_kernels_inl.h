// The table of LaneKernels for one pack type. Included by kernels/cpu/isa_*.cpp only, after FL_ISA is defined.
#pragma once

#include "kernels/cpu/lane_kernels.h"

// Defined before by the file that includes this one: find_visits and kFindLanes of the instruction set.

namespace fairlane::FL_ISA {

/// P: the pack; kV: packs per tile; kT: outputs per register tile.
template <class P, int kV, int kT>
struct Kernels : LaneTiles<P, kV> {
  using Tiles = LaneTiles<P, kV>;
  using F = typename P::F;
  static constexpr int kN = P::kLanes;

  static std::int64_t multiply_adds(std::int64_t rounds, float* sink) {
    constexpr int kChains =
        12;  // more than latency x ports on any current core, fewer than its registers
    F sum[kChains];
    for (int i = 0; i < kChains; ++i) sum[i] = P::splat(static_cast<float>(i + 1));
    F const factor = P::splat(sink[0]);
    F const term = P::splat(sink[1]);
    for (std::int64_t r = 0; r < rounds; ++r) {
      FL_UNROLL
      for (int i = 0; i < kChains; ++i) sum[i] = P::fma(sum[i], factor, term);
    }
    for (int i = 1; i < kChains; ++i) sum[0] = sum[0] + sum[i];
    P::store(sum[0], sink);
    return rounds * kChains * kN;
  }

  static void restore(std::int32_t const* source, std::int32_t* target, int rows, long stride,
                      int n, std::int32_t const* keep) {
    for (int at = 0; at < n; at += kN) {
      auto const drop = LabelSet<P>::equal(P::load_i(keep + at), P::splat_i(0));
      if (!P::any(drop)) continue;
      for (int r = 0; r < rows; ++r) {
        long const cell = r * stride + at;
        P::store_i(P::select_i(drop, P::load_i(source + cell), P::load_i(target + cell)),
                   target + cell);
      }
    }
  }

  static LaneKernels const* table(char const* isa) {
    static constexpr LaneKernels kTable = {nullptr,
                                           Tiles::kTile,
                                           kT,
                                           Tiles::classify,
                                           Tiles::classify_some,
                                           Tiles::variant_labels,
                                           Tiles::probe,
                                           Tiles::margins,
                                           Tiles::gradients,
                                           Tiles::logits,
                                           Tiles::random_words,
                                           Tiles::advance,
                                           Tiles::attribute_weights,
                                           Tiles::choose,
                                           find_visits,
                                           kFindLanes,
                                           multiply_adds,
                                           restore};
    static LaneKernels const named = [isa] {
      LaneKernels t = kTable;
      t.isa = isa;
      return t;
    }();
    return &named;
  }
};

}  // namespace fairlane::FL_ISA
