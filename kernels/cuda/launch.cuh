// The two shapes of kernel: one index per thread, and one tile of lanes per warp.
#pragma once

#include <algorithm>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/warp_team.cuh"

namespace fairlane {

inline constexpr int kLaneThreads = 256;    // threads of a block of run_lanes
inline constexpr int kLaneBlocks = 8;       // such blocks fill a multiprocessor
inline constexpr int kLeastLaneBlocks = 4;  // with fewer, too few loads are under way

/// The end of a range, read on the device.
__device__ __forceinline__ std::int64_t end_of(Range range) {
  return range.count != nullptr ? *range.count : range.most;
}

/// Calls kernel(i) for every index of the range.
template <class K>
__global__ void __launch_bounds__(kLaneThreads, kLeastLaneBlocks)
    run_lanes(__grid_constant__ K const kernel, Range range) {
  std::int64_t const end = end_of(range);
  std::int64_t const step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  std::int64_t const first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (std::int64_t i = first; i < end; i += step) kernel(i);
}

/// Calls kernel(team, i, memory) for every index of the range, a warp at a time.
/// bytes  shared memory of a warp
template <class K>
__global__ void __launch_bounds__(kLaneThreads, kLeastLaneBlocks)
    run_lanes_together(__grid_constant__ K const kernel, Range range, int bytes) {
  extern __shared__ uint4 shared[];
  int const warps = static_cast<int>(blockDim.x) / kWarpLanes;
  int const warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  auto* const memory = reinterpret_cast<std::byte*>(shared) + warp * bytes;
  std::int64_t const end = end_of(range);
  // Index after index over the blocks first, so that few still keep every multiprocessor busy.
  std::int64_t const step = static_cast<std::int64_t>(gridDim.x) * warps;
  for (std::int64_t i = static_cast<std::int64_t>(warp) * gridDim.x + blockIdx.x; i < end;
       i += step)
    kernel(WarpTeam{}, i, memory);
}

/// Kernels over lanes whose indices a warp takes together where it has the shared memory for it.
template <class K>
concept TakenTogether = requires(K const& kernel) {
  kernel.team_bytes();
};

template <class K>
cudaError_t launch_lanes(K const& kernel, Range range, int multiprocessors, cudaStream_t stream) {
  if (range.most <= 0) return cudaSuccess;
  if constexpr (TakenTogether<K>) {
    constexpr std::size_t kShared = 48 << 10;  // of a block that need not ask for more
    std::size_t const each = kernel.team_bytes();
    auto const warps =
        static_cast<int>(std::min<std::size_t>(kLaneThreads / kWarpLanes, kShared / each));
    if (warps > 0) {
      std::int64_t const blocks =
          std::min((range.most + warps - 1) / warps,
                   static_cast<std::int64_t>(multiprocessors) * kLaneBlocks);
      run_lanes_together<K>
          <<<static_cast<unsigned>(blocks), static_cast<unsigned>(warps * kWarpLanes), warps * each,
             stream>>>(kernel, range, static_cast<int>(each));
      return cudaGetLastError();
    }
  }
  int threads = kLaneThreads;
  // Few indices over as many multiprocessors as they reach.
  while (threads > kWarpLanes && range.most <= static_cast<std::int64_t>(multiprocessors) * threads)
    threads /= 2;
  std::int64_t const blocks =
      std::min((range.most + threads - 1) / threads,
               static_cast<std::int64_t>(multiprocessors) * kLaneBlocks * (kLaneThreads / threads));
  run_lanes<K>
      <<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), 0, stream>>>(kernel, range);
  return cudaGetLastError();
}

/// Copies the subject's arena to shared memory, where subject_at finds it.
__device__ __forceinline__ void copy_arena(ArenaView const& arena, std::byte* shared,
                                           unsigned thread = threadIdx.x,
                                           unsigned threads = blockDim.x) {
  auto const* from = reinterpret_cast<uint4 const*>(arena.base);
  auto* to = reinterpret_cast<uint4*>(shared);
  auto const count = static_cast<int>(arena.bytes / static_cast<std::int64_t>(sizeof(uint4)));
  for (int i = static_cast<int>(thread); i < count; i += static_cast<int>(threads)) to[i] = from[i];
  __syncthreads();
  if (thread == 0) move_layers(arena, shared, shared);
  __syncthreads();
}

/// Calls the kernel for every tile of kV packs that holds an index of the range, a warp at a time.
/// kOnChip  the plan has weights and scratch in shared memory
template <class K, int kV, bool kOnChip>
__global__ void __launch_bounds__(kMostTileWarps* kWarpLanes, 1)
    run_tiles(__grid_constant__ K const kernel, __grid_constant__ TilePlan const plan,
              Range range) {
  constexpr int kTile = kV * kWarpLanes;
  extern __shared__ uint4 shared[];
  auto* on_chip = reinterpret_cast<std::byte*>(shared);
  int const warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  std::int64_t const resident = static_cast<std::int64_t>(blockIdx.x) * plan.warps + warp;
  std::int64_t const end = end_of(range);
  if (static_cast<std::int64_t>(blockIdx.x) * kTile >= end) return;  // not even its first warp's
  Subject subject = plan.arena.subject;
  if (kOnChip || plan.shared_weights) {
    copy_arena(plan.arena, on_chip);
    subject = subject_at(plan.arena, on_chip);
    on_chip += plan.arena.bytes;
  }
  float* memory;
  if (kOnChip || plan.shared_scratch) {
    memory = reinterpret_cast<float*>(on_chip) + warp * plan.scratch_floats;
  } else {
    memory = plan.scratch + resident * plan.scratch_floats;
  }
  Scratch const scratch = lay_out_scratch(subject, K::kNeeds, kTile, memory);
  // Tile after tile over the blocks first, so that few tiles still keep every multiprocessor busy.
  std::int64_t const first = static_cast<std::int64_t>(warp) * gridDim.x + blockIdx.x;
  std::int64_t const step = static_cast<std::int64_t>(gridDim.x) * plan.warps * kTile;
  for (std::int64_t at = first * kTile; at < end; at += step) {
    kernel.template operator()<WarpPack<kOnChip>, kV>(subject, at, scratch);
  }
}

template <class K, int kV, bool kOnChip>
cudaError_t launch_tiles_as(K const& kernel, TilePlan const& plan, Range range,
                            cudaStream_t stream) {
  auto const function = run_tiles<K, kV, kOnChip>;
  cudaError_t const allowed = cudaFuncSetAttribute(
      function, cudaFuncAttributeMaxDynamicSharedMemorySize, plan.shared_bytes);
  if (allowed != cudaSuccess) return allowed;
  std::int64_t const tiles = (range.most + kV * kWarpLanes - 1) / (kV * kWarpLanes);
  std::int64_t const blocks = std::min<std::int64_t>(tiles, plan.blocks);
  function<<<static_cast<unsigned>(blocks), static_cast<unsigned>(plan.warps * kWarpLanes),
             static_cast<std::size_t>(plan.shared_bytes), stream>>>(kernel, plan, range);
  return cudaGetLastError();
}

template <class K>
cudaError_t launch_tiles(K const& kernel, TilePlan const& plan, Range range, cudaStream_t stream) {
  if (range.most <= 0) return cudaSuccess;
  if (plan.shared_weights && plan.shared_scratch) {
    if (plan.packs >= 4) return launch_tiles_as<K, 4, true>(kernel, plan, range, stream);
    if (plan.packs >= 2) return launch_tiles_as<K, 2, true>(kernel, plan, range, stream);
    return launch_tiles_as<K, 1, true>(kernel, plan, range, stream);
  }
  // Memory bounds these: more packs than two would only be more code. The scratch of a wider plan
  // is large enough.
  if (plan.packs >= 2) return launch_tiles_as<K, 2, false>(kernel, plan, range, stream);
  return launch_tiles_as<K, 1, false>(kernel, plan, range, stream);
}

}  // namespace fairlane
