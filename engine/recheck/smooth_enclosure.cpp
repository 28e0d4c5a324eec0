#include "engine/recheck/smooth_enclosure.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fairlane {
namespace {

constexpr double kFloat32Unit = 0x1p-24;
// Of float32's function, relative: 6 ulp of the normal distribution are 12, and a product.
constexpr double kFloatError = 16.0 * kFloat32Unit;
constexpr double kGeluTanhError = 0x1p-21;  // absolute; 2^-22 of the function itself
constexpr double kTinyShare = 0x1p-120;     // more than a share that float32 takes for 0, times 100
constexpr double kDoubleError = 0x1p-40;
constexpr double kCurved = 40.0;         // beyond, a function is its asymptote
constexpr double kWidestPiece = 0.25;    // the widest
constexpr double kFewPieces = 4.0;       // of a narrow range
constexpr double kLeastGated = -0.2785;  // of SiLU, less than those of GELU

double sigmoid_of(double z) {
  return z >= 0.0 ? 1.0 / (1.0 + std::exp(-z)) : std::exp(z) / (1.0 + std::exp(z));
}

/// A bound of the second derivative's size, where there is one.
double curvature(Activation activation, double alpha) {
  switch (activation) {
    case Activation::kElu:
      return alpha;
    case Activation::kTanh:
      return 0.7699;  // 4 / (3 sqrt 3)
    case Activation::kSigmoid:
      return 0.0963;  // 1 / (6 sqrt 3)
    case Activation::kSilu:
      return 0.5001;  // at 0
    default:
      return 0.8;  // at 0: sqrt(2 / pi)
  }
}

/// By how much float32 may miss a value: convex in it, so that between two places it is no more
/// than between those of the places, and what the value itself may be beyond.
double float_error(Activation activation, double value) {
  double const size = is_gated(activation) ? std::max(std::abs(value), 1.0) : std::abs(value);
  return kFloatError * size + kTinyShare +
         (activation == Activation::kGeluTanh ? kGeluTanhError : 0.0);
}

}  // namespace

bool is_smooth(Activation activation) {
  switch (activation) {
    case Activation::kElu:
    case Activation::kTanh:
    case Activation::kSigmoid:
    case Activation::kSilu:
    case Activation::kGelu:
    case Activation::kGeluTanh:
      return true;
    default:
      return false;
  }
}

double smooth_value(Activation activation, double alpha, double z) {
  constexpr double kRootHalf = 0.70710678118654752;
  constexpr double kLinear = 1.5957691216057308;  // 2 sqrt(2 / pi)
  constexpr double kCubic = 0.044715;
  switch (activation) {
    case Activation::kElu:
      return z < 0.0 ? alpha * std::expm1(z) : z;
    case Activation::kTanh:
      return std::tanh(z);
    case Activation::kSigmoid:
      return sigmoid_of(z);
    case Activation::kSilu:
      return z * sigmoid_of(z);
    case Activation::kGelu:
      return z * 0.5 * std::erfc(-z * kRootHalf);
    default:
      return z * sigmoid_of(kLinear * z * (1.0 + kCubic * z * z));
  }
}

SmoothEnclosure smooth_enclosure(Activation activation, double alpha, double low, double high) {
  auto const value = [&](double z) { return smooth_value(activation, alpha, z); };
  SmoothEnclosure result;
  if (high > low) {
    double const chord = (value(high) - value(low)) / (high - low);
    if (std::isfinite(chord)) result.slope = chord;
  }
  result.below = result.least = std::numeric_limits<double>::infinity();
  result.above = result.most = -result.below;
  // What a value may be off by, in double, in float32 and where it is between two places.
  auto const take = [&](double z, double beyond) {
    double const f = value(z);
    double const line = result.slope * z;
    double const pad = beyond + kDoubleError * (1.0 + std::abs(f) + std::abs(line));
    double const rounding = float_error(activation, f) + kFloatError * beyond;
    result.below = std::min(result.below, f - line - pad - rounding);
    result.above = std::max(result.above, f - line + pad + rounding);
    result.least = std::min(result.least, f - pad - rounding);
    result.most = std::max(result.most, f + pad + rounding);
  };
  // Pieces of [from, to], on which the function has that curvature.
  auto const take_pieces = [&](double from, double to, double bend) {
    double const pieces =
        std::max(std::ceil((to - from) / kWidestPiece), bend > 0.0 && to > from ? kFewPieces : 1.0);
    double const h = (to - from) / pieces;
    double const beyond = bend * h * h / 8.0;
    for (double i = 0.0; i <= pieces; i += 1.0) take(std::min(from + i * h, to), beyond);
  };
  double const bend = curvature(activation, alpha);
  double const first = std::clamp(low, -kCurved, kCurved);
  double const last = std::clamp(high, -kCurved, kCurved);
  take(low, 0.0);
  take(high, 0.0);
  if (activation == Activation::kElu) {  // two functions, which meet at 0
    if (first < 0.0 && high > -kCurved) take_pieces(first, std::min(last, 0.0), bend);
    if (high >= 0.0 && low <= 0.0) take(0.0, 0.0);
  } else if (low < kCurved && high > -kCurved) {
    take_pieces(first, last, bend);
  }
  // Ends that are known without pieces: of what only rises, and of what falls before it rises, so
  // that its most is at an end.
  double const at_low = value(low);
  double const at_high = value(high);
  double const reach = std::max({std::abs(at_low), std::abs(at_high), -kLeastGated});
  double const slack = kDoubleError * (1.0 + reach) + float_error(activation, reach);
  result.least = std::max(result.least, (is_gated(activation) ? kLeastGated : at_low) - slack);
  result.most = std::min(result.most, std::max(at_low, at_high) + slack);
  return result;
}

}  // namespace fairlane
