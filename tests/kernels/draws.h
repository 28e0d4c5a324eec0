// Fixed draws for the tests of one lane, and how far their frequencies may stray.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/core/philox.h"
#include "kernels/core/steps.h"

namespace fairlane {

using One = ScalarPack;

// Chi-square with a hundred or fewer degrees of freedom stays below mean + 6 sqrt(2 mean) but once
// in a million; the draws are fixed.
inline double chi_limit(double freedom) { return freedom + 6.0 * std::sqrt(2.0 * freedom); }

inline std::uint32_t word_of(std::uint32_t n, int word = 0) {
  return philox<One>(n, 1, 7, 0, 99).w[word];
}

}  // namespace fairlane
