// The concept Pack: N lanes that advance together, and its portable implementation with one lane.
//
// The lane core is written against a pack P with these members; every operation is IEEE-754
// rounded and gives each lane the same bits on every device:
//   kLanes                      lanes per pack
//   F, I, U, M                  float32, int32, uint32 and mask vectors; + - * between equal types,
//                               / and < > == on F, < > == on I, + ^ on U
//   splat / splat_i / splat_u   broadcast
//   load_* / store_*            unaligned access to kLanes consecutive values
//   gather_i(p, i)              p[i] of each lane; gather(table, i, stride): table[i * stride]
//   lookup(table, i)            table[i] of a table of kLookupValues
//   compress(x, m, p)           stores the lanes of x where m side by side, and returns how many;
//                               writes a whole pack
//   fma(a, b, c)                a * b + c, rounded once
//   select(m, a, b)             m ? a : b;  land, lor, lnot, any  on masks
//   mask_bits(m)                bit i of the result: lane i of the mask
//   min(a, b), max(a, b)        a < b ? a : b and a > b ? a : b, so b where one is NaN
//   relu(x)                     x < 0 ? 0 : x (keeps NaN)
//   abs, divide, less_i, min_i, max_i, and_i, or_i, to_float, to_int, bits_of, float_of,
//   shift_left<n>, shift_left_by, shift_right_u<n>, mul_hi_lo
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define FL_HOST_DEVICE __host__ __device__
#define FL_HD FL_HOST_DEVICE __forceinline__
#else
#define FL_HOST_DEVICE
#define FL_HD inline __attribute__((always_inline))
#endif

namespace fairlane {

inline constexpr int kLookupValues = 64;

/// One lane per pack: a CUDA thread's view, and the reference on a CPU without wide vectors.
struct ScalarPack {
  static constexpr int kLanes = 1;
  using F = float;
  using I = std::int32_t;
  using U = std::uint32_t;
  using M = bool;

  static FL_HD F splat(float x) { return x; }
  static FL_HD I splat_i(std::int32_t x) { return x; }
  static FL_HD U splat_u(std::uint32_t x) { return x; }
  static FL_HD F load(float const* p) { return *p; }
  static FL_HD I load_i(std::int32_t const* p) {
#ifdef __CUDA_ARCH__
    return *p;
#else
    I x;
    std::memcpy(&x, p, sizeof x);  // also reads floats as bits
    return x;
#endif
  }
  static FL_HD U load_u(std::uint32_t const* p) { return *p; }
  static FL_HD I gather_i(std::int32_t const* p, I i) { return load_i(p + i); }
  /// table[index * stride]
  static FL_HD F gather(float const* table, I index, int stride) {
    return table[static_cast<long>(index) * stride];
  }
  static FL_HD F lookup(float const* table, I index) { return table[index]; }
  static FL_HD void store(F x, float* p) { *p = x; }
  static FL_HD void store_i(I x, std::int32_t* p) {
#ifdef __CUDA_ARCH__
    *p = x;
#else
    std::memcpy(p, &x, sizeof x);
#endif
  }
  static FL_HD void store_u(U x, std::uint32_t* p) { *p = x; }
  static FL_HD int compress(I x, M m, std::int32_t* p) {
    *p = x;
    return m ? 1 : 0;
  }

#ifdef __CUDA_ARCH__
  static FL_HD F fma(F a, F b, F c) { return __fmaf_rn(a, b, c); }
  static FL_HD F divide(F a, F b) { return __fdiv_rn(a, b); }
  static FL_HD F float_of(I x) { return __int_as_float(x); }
  static FL_HD I bits_of(F x) { return __float_as_int(x); }
#else
  static FL_HD F fma(F a, F b, F c) { return std::fma(a, b, c); }
  static FL_HD F divide(F a, F b) { return a / b; }
  static FL_HD F float_of(I x) {
    F y;
    std::memcpy(&y, &x, sizeof y);
    return y;
  }
  static FL_HD I bits_of(F x) {
    I y;
    std::memcpy(&y, &x, sizeof y);
    return y;
  }
#endif
  static FL_HD F select(M m, F a, F b) { return m ? a : b; }
  static FL_HD I select_i(M m, I a, I b) { return m ? a : b; }
  static FL_HD M land(M a, M b) { return a && b; }
  static FL_HD M lor(M a, M b) { return a || b; }
  static FL_HD M lnot(M a) { return !a; }
  static FL_HD bool any(M m) { return m; }
  static FL_HD std::uint64_t mask_bits(M m) { return m ? 1 : 0; }
  static FL_HD F min(F a, F b) { return a < b ? a : b; }
  static FL_HD F max(F a, F b) { return a > b ? a : b; }
  /// Keeps NaN. Zeros are all +0, which takes a GPU one instruction and which no label, score or
  /// comparison of gradients shows: SIMD packs may keep -0.
  static FL_HD F relu(F x) {
#ifdef __CUDA_ARCH__
    F y;
    asm("max.NaN.f32 %0, %1, 0f00000000;" : "=f"(y) : "f"(x));
    return y;
#else
    return x <= 0.0F ? 0.0F : x;
#endif
  }
  static FL_HD F abs(F x) { return float_of(bits_of(x) & 0x7FFFFFFF); }
  static FL_HD M less_i(I a, I b) { return a < b; }
  static FL_HD I min_i(I a, I b) { return a < b ? a : b; }
  static FL_HD I max_i(I a, I b) { return a > b ? a : b; }
  static FL_HD F to_float(I x) { return static_cast<float>(x); }
  /// Value of a float that holds an integer of magnitude below 2^22; 0 for NaN.
  static FL_HD I to_int(F x) { return x == x ? static_cast<std::int32_t>(x) : 0; }
  static FL_HD F u_to_float(U x) { return static_cast<float>(static_cast<std::int32_t>(x)); }
  static FL_HD I u_to_i(U x) { return static_cast<std::int32_t>(x); }
  static FL_HD U i_to_u(I x) { return static_cast<std::uint32_t>(x); }
  template <int kBits>
  static FL_HD U shift_right_u(U x) {
    return x >> kBits;
  }
  /// Shift by a count that is the same for all lanes.
  static FL_HD I shift_left_by(I x, int bits) { return static_cast<I>(static_cast<U>(x) << bits); }
  static FL_HD I or_i(I a, I b) { return a | b; }
  static FL_HD I and_i(I a, I b) { return a & b; }
  template <int kBits>
  static FL_HD I shift_left(I x) {
    return static_cast<I>(static_cast<U>(x) << kBits);
  }
  /// 32 x 32 -> 64 bit product: high and low words.
  static FL_HD void mul_hi_lo(U a, U b, U& high, U& low) {
    std::uint64_t const product = static_cast<std::uint64_t>(a) * b;
    high = static_cast<U>(product >> 32);
    low = static_cast<U>(product);
  }
};

/// What the lane core asks of a pack; the head of this file says what each operation does.
template <class P>
concept Pack = requires(typename P::F f, typename P::I i, typename P::U u, typename P::U& word,
                        typename P::M m, float const* from, std::int32_t const* from_i,
                        std::uint32_t const* from_u, float* to, std::int32_t* to_i,
                        std::uint32_t* to_u) {
  { P::kLanes } -> std::convertible_to<int>;
  { P::splat(1.0F) } -> std::same_as<typename P::F>;
  { P::splat_i(1) } -> std::same_as<typename P::I>;
  { P::splat_u(1U) } -> std::same_as<typename P::U>;
  { P::load(from) } -> std::same_as<typename P::F>;
  { P::load_i(from_i) } -> std::same_as<typename P::I>;
  { P::load_u(from_u) } -> std::same_as<typename P::U>;
  { P::gather_i(from_i, i) } -> std::same_as<typename P::I>;
  { P::gather(from, i, 1) } -> std::same_as<typename P::F>;
  { P::lookup(from, i) } -> std::same_as<typename P::F>;
  P::store(f, to);
  P::store_i(i, to_i);
  P::store_u(u, to_u);
  { P::compress(i, m, to_i) } -> std::same_as<int>;
  { P::fma(f, f, f) } -> std::same_as<typename P::F>;
  { P::divide(f, f) } -> std::same_as<typename P::F>;
  { P::float_of(i) } -> std::same_as<typename P::F>;
  { P::bits_of(f) } -> std::same_as<typename P::I>;
  { P::select(m, f, f) } -> std::same_as<typename P::F>;
  { P::select_i(m, i, i) } -> std::same_as<typename P::I>;
  { P::land(m, m) } -> std::same_as<typename P::M>;
  { P::lor(m, m) } -> std::same_as<typename P::M>;
  { P::lnot(m) } -> std::same_as<typename P::M>;
  { P::any(m) } -> std::same_as<bool>;
  { P::mask_bits(m) } -> std::same_as<std::uint64_t>;
  { P::min(f, f) } -> std::same_as<typename P::F>;
  { P::max(f, f) } -> std::same_as<typename P::F>;
  { P::relu(f) } -> std::same_as<typename P::F>;
  { P::abs(f) } -> std::same_as<typename P::F>;
  { P::less_i(i, i) } -> std::same_as<typename P::M>;
  { P::min_i(i, i) } -> std::same_as<typename P::I>;
  { P::max_i(i, i) } -> std::same_as<typename P::I>;
  { P::to_float(i) } -> std::same_as<typename P::F>;
  { P::to_int(f) } -> std::same_as<typename P::I>;
  { P::u_to_float(u) } -> std::same_as<typename P::F>;
  { P::u_to_i(u) } -> std::same_as<typename P::I>;
  { P::i_to_u(i) } -> std::same_as<typename P::U>;
  { P::template shift_right_u<1>(u) } -> std::same_as<typename P::U>;
  { P::template shift_left<1>(i) } -> std::same_as<typename P::I>;
  { P::shift_left_by(i, 1) } -> std::same_as<typename P::I>;
  { P::or_i(i, i) } -> std::same_as<typename P::I>;
  { P::and_i(i, i) } -> std::same_as<typename P::I>;
  P::mul_hi_lo(u, u, word, word);
};
static_assert(Pack<ScalarPack>);

}  // namespace fairlane
