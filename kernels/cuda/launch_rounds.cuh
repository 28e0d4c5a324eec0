// The fourth shape of kernel: a warp that takes a window of lanes through many rounds.
#pragma once

#include <algorithm>

#include "kernels/core/team_layers.h"
#include "kernels/cuda/launch.cuh"

namespace fairlane {

inline constexpr int kRoundSums = 64;  // of a thread, which has 168 registers

/// A warp alone.
using SoloPack = WarpPack<true, kRoundSums>;

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
  template <int kV, TileLayout kLayout>
  static __device__ __forceinline__ void run_layer(DenseJob const& job) {
    run_part<TeamPack, kV, kLayout>(job, 0);
  }
  static __device__ __forceinline__ void hand_out(DenseJob const& what) {
    if (threadIdx.x == 0) job() = what;
  }
  /// Barrier 0 is the block's.
  static __device__ __forceinline__ void meet() {
    asm volatile("bar.sync %0, %1;" ::"r"(threadIdx.y + 1), "r"(blockDim.x) : "memory");
  }
};

/// Helps until there is no layer any more.
/// kM  packs that lie side by side
template <int kM>
__device__ __forceinline__ void help_team() {
  int const part = static_cast<int>(threadIdx.x) / kWarpLanes;
  for (;;) {
    TeamPack::meet();
    DenseJob const job = TeamPack::job();
    if (job.layer == nullptr) return;  // nothing more to do
    help<TeamPack, kM>(job, part);
  }
}

/// Calls the kernel for every window of the lanes, a team at a time. Weights and scratch lie in
/// shared memory.
/// P   TeamPack, or SoloPack where teams are of one warp
/// kM  members evaluated together, or kSpreadMembers
template <class K, class P, int kM>
__global__ void __launch_bounds__(kMostRoundWarps* kWarpLanes, 1)
    run_rounds(__grid_constant__ K const kernel, __grid_constant__ RoundPlan const plan,
               int lanes) {
  extern __shared__ uint4 shared[];
  auto* on_chip = reinterpret_cast<std::byte*>(shared);
  int const team = static_cast<int>(threadIdx.y);
  on_chip += plan.job_bytes;
  copy_arena(plan.arena, on_chip, team * blockDim.x + threadIdx.x, blockDim.x * blockDim.y);
  if constexpr (HasTeam<P>) {
    if (threadIdx.x >= kWarpLanes) return help_team<kSideBySide<K, kM>>();
  }
  Subject const subject = subject_at(plan.arena, on_chip);
  on_chip += plan.arena.bytes;
  Window window;
  lay_out_window(plan.window, kWarpLanes, on_chip + team * plan.window_bytes, window);
  on_chip += plan.teams * plan.window_bytes;
  float* const memory = reinterpret_cast<float*>(on_chip) + team * plan.scratch_floats;
  // Window after window over the blocks first, so that few still keep every multiprocessor busy.
  long const first = static_cast<long>(team) * gridDim.x + blockIdx.x;
  long const step = static_cast<long>(gridDim.x) * plan.teams;
  for (long at = first; at * plan.window < lanes; at += step) {
    window.lane = at * plan.window;
    window.place = at * plan.places;
    window.count = static_cast<int>(min(static_cast<long>(plan.window), lanes - window.lane));
    window.turn = 0;
    kernel.template operator()<P, kM>(WarpTeam{}, subject, window, memory);
  }
  if constexpr (HasTeam<P>) {
    P::hand_out({});
    P::meet();
  }
}

template <class K, class P, int kM>
cudaError_t launch_rounds_as(K const& kernel, RoundPlan const& plan, int lanes,
                             cudaStream_t stream) {
  auto const function = run_rounds<K, P, kM>;
  cudaError_t const allowed = cudaFuncSetAttribute(
      function, cudaFuncAttributeMaxDynamicSharedMemorySize, plan.shared_bytes);
  if (allowed != cudaSuccess) return allowed;
  int const windows = (lanes + plan.window - 1) / plan.window;
  function<<<static_cast<unsigned>(std::min(windows, plan.blocks)),
             dim3(static_cast<unsigned>(plan.warps * kWarpLanes),
                  static_cast<unsigned>(plan.teams)),
             static_cast<std::size_t>(plan.shared_bytes), stream>>>(kernel, plan, lanes);
  return cudaGetLastError();
}

template <class P, class K>
cudaError_t launch_rounds_by(K const& kernel, RoundPlan const& plan, int lanes,
                             cudaStream_t stream) {
  if (plan.members == kSpreadMembers)
    return launch_rounds_as<K, P, kSpreadMembers>(kernel, plan, lanes, stream);
  if (plan.members >= 4) return launch_rounds_as<K, P, 4>(kernel, plan, lanes, stream);
  return launch_rounds_as<K, P, 2>(kernel, plan, lanes, stream);
}

template <class K>
cudaError_t launch_rounds(K const& kernel, RoundPlan const& plan, int lanes, cudaStream_t stream) {
  if (lanes <= 0) return cudaSuccess;
  return plan.warps == 1 ? launch_rounds_by<SoloPack>(kernel, plan, lanes, stream)
                         : launch_rounds_by<TeamPack>(kernel, plan, lanes, stream);
}

}  // namespace fairlane
