// Dense layers of a warp that has others beside it: each takes a part of a wide layer's outputs.
#pragma once

#include "kernels/core/mlp.h"
#include "kernels/cuda/warp_pack.cuh"

namespace fairlane {

inline constexpr int kRoundSums = 64;  // of a thread, which has 168 registers

/// A warp alone.
struct SoloPack : WarpPack<true, kRoundSums> {};

/// A row of a block's threads is a team, whose first warp goes through the rounds of a window while
/// the others wait for layers to help with. Shared memory begins with a job for each team.
struct TeamPack : SoloPack {
  static __device__ __forceinline__ int team_warps() {
    return static_cast<int>(blockDim.x) / kWarpLanes;
  }
  static __device__ __forceinline__ DenseJob& job() {
    extern __shared__ uint4 shared[];
    return reinterpret_cast<DenseJob*>(shared)[threadIdx.y];
  }
  /// Shows the others what there is to do.
  static __device__ __forceinline__ void hand_out(DenseJob const& what) {
    if (threadIdx.x == 0) job() = what;
  }
  /// All of the team are here, and see what each has written. Barrier 0 is the block's.
  static __device__ __forceinline__ void meet() {
    asm volatile("bar.sync %0, %1;" ::"r"(threadIdx.y + 1), "r"(blockDim.x) : "memory");
  }
  template <int kV, TileLayout kLayout>
  static __device__ __forceinline__ void run_layer(DenseJob const& job);
};

/// The part of a layer that a warp of a team has: tiles part, part + warps, .. of its outputs. If
/// there are several tiles, part 0 hands the layer to the others first, who then come with their
/// numbers. Arguments as in DenseJob.
template <int kV, TileLayout kLayout>
__device__ __noinline__ void run_part(PackedDense const* layer, int first, int last,
                                      float const* in, float const* start, Start begin, float* out,
                                      Finish finish, float const* gate, Activation activation,
                                      float alpha, int part) {
  using P = TeamPack;
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
  detail::dense_tiles<P, kV, kLayout>(layer, first, last, in, start, begin, out, finish, gate, part,
                                      parts);
  if (activation != Activation::kLinear) {
    settle<P, kLayout>();  // each thread takes others' sums
    for (int o = part * tile; o < outputs; o += parts * tile) {
      int const width = outputs - o < tile ? outputs - o : tile;
      activate<P>(activation, alpha, out + o * kStride, width * kStride);
    }
  }
  if (parts > 1) P::meet();
}

template <int kV, TileLayout kLayout>
__device__ __forceinline__ void run_part(DenseJob const& job, int part) {
  run_part<kV, kLayout>(job.layer, job.first, job.last, job.in, job.start, job.begin, job.out,
                        job.finish, job.gate, job.activation, job.alpha, part);
}

template <int kV, TileLayout kLayout>
__device__ __forceinline__ void TeamPack::run_layer(DenseJob const& job) {
  run_part<kV, kLayout>(job, 0);
}

/// Helps a team's first warp until there is no layer any more.
/// kM  packs of a tile whose packs lie side by side; 0: there is none, nor one of several packs
template <int kM>
__device__ __forceinline__ void help_team() {
  int const part = static_cast<int>(threadIdx.x) / kWarpLanes;
  for (;;) {
    TeamPack::meet();
    DenseJob const job = TeamPack::job();
    if (job.layer == nullptr) return;  // nothing more to do
    if constexpr (kM > 0) {
      if (job.layout == TileLayout::kSideBySide) {
        run_part<kM, TileLayout::kSideBySide>(job, part);
        continue;
      }
      if (job.packs > 1) {
        run_part<2, TileLayout::kApart>(job, part);
        continue;
      }
    }
    run_part<1, TileLayout::kApart>(job, part);
  }
}

}  // namespace fairlane
