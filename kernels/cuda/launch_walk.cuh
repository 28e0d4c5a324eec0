// The fifth shape of kernel: a warp that walks over the members of a tile of heads.
#pragma once

#include "kernels/cuda/launch.cuh"
#include "kernels/device/walk/walk_piece.h"

namespace fairlane {

/// How a warp's threads share a tally: each sees all the lanes' words.
struct WarpShare {
  static __device__ __forceinline__ bool takes(int i) { return i % kWarpLanes == warp_lane(); }
  template <class Work>
  static __device__ __forceinline__ void each(int n, Work const& work) {
    for (int i = warp_lane(); i < n; i += kWarpLanes) work(i);
  }
  template <class Work>
  static __device__ __forceinline__ void each_pair(int n, Work const& work) {
    for (int i = warp_lane(); i < n * n; i += kWarpLanes) work(i / n, i % n);
  }
  static __device__ __forceinline__ void settle() { __syncwarp(); }
};

/// The threads of a warp; see kernels/core/walk/walk_members.h. A warp has words of its own, and
/// the counters are a block's.
struct WalkWarp : WarpShare {
  using Word = std::uint32_t;
  using Counter = std::uint32_t;
  using Mixed = std::uint32_t;
  static __device__ __forceinline__ Word lanes(Word word) { return word & (1U << warp_lane()); }
  static __device__ __forceinline__ void add(Counter* counter, std::uint64_t count) {
    if (count > 0) atomicAdd(counter, static_cast<Counter>(count));
  }
  static __device__ __forceinline__ void merge(Mixed* word, int, Word bits) { *word = bits; }
  static __device__ __forceinline__ void list_open(std::uint32_t mask, int first, int step,
                                                   int* list) {
    std::uint32_t const mine = 1U << warp_lane();
    if ((mask & mine) != 0) list[__popc(mask & (mine - 1))] = (first + warp_lane()) * step;
  }
};

/// Calls the kernel for every piece of the walk, a warp at a time. The model and all that a warp
/// works with lie in shared memory, and a block's counters, which are added up in the end.
template <class K>
__global__ void __launch_bounds__(kMostWalkWarps* kWarpLanes, 1)
    run_walk(__grid_constant__ K const kernel, __grid_constant__ WalkShape const shape) {
  extern __shared__ uint4 shared[];
  auto* const on_chip = reinterpret_cast<float*>(shared);
  int const thread = static_cast<int>(threadIdx.x);
  int const threads = static_cast<int>(blockDim.x);
  auto const* const from = reinterpret_cast<uint4 const*>(kernel.model.base);
  for (int i = thread; i < kernel.model.floats / kVectorFloats; i += threads) shared[i] = from[i];
  auto* const counters = reinterpret_cast<std::uint32_t*>(on_chip + kernel.model.floats);
  for (int i = thread; i < shape.counters; i += threads) counters[i] = 0;
  __syncthreads();
  WalkModel model = kernel.model;
  model.base = on_chip;
  int const warp = thread / kWarpLanes;
  WalkMemory memory = lay_out_walk(kernel.subject, model, layers_of(model)[0], kWarpLanes);
  memory.base = on_chip + model.floats + shape.counter_floats + warp * memory.floats;
  // Piece after piece over the blocks first, so that few still keep every multiprocessor busy.
  int const step = static_cast<int>(gridDim.x) * shape.warps;
  for (int at = warp * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x);
       at < shape.pieces; at += step)
    walk_piece<WarpPack<true>, WalkWarp>(kernel, model, memory, at, counters);
  __syncthreads();
  for (int i = thread; i < shape.counters; i += threads) {
    if (counters[i] != 0)
      atomicAdd(reinterpret_cast<unsigned long long*>(kernel.counters + i), counters[i]);
  }
}

template <class K>
cudaError_t launch_walk(K const& kernel, WalkShape const& shape, cudaStream_t stream) {
  auto const function = run_walk<K>;
  cudaError_t const allowed = cudaFuncSetAttribute(
      function, cudaFuncAttributeMaxDynamicSharedMemorySize, shape.shared_bytes);
  if (allowed != cudaSuccess) return allowed;
  function<<<static_cast<unsigned>(shape.blocks), static_cast<unsigned>(shape.warps * kWarpLanes),
             static_cast<std::size_t>(shape.shared_bytes), stream>>>(kernel, shape);
  return cudaGetLastError();
}

}  // namespace fairlane
