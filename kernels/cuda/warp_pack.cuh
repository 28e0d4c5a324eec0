// A pack of 32 lanes spread over a warp: a thread holds one lane and reads its own element of every
// row.
#pragma once

#include "kernels/core/pack.h"

namespace fairlane {

inline constexpr int kWarpLanes = 32;

/// The lane of the calling thread.
__device__ __forceinline__ int warp_lane() { return static_cast<int>(threadIdx.x % kWarpLanes); }

/// kOnChip  weights and activations lie in shared memory, which the compiler then addresses as such
/// kSums    sums that a thread has registers for
template <bool kOnChip, int kSums = 32>
struct WarpPack : ScalarPack {
  static constexpr int kLanes = kWarpLanes;
  static constexpr int kMostSums = kSums;

  static __device__ __forceinline__ F load(float const* p) { return p[warp_lane()]; }
  static __device__ __forceinline__ I load_i(std::int32_t const* p) { return p[warp_lane()]; }
  static __device__ __forceinline__ U load_u(std::uint32_t const* p) { return p[warp_lane()]; }
  static __device__ __forceinline__ void store(F x, float* p) { p[warp_lane()] = x; }
  static __device__ __forceinline__ void store_i(I x, std::int32_t* p) { p[warp_lane()] = x; }
  static __device__ __forceinline__ void store_u(U x, std::uint32_t* p) { p[warp_lane()] = x; }
  static __device__ __forceinline__ bool any(M m) { return __any_sync(0xFFFFFFFFU, m) != 0; }

  static __device__ __forceinline__ std::uint64_t mask_bits(M m) {
    return __ballot_sync(0xFFFFFFFFU, m);
  }

  /// A lane's values of four packs that lie side by side, [lane][four].
  static __device__ __forceinline__ void load_four(float const* p, F (&x)[4]) {
    float4 const four = reinterpret_cast<float4 const*>(p)[warp_lane()];
    x[0] = four.x;
    x[1] = four.y;
    x[2] = four.z;
    x[3] = four.w;
  }
  static __device__ __forceinline__ void store_four(F const (&x)[4], float* p) {
    reinterpret_cast<float4*>(p)[warp_lane()] = make_float4(x[0], x[1], x[2], x[3]);
  }

  /// A pointer into shared memory as the compiler knows it: what is read through it needs no look
  /// at its address.
  template <class T>
  static __device__ __forceinline__ T* near(T* p) {
    if constexpr (kOnChip) {
      extern __shared__ uint4 shared[];
      auto* const base = reinterpret_cast<char*>(shared);
      return reinterpret_cast<T*>(base +
                                  (__cvta_generic_to_shared(p) - __cvta_generic_to_shared(base)));
    } else {
      return p;
    }
  }

  /// kCount weights, the same for all lanes, in the fewest loads. See LoadsWeights in core/dense.h.
  template <int kCount>
  static __device__ __forceinline__ void load_weights(float const* p, int at, float (&w)[kCount]) {
    if constexpr (kCount % 4 == 0) {
#pragma unroll
      for (int i = 0; i < kCount; i += 4) {
        float4 const four = *reinterpret_cast<float4 const*>(p + at + i);
        w[i] = four.x;
        w[i + 1] = four.y;
        w[i + 2] = four.z;
        w[i + 3] = four.w;
      }
    } else if constexpr (kCount % 2 == 0) {
#pragma unroll
      for (int i = 0; i < kCount; i += 2) {
        float2 const two = *reinterpret_cast<float2 const*>(p + at + i);
        w[i] = two.x;
        w[i + 1] = two.y;
      }
    } else {
#pragma unroll
      for (int i = 0; i < kCount; ++i) w[i] = p[at + i];
    }
  }
};

}  // namespace fairlane
