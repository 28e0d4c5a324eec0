// Logarithm and exponential in double precision from IEEE operations alone: the same bits on every
// machine, which a C library does not promise.
#pragma once

#include <cmath>

namespace fairlane {

/// ln x of a normal x > 0, within a few units of 2^-53.
inline double portable_log(double x) {
  constexpr double kLn2 = 0.69314718055994530942;
  constexpr double kRootHalf = 0.70710678118654752440;
  constexpr int kTerms = 11;
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);
  if (mantissa < kRootHalf) {
    mantissa *= 2.0;
    --exponent;
  }
  double const s = (mantissa - 1.0) / (mantissa + 1.0);  // ln m = 2 artanh s
  double sum = 0.0;
  for (int k = kTerms; k >= 0; --k) sum = sum * s * s + 1.0 / (2.0 * k + 1.0);
  return exponent * kLn2 + 2.0 * s * sum;
}

/// e^x, within some units of 2^-53 and |x| 2^-53; 0 below -745.
inline double portable_exp(double x) {
  constexpr double kLn2High = 0.693147180369123816490;  // its last 21 bits are 0
  constexpr double kLn2Low = 1.90821492927058770002e-10;
  constexpr double kLowest = -745.0;
  constexpr double kHighest = 709.0;
  constexpr int kTerms = 14;
  if (x < kLowest) return 0.0;
  if (x > kHighest) return HUGE_VAL;
  double const n = std::nearbyint(x / (kLn2High + kLn2Low));
  double const r = (x - n * kLn2High) - n * kLn2Low;
  double sum = 1.0;
  for (int k = kTerms; k > 0; --k) sum = 1.0 + sum * r / k;
  return std::ldexp(sum, static_cast<int>(n));
}

}  // namespace fairlane
