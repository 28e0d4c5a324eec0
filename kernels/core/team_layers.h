// Dense layers of a warp that has others beside it: each takes a part of a wide layer's outputs.
#pragma once

#include "kernels/core/mlp.h"

namespace fairlane {

// A pack with a team has, beside run_layer,
//   team_warps()   its warps, with itself
//   hand_out(job)  shows the others what there is to do
//   meet()         all of them are here, and see what each has written

namespace detail {

/// A layer's tiles part, part + warps, .. of outputs. Part 0 hands the layer to the others first, if
/// it has several tiles; they come with their number when it has.
template <class P, int kV, TileLayout kLayout>
FL_HOST_DEVICE FL_NOINLINE void run_part(PackedDense const* layer, int first, int last,
                                         float const* in, float const* start, Start begin,
                                         float* out, Finish finish, float const* gate,
                                         Activation activation, float alpha, int part) {
  constexpr int kStride = kV * P::kLanes;
  int const outputs = layer->outputs;
  int const tile = layer->tile;
  int const parts = outputs > tile ? P::team_warps() : 1;
  if (parts == 1) {
    settle<P, kLayout>();
  } else if (part == 0) {
    P::hand_out(
        {layer, in, start, gate, out, first, last, kV, alpha, kLayout, begin, finish, activation});
    P::meet();
  }
  dense_tiles<P, kV, kLayout>(layer, first, last, in, start, begin, out, finish, gate, part, parts);
  if (activation != Activation::kLinear) {
    settle<P, kLayout>();  // each thread takes others' sums
    for (int o = part * tile; o < outputs; o += parts * tile) {
      int const width = outputs - o < tile ? outputs - o : tile;
      activate<P>(activation, alpha, out + o * kStride, width * kStride);
    }
  }
  if (parts > 1) P::meet();
}

}  // namespace detail

/// The part of a layer's tiles that a warp of a team has.
template <class P, int kV, TileLayout kLayout>
FL_HD void run_part(DenseJob const& job, int part) {
  detail::run_part<P, kV, kLayout>(job.layer, job.first, job.last, job.in, job.start, job.begin,
                                   job.out, job.finish, job.gate, job.activation, job.alpha, part);
}

/// The same where the job says how its packs lie.
/// kM  packs of a tile whose packs lie side by side; 0: there is none, nor one of several packs
template <class P, int kM>
FL_HD void help(DenseJob const& job, int part) {
  if constexpr (kM > 0) {
    if (job.layout == TileLayout::kSideBySide)
      return run_part<P, kM, TileLayout::kSideBySide>(job, part);
    if (job.packs > 1) return run_part<P, 2, TileLayout::kApart>(job, part);
  }
  run_part<P, 1, TileLayout::kApart>(job, part);
}

}  // namespace fairlane
