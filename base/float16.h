// 16-bit floating-point numbers as single precision; every one of them is exact.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace fairlane {

/// IEEE half precision.
inline float from_half(std::uint16_t half) {
  int const exponent = half >> 10 & 31;
  int const mantissa = half & 1023;
  float magnitude = 0.0F;
  if (exponent == 31) {
    magnitude = mantissa == 0 ? std::numeric_limits<float>::infinity()
                              : std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(mantissa), -24);
  } else {
    magnitude = std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  }
  return (half & 0x8000U) != 0 ? -magnitude : magnitude;
}

/// bfloat16: the upper half of a float32.
inline float from_bfloat16(std::uint16_t upper) {
  return std::bit_cast<float>(std::uint32_t{upper} << 16);
}

}  // namespace fairlane
