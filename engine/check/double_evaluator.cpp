#include "engine/check/double_evaluator.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/check/check.h"

// The bound. Let x be this evaluator's inputs of a layer and x~ those of a float32 evaluation,
// |x~ - x| <= e. A float32 chain s_0 = b, s_i = fl(s_{i-1} + x~_i w_i) of n fma rounds n times, by
// at most u |s_i| + t each, u = 2^-24, and t = 2^-149 for underflow. With E_i the distance of s_i
// from this evaluator's sum S_i of the same terms,
//   E_i <= E_{i-1} + |w_i| e_i + u (|S_i| + E_i) + t,   so
//   E_n <= (1 + g) sum(|w_i| e_i + u |S_i| + t),
// g = n u / (1 - n u): the running error analysis of Higham, Accuracy and Stability of Numerical
// Algorithms, 2nd ed., section 3.3. The order of the first layer's inputs depends on the domain;
// there |S_i| is replaced by |b| + sum |w x|, which bounds it in any order. This evaluator's own
// error is at most 2 n roundings of 2^-53 of terms of the same size. Activations multiply e by
// their Lipschitz constant and add their own rounding, as documented in kernels/core/numerics.h;
// where both values are negative for certain, relu makes them equal.

namespace fairlane {
namespace {

constexpr double kFloatUnit = 0x1p-24;  // unit roundoff of float32
constexpr double kDoubleUnit = 0x1p-53;
constexpr double kTiny = 0x1p-149;       // least float32: bounds an underflow
constexpr double kSlack = 1.0 + 1.0e-9;  // roundings in the bound itself
// Relative errors of the activations in float32, beyond those in double; an ulp is at most two unit
// roundoffs.
constexpr double kEluError = 6.0 * kFloatUnit;      // 2 ulp of expm1, one product
constexpr double kTanhError = 6.0 * kFloatUnit;     // 3 ulp
constexpr double kSigmoidError = 4.0 * kFloatUnit;  // 1 ulp, and one in reserve
constexpr double kSigmoidTiny = 0x1p-126;           // float32's is 0 where exp(-z) overflows
// SiLU and GELU, relative to 1, or to the sum or the result where those are less and more: at most
// 3 unit roundoffs are measured. Beyond, a share that float32 does not hold: below e^-88.7, of less
// than 128.
constexpr double kGatedError = 8.0 * kFloatUnit;
constexpr double kGatedTiny = 0x1p-120;
constexpr double kGatedLipschitz = 1.13;          // the steepest is GELU by tanh, 1.12900
constexpr double kLibmError = 8.0 * kDoubleUnit;  // of exp, expm1 and tanh in double, generously

double sigmoid_of(double z) {
  return z >= 0.0 ? 1.0 / (1.0 + std::exp(-z)) : std::exp(z) / (1.0 + std::exp(z));
}

/// SiLU and GELU.
double gated_of(Activation activation, double z) {
  constexpr double kRootHalf = 0.70710678118654752;
  constexpr double kRootTwoOverPi = 0.79788456080286536;
  if (activation == Activation::kSilu) return z * sigmoid_of(z);
  if (activation == Activation::kGelu) return z * 0.5 * std::erfc(-z * kRootHalf);
  return z * sigmoid_of(2.0 * kRootTwoOverPi * (z + 0.044715 * z * z * z));
}

}  // namespace

DoubleEvaluator::DoubleEvaluator(Network const& network, Domain const* domain) : domain_(domain) {
  for (auto const& from : network.layers) {
    Layer layer{from.inputs, from.outputs, from.activation, static_cast<double>(from.alpha), {},
                {}};
    layer.weights.assign(from.weights.begin(), from.weights.end());
    layer.bias.assign(from.bias.begin(), from.bias.end());
    layers_.push_back(std::move(layer));
  }
}

void DoubleEvaluator::dense(Layer const& layer, bool first) {
  auto const outputs = static_cast<std::size_t>(layer.outputs);
  auto const inputs = static_cast<std::size_t>(layer.inputs);
  auto const n = static_cast<double>(layer.inputs);
  next_value_.assign(layer.bias.begin(), layer.bias.end());
  next_error_.assign(outputs, 0.0);  // sum |w| e
  size_.resize(outputs);             // sum of |S_i|, or of what bounds it
  double* const y = next_value_.data();
  double* const e = next_error_.data();
  double* const size = size_.data();
  for (std::size_t o = 0; o < outputs; ++o) size[o] = std::abs(y[o]);
  for (std::size_t k = 0; k < inputs; ++k) {
    double const x = value_[k];
    double const spread = error_[k];
    double const* const w = layer.weights.data() + k * outputs;
    if (first) {
      for (std::size_t o = 0; o < outputs; ++o) {
        y[o] += x * w[o];
        size[o] += std::abs(x * w[o]);
      }
    } else if (x == 0.0 && spread == 0.0) {
      for (std::size_t o = 0; o < outputs; ++o) size[o] += std::abs(y[o]);
    } else {
      for (std::size_t o = 0; o < outputs; ++o) {
        y[o] += x * w[o];
        size[o] += std::abs(y[o]);
        e[o] += spread * std::abs(w[o]);
      }
    }
  }
  double const steps = first ? n : 1.0;
  constexpr double kOwnTerms = 4.0;  // |S_i| and |x w| <= |S_i| + |S_{i-1}|, and the bias
  double const unit = kFloatUnit + kOwnTerms * kDoubleUnit;
  double const growth = (1.0 + n * kFloatUnit / (1.0 - n * kFloatUnit)) * kSlack;
  constexpr double kMost = std::numeric_limits<float>::max();
  for (std::size_t o = 0; o < outputs; ++o) {
    e[o] = (e[o] + steps * unit * size[o] + n * kTiny) * growth;
    // An intermediate sum may overflow too; `size` bounds them all.
    if (!(size[o] + e[o] < kMost)) e[o] = std::numeric_limits<double>::infinity();
  }
  value_.swap(next_value_);
  error_.swap(next_error_);
}

void DoubleEvaluator::activate(Layer const& layer) {
  for (std::size_t i = 0; i < value_.size(); ++i) {
    double& x = value_[i];
    double& e = error_[i];
    double lipschitz = 1.0;
    double relative = 0.0;
    double absolute = kTiny;
    switch (layer.activation) {
      case Activation::kRelu:
        if (x < 0.0) e = std::max(0.0, x + e);
        x = std::max(x, 0.0);
        break;
      case Activation::kLeakyRelu:
        lipschitz = std::max(1.0, layer.alpha);
        relative = kFloatUnit + kDoubleUnit;
        if (x < 0.0) x *= layer.alpha;
        break;
      case Activation::kElu:
        lipschitz = std::max(1.0, layer.alpha);
        relative = kEluError + kLibmError;
        if (x < 0.0) x = layer.alpha * std::expm1(x);
        break;
      case Activation::kTanh:
        relative = kTanhError + kLibmError;
        x = std::tanh(x);
        break;
      case Activation::kSigmoid:
        lipschitz = 0.25;
        relative = kSigmoidError + kLibmError;
        absolute = kSigmoidTiny;
        x = sigmoid_of(x);
        break;
      case Activation::kSilu:
      case Activation::kGelu:
      case Activation::kGeluTanh: {
        double const size = std::min(std::abs(x) + e, 1.0);
        x = gated_of(layer.activation, x);
        e *= kGatedLipschitz;
        e = (e + (kGatedError + kLibmError) * std::max(size, std::abs(x) + e) + kGatedTiny) *
            kSlack;
        break;
      }
      default:
        break;
    }
    e *= lipschitz;
    if (relative > 0.0) e = (e + relative * (std::abs(x) + e) + absolute) * kSlack;
  }
}

void DoubleEvaluator::evaluate(std::int32_t const* row) {
  auto const inputs = static_cast<std::size_t>(layers_.front().inputs);
  if (domain_ == nullptr || !domain_->encodes()) {
    value_.assign(row, row + inputs);
  } else {
    value_.clear();
    domain_->encode(row, value_);
  }
  error_.assign(inputs, 0.0);  // codes are exact in float32, encoded ones are what float32 has
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    dense(layers_[l], l == 0);
    if (l + 1 < layers_.size()) activate(layers_[l]);
  }
}

CertainLabel DoubleEvaluator::label(double threshold) const {
  // Where the bound is infinite, float32 may have overflowed.
  for (std::size_t c = 0; c < value_.size(); ++c) {
    if (!std::isfinite(value_[c]) || !std::isfinite(error_[c])) return {kNoLabel, false};
  }
  if (value_.size() == 1)
    return {value_[0] > threshold ? 1 : 0, std::abs(value_[0] - threshold) > error_[0]};
  auto const top =
      static_cast<std::size_t>(std::max_element(value_.begin(), value_.end()) - value_.begin());
  CertainLabel result{static_cast<std::int32_t>(top), true};
  for (std::size_t c = 0; c < value_.size(); ++c) {
    if (c != top && !(value_[top] - value_[c] > error_[top] + error_[c])) result.certain = false;
  }
  return result;
}

double DoubleEvaluator::score(std::int32_t label, double& tolerance) const {
  double const error = *std::max_element(error_.begin(), error_.end());
  double p = 0.0;
  // d p / d logit is p (1 - p) for one output; for several the terms of the gradient add up to 2 p
  // (1 - p).
  double slope = 1.0;
  if (value_.size() == 1) {
    p = sigmoid_of(value_[0]);
  } else {
    double const top = *std::max_element(value_.begin(), value_.end());
    double sum = 0.0;
    for (double const z : value_) sum += std::exp(z - top);
    p = std::exp(value_[static_cast<std::size_t>(label)] - top) / sum;
    slope = 2.0;
  }
  constexpr double kSmall = 0.3;  // up to there the slope grows by less than a factor of two
  tolerance = error < kSmall ? 2.0 * slope * p * (1.0 - p) * error : 1.0;
  return p;
}

void evaluate_double(Network const& network, std::int32_t const* row, std::vector<double>& logits,
                     std::vector<double>& bound) {
  DoubleEvaluator evaluator(network);
  evaluator.evaluate(row);
  logits = evaluator.logits();
  bound = evaluator.bound();
}

}  // namespace fairlane
