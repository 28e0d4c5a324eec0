// A pack of one lane with a GPU's demands: weights are loaded by the vector, from addresses aligned
// for it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "kernels/core/dense.h"

namespace fairlane {

struct VectorPack : ScalarPack {
  static constexpr int kMostSums = 32;
  static void settle() {}
  template <class T>
  static T* near(T* p) {
    return p;
  }
  template <int kCount>
  static void load_weights(float const* p, int at, float (&w)[kCount]) {
    constexpr std::size_t kVector = kCount % 4 == 0 ? 4 : kCount % 2 == 0 ? 2 : 1;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p + at) % (kVector * sizeof(float)), 0U);
    std::copy_n(p + at, kCount, w);
  }
  template <int kOf, int kCount>
  static void load_side(float const* p, float (&x)[kCount]) {
    std::copy_n(p, kCount, x);
  }
  template <int kOf, int kCount>
  static void store_side(float const (&x)[kCount], float* p) {
    std::copy_n(x, kCount, p);
  }
  template <int>
  static float* own_side(float* p) {
    return p;
  }
  template <int kCount>
  static void store_own(float const (&x)[kCount], float* to) {
    store_side<kCount>(x, to);
  }
};
static_assert(LoadsWeights<VectorPack> && !LoadsWeights<ScalarPack>);

}  // namespace fairlane
