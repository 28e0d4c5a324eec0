// The pack of doubles of one SIMD register, by Google Highway; see kernels/boxes/box_pack.h.
// Included only by kernels/cpu/isa_*.cpp, behind kernels/cpu/pack_hwy.h.
#pragma once

#include "kernels/boxes/box_pack.h"
#include "kernels/cpu/pack_hwy.h"

namespace fairlane::FL_ISA {

struct SimdBoxPack {
  using D = hn::ScalableTag<double>;
  using F = hn::Vec<D>;
  using M = hn::Mask<D>;
  static constexpr int kLanes = static_cast<int>(hn::MaxLanes(D()));
  static constexpr int kStride = kLanes;
  static constexpr bool kCurved = true;

  static FL_HD F splat(double x) { return hn::Set(D(), x); }
  static FL_HD F load(double const* p) { return hn::LoadU(D(), p); }
  static FL_HD void store(F x, double* p) { hn::StoreU(x, D(), p); }
  static FL_HD F fma(F a, F b, F c) { return hn::MulAdd(a, b, c); }
  static FL_HD F sqrt(F x) { return hn::Sqrt(x); }
  static FL_HD F select(M m, F a, F b) { return hn::IfThenElse(m, a, b); }
  static FL_HD F min(F a, F b) { return hn::IfThenElse(hn::Lt(a, b), a, b); }
  static FL_HD F max(F a, F b) { return hn::IfThenElse(hn::Gt(a, b), a, b); }
  static FL_HD F abs(F x) { return hn::Abs(x); }
  static FL_HD M land(M a, M b) { return hn::And(a, b); }
  static FL_HD M lor(M a, M b) { return hn::Or(a, b); }
  static FL_HD M lnot(M a) { return hn::Not(a); }
  static FL_HD bool any(M m) { return !hn::AllFalse(D(), m); }
};

}  // namespace fairlane::FL_ISA
