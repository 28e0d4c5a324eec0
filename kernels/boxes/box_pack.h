// The pack of doubles that boxes are bounded with: a lane is a box of inputs.
//
// Its members are those of kernels/core/pack.h, in double, and
//   kStride  lanes from one value of a row to the next
//   kCurved  whether it bounds smooth activations, whose functions are the host's
// No result depends on kLanes, since lanes never meet.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/core/pack.h"

namespace fairlane {

/// One box at a time: the reference.
struct ScalarBoxPack {
  static constexpr int kLanes = 1;
  static constexpr int kStride = 1;
  static constexpr bool kCurved = true;
  using F = double;
  using M = bool;

  static FL_HD F splat(double x) { return x; }
  static FL_HD F load(double const* p) { return *p; }
  static FL_HD void store(F x, double* p) { *p = x; }
  static FL_HD F fma(F a, F b, F c) {
#ifdef __CUDA_ARCH__
    return __fma_rn(a, b, c);
#else
    return std::fma(a, b, c);
#endif
  }
  static FL_HD F sqrt(F x) {
#ifdef __CUDA_ARCH__
    return __dsqrt_rn(x);
#else
    return std::sqrt(x);
#endif
  }
  static FL_HD F select(M m, F a, F b) { return m ? a : b; }
  static FL_HD F min(F a, F b) { return a < b ? a : b; }
  static FL_HD F max(F a, F b) { return a > b ? a : b; }
  static FL_HD F abs(F x) { return x < 0.0 ? -x : x; }
  static FL_HD M land(M a, M b) { return a && b; }
  static FL_HD M lor(M a, M b) { return a || b; }
  static FL_HD M lnot(M a) { return !a; }
  static FL_HD bool any(M m) { return m; }
};

/// Boxes of a device that share a block of rows: neighbours read and write side by side.
inline constexpr int kBoxBlock = 32;

/// One box of such a block: a thread's view.
struct BlockBoxPack : ScalarBoxPack {
  static constexpr int kStride = kBoxBlock;
  static constexpr bool kCurved = false;
};

}  // namespace fairlane
