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
      default:
        return 1.0;
    }
  }

  /// Calls take(z) with the places beside the interval's ends where f(z) - k z may have an extreme.
  template <class Take>
  void turns(double k, Take take) const {
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
      default:
        break;
    }
  }

  /// By how much the float32 result may be off, relative to the largest value.
  double error() const {
    switch (activation_) {
      case Activation::kElu:
      case Activation::kTanh:
      case Activation::kSigmoid:
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
  f.turns(k, [&](double x) {
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
  double const error = f.error() > 0.0 ? f.error() * largest + kTinyError : 0.0;
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
