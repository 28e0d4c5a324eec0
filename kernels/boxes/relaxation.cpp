#include "kernels/boxes/relaxation.h"

#include <algorithm>
#include <cmath>

namespace fairlane {
namespace {

// Distance of the core's functions from the exact ones: relative to the largest value in the
// interval, several times what kernels/core/numerics.h says (at most 3 ulp, 2^-24 each relative to
// the value, and one more rounding for elu's scale); leaky relu rounds once. Absolute: where
// float32 loses relative precision, or exp is cut off (kExpLowest).
constexpr double kFunctionError = 0x1p-20;
constexpr double kProductError = 0x1p-23;
constexpr double kTinyError = 0x1p-120;
// Of what is computed here in double: a few operations and the C library's functions.
constexpr double kDoubleError = 0x1p-44;
// Relative width from which on a chord's slope is more than rounding errors.
constexpr double kNarrow = 0x1p-20;
// Gated activations are straight beside [-kCurved, kCurved], up to kTinyError.
constexpr double kCurved = 100.0;

// As in kernels/core/numerics.h.
constexpr double kGeluLinear = 1.5957691216057308;  // 2 sqrt(2 / pi)
constexpr double kGeluCubic = kGeluLinear * 0.044715;
constexpr double kRootHalf = 0.7071067811865476;
constexpr double kOneOverRootTwoPi = 0.3989422804014327;

/// What the sigmoid in SiLU and in GELU by tanh is of.
double inner_of(Activation activation, double z) {
  return activation == Activation::kSilu ? z : z * (kGeluLinear + kGeluCubic * z * z);
}

double gated_value(Activation activation, double z) {
  if (activation == Activation::kGelu) return z * 0.5 * std::erfc(-kRootHalf * z);
  return z / (1.0 + std::exp(-inner_of(activation, z)));
}

double gated_slope(Activation activation, double z) {
  if (std::abs(z) > kCurved) return z < 0.0 ? 0.0 : 1.0;
  if (activation == Activation::kGelu) {
    double const density = kOneOverRootTwoPi * std::exp(-0.5 * z * z);
    return 0.5 * std::erfc(-kRootHalf * z) + z * density;
  }
  double const rise =
      activation == Activation::kSilu ? 1.0 : kGeluLinear + 3.0 * kGeluCubic * z * z;
  double const s = 1.0 / (1.0 + std::exp(-inner_of(activation, z)));
  return s + z * s * (1.0 - s) * rise;
}

/// Where a gated activation is steepest. Its slope falls up to minus that, rises from there on up
/// to it, and falls again: more digits do not move an offset by as much as kFunctionError.
double steepest_of(Activation activation) {
  if (activation == Activation::kSilu) return 2.39935728;
  return activation == Activation::kGelu ? 1.41421356 : 1.41849760;
}

/// Calls take(z) with the places in an interval where a gated activation has a slope.
template <class Take>
void gated_turns(Activation activation, double slope, Interval within, Take take) {
  constexpr int kHalvings = 64;  // of at most 2 kCurved: double has no more
  double const steepest = steepest_of(activation);
  double const edge[] = {-kCurved, -steepest, steepest, kCurved};
  for (int piece = 0; piece < 3; ++piece) {
    double low = std::max(edge[piece], within.low);
    double high = std::min(edge[piece + 1], within.high);
    if (!(low < high)) continue;
    bool const less = gated_slope(activation, low) < slope;
    if ((gated_slope(activation, high) < slope) == less) continue;
    for (int i = 0; i < kHalvings; ++i) {
      double const middle = low + (high - low) / 2.0;
      ((gated_slope(activation, middle) < slope) == less ? low : high) = middle;
    }
    take(low);
  }
}

/// An activation in double.
class Function {
 public:
  Function(Activation activation, float alpha) : activation_(activation), alpha_(alpha) {}

  double value(double z) const { return activation_value(activation_, alpha_, z); }

  double slope(double z) const {
    double const y = value(z);
    switch (activation_) {
      case Activation::kRelu:
        return z < 0.0 ? 0.0 : 1.0;
      case Activation::kLeakyRelu:
        return z < 0.0 ? alpha_ : 1.0;
      case Activation::kElu:
        return z < 0.0 ? y + alpha_ : 1.0;
      case Activation::kTanh:
        return 1.0 - y * y;
      case Activation::kSigmoid:
        return y * (1.0 - y);
      case Activation::kSilu:
      case Activation::kGelu:
      case Activation::kGeluTanh:
        return gated_slope(activation_, z);
      default:
        return 1.0;
    }
  }

  /// Calls take(z) with the places beside an interval's ends where f(z) - k z may have an extreme.
  template <class Take>
  void turns(double k, Interval within, Take take) const {
    switch (activation_) {
      case Activation::kElu:
        if (k / alpha_ > 0.0 && k / alpha_ < 1.0) take(std::log(k / alpha_));
        take(0.0);
        break;
      case Activation::kRelu:
      case Activation::kLeakyRelu:
        take(0.0);
        break;
      case Activation::kTanh:
        if (k > 0.0 && k < 1.0) {
          double const z = std::atanh(std::sqrt(1.0 - k));
          take(z);
          take(-z);
        }
        break;
      case Activation::kSigmoid: {
        constexpr double kSteepest = 0.25;
        if (k > 0.0 && k < kSteepest) {
          double const y = (1.0 + std::sqrt(1.0 - 4.0 * k)) / 2.0;
          double const z = std::log(y) - std::log1p(-y);
          take(z);
          take(-z);
        }
        break;
      }
      case Activation::kSilu:
      case Activation::kGelu:
      case Activation::kGeluTanh:
        gated_turns(activation_, k, within, take);
        break;
      default:
        break;
    }
  }

  /// By how much the float32 result may be off, relative to the largest value; of a gated
  /// activation, to 1 or the largest argument where those are more and less.
  double error() const {
    switch (activation_) {
      case Activation::kElu:
      case Activation::kTanh:
      case Activation::kSigmoid:
      case Activation::kSilu:
      case Activation::kGelu:
      case Activation::kGeluTanh:
        return kFunctionError;
      case Activation::kLeakyRelu:
        return kProductError;
      default:
        return 0.0;
    }
  }

 private:
  Activation activation_;
  double alpha_;
};

/// Smallest and largest f(y) - k z over the interval.
Interval offsets(Function const& f, double k, Interval z) {
  auto const at = [&](double x) { return f.value(x) - k * x; };
  double const first = at(z.low);
  double const last = at(z.high);
  Interval result{std::min(first, last), std::max(first, last)};
  f.turns(k, z, [&](double x) {
    if (!(x > z.low && x < z.high)) return;
    result.low = std::min(result.low, at(x));
    result.high = std::max(result.high, at(x));
  });
  return result;
}

/// Slopes of the lines below and above.
struct Slopes {
  double below;
  double above;
};

Slopes choose_slopes(Function const& f, Activation activation, Interval z) {
  double const width = z.high - z.low;
  bool const apart = width > kNarrow * std::max(std::abs(z.low), std::abs(z.high));
  double const chord = apart ? (f.value(z.high) - f.value(z.low)) / width : f.slope(z.low);
  switch (activation) {
    case Activation::kTanh:
    case Activation::kSigmoid: {
      double const flat = std::min(f.slope(z.low), f.slope(z.high));
      return {z.low >= 0.0 ? chord : flat, z.high <= 0.0 ? chord : flat};
    }
    case Activation::kRelu:
    case Activation::kLeakyRelu: {
      if (z.low >= 0.0 || z.high <= 0.0) return {chord, chord};
      // The side that leaves the smaller area to the other line.
      double const nearer = z.high > -z.low ? 1.0 : f.slope(z.low);
      return chord > f.slope(z.low) ? Slopes{nearer, chord} : Slopes{chord, nearer};
    }
    case Activation::kElu: {
      double const tangent = f.slope(z.low + width / 2.0);
      return f.slope(z.low) <= 1.0 ? Slopes{tangent, chord} : Slopes{chord, tangent};
    }
    case Activation::kSilu:
    case Activation::kGelu:
    case Activation::kGeluTanh: {
      double const steepest = steepest_of(activation);
      double const tangent = f.slope(z.low + width / 2.0);
      if (z.low >= -steepest && z.high <= steepest) return {tangent, chord};
      bool const outside = z.high <= -steepest || z.low >= steepest;
      return {chord, outside ? tangent : chord};
    }
    default:
      return {1.0, 1.0};
  }
}

}  // namespace

double activation_value(Activation activation, double alpha, double z) {
  switch (activation) {
    case Activation::kRelu:
      return z < 0.0 ? 0.0 : z;
    case Activation::kLeakyRelu:
      return z < 0.0 ? alpha * z : z;
    case Activation::kElu:
      return z < 0.0 ? alpha * std::expm1(z) : z;
    case Activation::kTanh:
      return std::tanh(z);
    case Activation::kSigmoid:
      return 1.0 / (1.0 + std::exp(-z));
    case Activation::kSilu:
    case Activation::kGelu:
    case Activation::kGeluTanh:
      return gated_value(activation, z);
    default:
      return z;
  }
}

Relaxation relax(Activation activation, float alpha, Interval z) {
  Function const f(activation, alpha);
  Slopes const slopes = choose_slopes(f, activation, z);
  Interval range = offsets(f, 0.0, z);
  double const largest = std::max(std::abs(range.low), std::abs(range.high));
  double const reach = std::max(std::abs(z.low), std::abs(z.high));
  double const size = is_gated(activation) ? std::max(largest, std::min(reach, 1.0)) : largest;
  double const error = f.error() > 0.0 ? f.error() * size + kTinyError : 0.0;
  auto const pad = [&](double slope) {
    return error + kDoubleError * (largest + std::abs(slope) * reach);
  };
  Relaxation result;
  result.below = {slopes.below, offsets(f, slopes.below, z).low - pad(slopes.below)};
  result.above = {slopes.above, offsets(f, slopes.above, z).high + pad(slopes.above)};
  bool const exact = f.error() == 0.0;  // relu and none: the range's ends are values, not results
  result.range = {range.low - (exact ? 0.0 : pad(0.0)), range.high + (exact ? 0.0 : pad(0.0))};
  return result;
}

}  // namespace fairlane
