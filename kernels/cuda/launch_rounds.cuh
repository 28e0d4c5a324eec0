// The fourth shape of kernel: a team of warps that takes a window of lanes through many rounds.
#pragma once

#include <algorithm>

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/team_layers.cuh"

namespace fairlane {

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
