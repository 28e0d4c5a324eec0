// The fourth shape of kernel: a warp that takes a window of lanes through many rounds.
#pragma once

#include <algorithm>

#include "kernels/cuda/launch.cuh"

namespace fairlane {

/// The threads of a warp; see kernels/device/rounds/round_kernels.h.
struct WarpTeam {
  static constexpr int kTake = kWarpLanes;
  static constexpr unsigned kAll = 0xFFFFFFFFU;

  template <class Work>
  __device__ __forceinline__ void each(int n, Work const& work) const {
    for (int i = warp_lane(); i < n; i += kWarpLanes) work(i);
    __syncwarp();
  }

  __device__ __forceinline__ void sync() const { __syncwarp(); }

  __device__ __forceinline__ Stage choose(Window& w, int& n) const {
    // Every thread looks at the lanes of one word of `stage`.
    unsigned const four = warp_lane() * kThreadLanes < w.count
                              ? reinterpret_cast<unsigned const*>(w.stage)[warp_lane()]
                              : 0U;
    // A byte for each stage that is work, which a window's lanes do not exceed.
    static_assert(kMostWindow < 256 && static_cast<int>(Stage::kStale) == 1);
    unsigned own = 0;
#pragma unroll
    for (int b = 0; b < kThreadLanes; ++b)
      own += 1U << (8 * static_cast<int>(stage_of(four, b))) >> 8;
    unsigned const waiting = __reduce_add_sync(kAll, own);
    Stage fullest = work_stage(0);
    n = static_cast<int>(waiting & 0xFFU);
#pragma unroll
    for (int k = 1; k < kWorkStages; ++k) {
      int const here = static_cast<int>(waiting >> (8 * k) & 0xFFU);
      if (here > n) {
        fullest = work_stage(k);
        n = here;
      }
    }
    if (n == 0) return Stage::kResting;
    n = list(w, four, fullest);
    return fullest;
  }

  __device__ __forceinline__ int take(Window& w, Stage stage) const {
    unsigned const four = warp_lane() * kThreadLanes < w.count
                              ? reinterpret_cast<unsigned const*>(w.stage)[warp_lane()]
                              : 0U;
    return list(w, four, stage);
  }

 private:
  static __device__ __forceinline__ Stage stage_of(unsigned four, int b) {
    return static_cast<Stage>(four >> (8 * b) & 0xFFU);
  }

  /// Lanes in the order of their words, from w.turn on, which then is the word behind the last one.
  __device__ __forceinline__ int list(Window& w, unsigned four, Stage stage) const {
    bool const late = warp_lane() < w.turn;  // words before the turn come after all others
    unsigned const turned = (1U << w.turn) - 1;
    unsigned const before = (1U << warp_lane()) - 1;
    unsigned const ahead = late ? before | ~turned : before & ~turned;
    int rank = 0;
    int all = 0;
#pragma unroll
    for (int b = 0; b < kThreadLanes; ++b) {
      unsigned const those = __ballot_sync(kAll, stage_of(four, b) == stage);
      rank += __popc(those & ahead);
      all += __popc(those);
    }
    bool const taken = rank < kTake;
#pragma unroll
    for (int b = 0; b < kThreadLanes; ++b) {
      if (stage_of(four, b) != stage || rank >= kTake) continue;
      w.list[rank++] = static_cast<std::int32_t>(w.lane) + warp_lane() * kThreadLanes + b;
    }
    unsigned const words = __ballot_sync(kAll, taken);
    unsigned const last = (words & turned) != 0 ? words & turned : words & ~turned;
    w.turn = (kWarpLanes - __clz(static_cast<int>(last))) % kWarpLanes;
    // Threads without a lane do what one with a lane does, for nobody.
    if (warp_lane() >= all) w.list[warp_lane()] = static_cast<std::int32_t>(w.lane);
    __syncwarp();
    return all < kTake ? all : kTake;
  }
};

inline constexpr int kRoundSums = 64;  // of a thread, which has 168 registers

/// Calls the kernel for every window of the lanes, a warp at a time. Weights and scratch lie in
/// shared memory.
/// kM  members evaluated together, or kSpreadMembers
template <class K, int kM>
__global__ void __launch_bounds__(kMostRoundWarps* kWarpLanes, 1)
    run_rounds(__grid_constant__ K const kernel, __grid_constant__ RoundPlan const plan,
               int lanes) {
  extern __shared__ uint4 shared[];
  auto* on_chip = reinterpret_cast<std::byte*>(shared);
  int const warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  copy_arena(plan.arena, on_chip);
  Subject const subject = subject_at(plan.arena, on_chip);
  on_chip += plan.arena.bytes;
  Window window;
  lay_out_window(plan.window, kWarpLanes, on_chip + warp * plan.window_bytes, window);
  on_chip += plan.warps * plan.window_bytes;
  float* const memory = reinterpret_cast<float*>(on_chip) + warp * plan.scratch_floats;
  // Window after window over the blocks first, so that few still keep every multiprocessor busy.
  long const first = static_cast<long>(warp) * gridDim.x + blockIdx.x;
  long const step = static_cast<long>(gridDim.x) * plan.warps;
  for (long at = first; at * plan.window < lanes; at += step) {
    window.lane = at * plan.window;
    window.place = at * plan.places;
    window.count = static_cast<int>(min(static_cast<long>(plan.window), lanes - window.lane));
    window.turn = 0;
    kernel.template operator()<WarpPack<true, kRoundSums>, kM>(WarpTeam{}, subject, window, memory);
  }
}

template <class K, int kM>
cudaError_t launch_rounds_as(K const& kernel, RoundPlan const& plan, int lanes,
                             cudaStream_t stream) {
  auto const function = run_rounds<K, kM>;
  cudaError_t const allowed = cudaFuncSetAttribute(
      function, cudaFuncAttributeMaxDynamicSharedMemorySize, plan.shared_bytes);
  if (allowed != cudaSuccess) return allowed;
  int const windows = (lanes + plan.window - 1) / plan.window;
  function<<<static_cast<unsigned>(std::min(windows, plan.blocks)),
             static_cast<unsigned>(plan.warps * kWarpLanes),
             static_cast<std::size_t>(plan.shared_bytes), stream>>>(kernel, plan, lanes);
  return cudaGetLastError();
}

template <class K>
cudaError_t launch_rounds(K const& kernel, RoundPlan const& plan, int lanes, cudaStream_t stream) {
  if (lanes <= 0) return cudaSuccess;
  if (plan.members == kSpreadMembers)
    return launch_rounds_as<K, kSpreadMembers>(kernel, plan, lanes, stream);
  if (plan.members >= 4) return launch_rounds_as<K, 4>(kernel, plan, lanes, stream);
  return launch_rounds_as<K, 2>(kernel, plan, lanes, stream);
}

}  // namespace fairlane
