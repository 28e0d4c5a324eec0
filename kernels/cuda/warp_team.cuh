// The threads of a warp as a team; see kernels/device/rounds/round_kernels.h.
#pragma once

#include "kernels/cuda/warp_pack.cuh"
#include "kernels/rounds/window.h"

namespace fairlane {

/// 32 threads that go through everything together.
struct WarpTeam {
  static constexpr int kTake = kWarpLanes;
  static constexpr unsigned kAll = 0xFFFFFFFFU;

  template <class Work>
  __device__ __forceinline__ void each(int n, Work const& work) const {
    for (int i = warp_lane(); i < n; i += kWarpLanes) work(i);
    __syncwarp();
  }

  __device__ __forceinline__ void sync() const { __syncwarp(); }

  template <class Is>
  __device__ __forceinline__ unsigned which(int n, Is const& is) const {
    int const i = warp_lane();
    unsigned const bits = __ballot_sync(kAll, i < n && is(i));
    __syncwarp();
    return bits;
  }

  __device__ __forceinline__ Stage choose(Window& w, int enough, int& n) const {
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
    Stage const stage = choose_stage(__reduce_add_sync(kAll, own), enough, n);
    if (n == 0) {
      __syncwarp();  // all have read what the next window's lanes overwrite
    } else {
      n = list(w, four, stage);
    }
    return stage;
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

}  // namespace fairlane
