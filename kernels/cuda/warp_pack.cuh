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

  static __device__ __forceinline__ void settle() { __syncwarp(); }

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

  /// Values that lie side by side, in the fewest loads. See LoadsWeights in core/dense.h.
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
  template <int kOf, int kCount>
  static __device__ __forceinline__ void load_side(float const* p, F (&x)[kCount]) {
    load_weights<kCount>(p, warp_lane() * kOf, x);
  }
  template <int kOf, int kCount>
  static __device__ __forceinline__ void store_side(F const (&x)[kCount], float* p) {
    store_own(x, p + warp_lane() * kOf);
  }
  template <int kOf>
  static __device__ __forceinline__ float* own_side(float* p) {
    p += warp_lane() * kOf;
    if constexpr (kOnChip) {
      asm("" : "+l"(p));
      __builtin_assume(__isShared(p));
    }
    return p;
  }
  template <int kCount>
  static __device__ __forceinline__ void store_own(F const (&x)[kCount], float* to) {
    if constexpr (kCount == 4) {
      *reinterpret_cast<float4*>(to) = make_float4(x[0], x[1], x[2], x[3]);
    } else if constexpr (kCount == 2) {
      *reinterpret_cast<float2*>(to) = make_float2(x[0], x[1]);
    } else {
      FL_UNROLL
      for (int i = 0; i < kCount; ++i) to[i] = x[i];
    }
  }
};

}  // namespace fairlane
