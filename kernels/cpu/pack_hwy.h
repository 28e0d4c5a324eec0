// The pack of one SIMD register, by Google Highway. Included only by kernels/cpu/isa_*.cpp, each
// compiled for one instruction set, after it has defined FL_ISA, the namespace of that instruction
// set.
#pragma once

#define HWY_COMPILE_ONLY_STATIC 1
#include <hwy/highway.h>

#include <type_traits>

#include "kernels/core/pack.h"

namespace fairlane::FL_ISA {

namespace hn = hwy::HWY_NAMESPACE;

/// One register of float32 lanes; see kernels/core/pack.h for the meaning of each member.
struct SimdPack {
  using DF = hn::ScalableTag<float>;
  using DI = hn::ScalableTag<std::int32_t>;
  using DU = hn::ScalableTag<std::uint32_t>;
  using DW = hn::Repartition<std::uint64_t, DU>;
  using F = hn::Vec<DF>;
  using I = hn::Vec<DI>;
  using U = hn::Vec<DU>;
  using M = hn::Mask<DF>;
  static constexpr int kLanes = static_cast<int>(hn::MaxLanes(DF()));

  static FL_HD F splat(float x) { return hn::Set(DF(), x); }
  static FL_HD I splat_i(std::int32_t x) { return hn::Set(DI(), x); }
  static FL_HD U splat_u(std::uint32_t x) { return hn::Set(DU(), x); }
  static FL_HD F load(float const* p) { return hn::LoadU(DF(), p); }
  static FL_HD I load_i(std::int32_t const* p) { return hn::LoadU(DI(), p); }
  static FL_HD U load_u(std::uint32_t const* p) { return hn::LoadU(DU(), p); }
  static FL_HD I gather_i(std::int32_t const* p, I i) { return hn::GatherIndex(DI(), p, i); }
  static FL_HD F gather(float const* table, I index, int stride) {
    return hn::GatherIndex(DF(), table, hn::Mul(index, splat_i(stride)));
  }
  static FL_HD F lookup(float const* table, I index) {
#if HWY_TARGET <= HWY_AVX3
    static_assert(kLookupValues == 4 * kLanes);
    auto const in_two = [&](float const* from) {  // by the lowest bits of the index
      return F{_mm512_permutex2var_ps(load(from).raw, index.raw, load(from + kLanes).raw)};
    };
    return select(less_i(index, splat_i(2 * kLanes)), in_two(table), in_two(table + 2 * kLanes));
#else
    return gather(table, index, 1);
#endif
  }
  static FL_HD void store(F x, float* p) { hn::StoreU(x, DF(), p); }
  static FL_HD void store_i(I x, std::int32_t* p) { hn::StoreU(x, DI(), p); }
  static FL_HD void store_u(U x, std::uint32_t* p) { hn::StoreU(x, DU(), p); }
  static FL_HD int compress(I x, M m, std::int32_t* p) {
    return static_cast<int>(hn::CompressStore(x, hn::RebindMask(DI(), m), DI(), p));
  }
  static FL_HD void transpose(F (&rows)[kLanes]) {
    FL_UNROLL
    for (int left = kLanes; left > 1; left /= 2) {  // each turn moves a bit of the lane to the row
      F next[kLanes];
      FL_UNROLL
      for (int i = 0; i < kLanes / 2; ++i) {
        next[i] = hn::ConcatEven(DF(), rows[2 * i + 1], rows[2 * i]);
        next[i + kLanes / 2] = hn::ConcatOdd(DF(), rows[2 * i + 1], rows[2 * i]);
      }
      FL_UNROLL
      for (int i = 0; i < kLanes; ++i) rows[i] = next[i];
    }
  }

  static FL_HD F fma(F a, F b, F c) { return hn::MulAdd(a, b, c); }
  static FL_HD F divide(F a, F b) { return hn::Div(a, b); }
  static FL_HD F float_of(I x) { return hn::BitCast(DF(), x); }
  static FL_HD I bits_of(F x) { return hn::BitCast(DI(), x); }
  static FL_HD F select(M m, F a, F b) { return hn::IfThenElse(m, a, b); }
  static FL_HD I select_i(M m, I a, I b) { return hn::IfThenElse(hn::RebindMask(DI(), m), a, b); }
  static FL_HD M land(M a, M b) { return hn::And(a, b); }
  static FL_HD M lor(M a, M b) { return hn::Or(a, b); }
  static FL_HD M lnot(M a) { return hn::Not(a); }
  static FL_HD bool any(M m) { return !hn::AllFalse(DF(), m); }
  static FL_HD std::uint64_t mask_bits(M m) {
    std::uint8_t bytes[8] = {};  // what StoreMaskBits may write, at least
    hn::StoreMaskBits(DF(), m, bytes);
    // A load of more than was stored would wait for it.
    std::conditional_t<(kLanes > 8), std::uint16_t, std::uint8_t> word;
    static_assert(kLanes <= 16);
    std::memcpy(&word, bytes, sizeof word);
    return word;
  }
#if HWY_ARCH_X86
  // x86's min and max return their second operand for NaN and for equal zeros.
  static FL_HD F min(F a, F b) { return hn::Min(a, b); }
  static FL_HD F max(F a, F b) { return hn::Max(a, b); }
  static FL_HD F relu(F x) { return hn::Max(hn::Zero(DF()), x); }
#else
  static FL_HD F min(F a, F b) { return hn::IfThenElse(hn::Lt(a, b), a, b); }
  static FL_HD F max(F a, F b) { return hn::IfThenElse(hn::Gt(a, b), a, b); }
  static FL_HD F relu(F x) { return hn::IfThenElse(hn::Lt(x, hn::Zero(DF())), hn::Zero(DF()), x); }
#endif
  static FL_HD F abs(F x) { return hn::Abs(x); }
  static FL_HD M less_i(I a, I b) { return hn::RebindMask(DF(), hn::Lt(a, b)); }
  static FL_HD I min_i(I a, I b) { return hn::Min(a, b); }
  static FL_HD I max_i(I a, I b) { return hn::Max(a, b); }
  static FL_HD F to_float(I x) { return hn::ConvertTo(DF(), x); }
  static FL_HD I to_int(F x) { return hn::ConvertTo(DI(), x); }
  static FL_HD F u_to_float(U x) { return hn::ConvertTo(DF(), hn::BitCast(DI(), x)); }
  static FL_HD I u_to_i(U x) { return hn::BitCast(DI(), x); }
  static FL_HD U i_to_u(I x) { return hn::BitCast(DU(), x); }
  template <int kBits>
  static FL_HD U shift_right_u(U x) {
    return hn::ShiftRight<kBits>(x);
  }
  static FL_HD I shift_left_by(I x, int bits) { return hn::ShiftLeftSame(x, bits); }
  static FL_HD I or_i(I a, I b) { return hn::Or(a, b); }
  static FL_HD I and_i(I a, I b) { return hn::And(a, b); }
  template <int kBits>
  static FL_HD I shift_left(I x) {
    return hn::ShiftLeft<kBits>(x);
  }
  static FL_HD void mul_hi_lo(U a, U b, U& high, U& low) {
    auto const odd_words = hn::Set(DW(), 0xFFFFFFFF00000000ULL);
    auto const even = hn::MulEven(a, b);
    auto const odd = hn::MulEven(hn::BitCast(DU(), hn::ShiftRight<32>(hn::BitCast(DW(), a))),
                                 hn::BitCast(DU(), hn::ShiftRight<32>(hn::BitCast(DW(), b))));
    high = hn::BitCast(DU(), hn::Or(hn::ShiftRight<32>(even), hn::And(odd, odd_words)));
    low = hn::BitCast(DU(), hn::Or(hn::AndNot(odd_words, even), hn::ShiftLeft<32>(odd)));
  }
};

}  // namespace fairlane::FL_ISA
