// What the lane core must compute, written as plainly as possible: one input at a time, nested
// loops over the network in the dataset's column order, no packs, no tiles. Twice: in double with
// the C library's functions, to know how far float32 strays, and in float32 in the contract's
// order, to expect the very same bits.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "kernels/core/gradients.h"

namespace fairlane::naive {

/// Rows of integer codes in dataset order.
using Row = std::vector<std::int32_t>;

/// Every combination of the selected attributes' values, the rest of `row` fixed, in product order.
inline std::vector<Row> similar_set(SubjectView const& subject, Row const& row) {
  std::vector<Row> members = {row};
  for (std::size_t s = 0; s < subject.selected.size(); ++s) {
    std::vector<Row> more;
    for (auto const& member : members) {
      for (std::int32_t const value : subject.values[s]) {
        more.push_back(member);
        more.back()[static_cast<std::size_t>(subject.selected[s])] = value;
      }
    }
    members = std::move(more);
  }
  return members;
}

/// What the terms of a constraint add up to for a row.
inline std::int64_t sum_of(ConstraintView const& constraint, Row const& row) {
  std::int64_t sum = 0;
  std::int64_t index = 0;
  for (TermView const& term : constraint.terms) {
    std::int32_t const code = row[static_cast<std::size_t>(term.attribute)];
    bool const inside = code >= term.from && code <= term.to;
    if (term.kind == TermKind::kCode) sum += std::int64_t{term.factor} * code;
    if (term.kind == TermKind::kWithin && inside) sum += term.factor;
    if (term.kind == TermKind::kTable) sum += term.table[code - term.from];
    if (term.kind == TermKind::kIndex) index += term.table[code - term.from];
    if (term.kind == TermKind::kLookUp) sum += term.table[std::exchange(index, 0)];
  }
  return sum;
}

/// Whether a row satisfies constraints.
inline bool satisfies(std::span<ConstraintView const> constraints, Row const& row) {
  for (ConstraintView const& constraint : constraints) {
    std::int64_t const sum = sum_of(constraint, row);
    if (sum > constraint.bound) return false;
    if (constraint.set.empty()) continue;
    auto const bit = static_cast<std::size_t>(sum);
    if (sum < 0 || (constraint.set[bit / 32] >> (bit % 32) & 1U) == 0) return false;
  }
  return true;
}

/// Whether the constraints let a row exist, and whether they let it be a finding.
inline bool exists(SubjectView const& subject, Row const& row) {
  return satisfies(subject.constraints, row);
}
/// The sum that is asked of findings; 0 where anything may be one.
inline std::int64_t surprise(SubjectView const& subject, Row const& row) {
  return subject.finding_constraints.empty() ? 0 : sum_of(subject.finding_constraints[0], row);
}

/// Columns in kernel order: unflagged attributes, then flagged or selected ones, each in dataset
/// order.
inline std::vector<std::size_t> column_order(SubjectView const& subject) {
  std::vector<std::size_t> order;
  std::vector<char> last(subject.flagged.begin(), subject.flagged.end());
  for (std::int32_t const s : subject.selected) last[static_cast<std::size_t>(s)] = 1;
  for (bool const tail : {false, true}) {
    for (std::size_t a = 0; a < last.size(); ++a) {
      if ((last[a] != 0) == tail) order.push_back(a);
    }
  }
  return order;
}

/// The model's inputs in the order of those columns.
inline std::vector<std::size_t> input_order(SubjectView const& subject) {
  std::vector<std::size_t> first = {0};
  for (std::size_t a = 0; a < subject.low.size(); ++a)
    first.push_back(first.back() + static_cast<std::size_t>(subject.encoding(a).width));
  std::vector<std::size_t> order;
  for (std::size_t const a : column_order(subject)) {
    for (std::size_t k = first[a]; k < first[a + 1]; ++k) order.push_back(k);
  }
  return order;
}

inline constexpr double kPi = 3.14159265358979323846;

/// Arithmetic in double, sums in the order of the weights.
struct Double {
  using Real = double;
  static double fma(double a, double b, double c) { return a * b + c; }
  static double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
  static double tanh(double x) { return std::tanh(x); }
  static double expm1(double x) { return std::expm1(x); }
  /// The normal distribution at x, and its density.
  static double below(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2.0; }
  static double density(double x) { return std::exp(-x * x / 2.0) / std::sqrt(2.0 * kPi); }
  static std::vector<double> softmax(std::vector<double> const& z) {
    double top = z[0];
    for (double const value : z) top = std::fmax(top, value);
    std::vector<double> p;
    double sum = 0.0;
    for (double const value : z) p.push_back(std::exp(value - top));
    for (double const value : p) sum += value;
    for (double& value : p) value /= sum;
    return p;
  }
};

/// Arithmetic in float32 by the contract: fma, and the core's own functions on one lane.
struct Float {
  using Real = float;
  static float fma(float a, float b, float c) { return std::fma(a, b, c); }
  static float sigmoid(float x) { return fairlane::sigmoid<ScalarPack>(x); }
  static float tanh(float x) { return fairlane::tanh<ScalarPack>(x); }
  static float expm1(float x) { return expm1_negative<ScalarPack>(x); }
  static float below(float x) { return normal<ScalarPack>(x).below; }
  static float density(float x) { return normal<ScalarPack>(x).density; }
  static std::vector<float> softmax(std::vector<float> z) {
    std::vector<float> terms(2 * z.size());
    fairlane::softmax<ScalarPack>(z.data(), static_cast<int>(z.size()), 1, z.data(), terms.data());
    return z;
  }
};

/// The subject evaluated in one arithmetic.
template <class A>
class Reference {
 public:
  using Real = typename A::Real;
  using Reals = std::vector<Real>;

  explicit Reference(SubjectView const& subject)
      : subject_(subject), order_(input_order(subject)) {}

  /// Activations of every layer: [0] the input, the last entry the logits.
  std::vector<Reals> activations(Reals const& input) const {
    std::vector<Reals> all = {input};
    for (std::size_t l = 0; l < subject_.network.size(); ++l) {
      Reals out = sums(l, all[l]);
      if (l + 1 < subject_.network.size()) {
        for (Real& x : out) x = activation(subject_.network[l], x);
      }
      all.push_back(std::move(out));
    }
    return all;
  }
  /// Sums of layer l from what enters it.
  Reals sums(std::size_t l, Reals const& in) const {
    auto const& layer = subject_.network[l];
    Reals out;
    for (int o = 0; o < layer.outputs; ++o) {
      auto const column = static_cast<std::size_t>(o);
      Real sum = layer.bias[column];
      for (std::size_t i = 0; i < in.size(); ++i) {
        std::size_t const k = l == 0 ? order_[i] : i;
        sum =
            A::fma(in[k], layer.weights[k * static_cast<std::size_t>(layer.outputs) + column], sum);
      }
      out.push_back(sum);
    }
    return out;
  }
  Reals logits(Row const& row) const { return activations(inputs(row)).back(); }
  /// The same, undefined where the row does not exist.
  Reals feasible_logits(Row const& row) const {
    Reals z = logits(row);
    if (!exists(subject_, row)) z[0] = std::numeric_limits<Real>::quiet_NaN();
    return z;
  }
  /// Codes as the model's inputs, in its order.
  Reals inputs(Row const& row) const {
    Reals in;
    for (std::size_t a = 0; a < row.size(); ++a) {
      EncodingView const encoding = subject_.encoding(a);
      int number = 0;  // of the code among those that may occur
      while (subject_.code_at(a, number) != row[a]) ++number;
      for (int k = 0; k < encoding.width; ++k) {
        if (encoding.kind == EncodingKind::kIdentity) {
          in.push_back(static_cast<Real>(row[a]));
        } else if (encoding.kind == EncodingKind::kOneHot) {
          in.push_back(number == k + encoding.dropped ? 1 : 0);
        } else {
          in.push_back(encoding.table[static_cast<std::size_t>(number * encoding.width + k)]);
        }
      }
    }
    return in;
  }
  static Reals reals(Row const& row) { return Reals(row.begin(), row.end()); }

  /// p(1) of one output, otherwise all classes.
  Reals probabilities(Reals const& z) const {
    return z.size() == 1 ? Reals{A::sigmoid(z[0])} : A::softmax(z);
  }
  std::int32_t label(Reals const& z) const {
    for (Real const value : z) {
      if (!std::isfinite(value)) return kUndefinedLabel;
    }
    if (z.size() == 1) return z[0] > static_cast<Real>(subject_.threshold) ? 1 : 0;
    std::size_t best = 0;
    for (std::size_t c = 1; c < z.size(); ++c) best = z[c] > z[best] ? c : best;
    return static_cast<std::int32_t>(best);
  }
  std::int32_t label(Row const& row) const { return label(feasible_logits(row)); }

  /// Gradient of the quantity with respect to every attribute.
  Reals gradient(GradientSpec const& spec, Row const& row) const {
    if (spec.kind == GradientKind::kProbabilityDifference) return differences(spec, row);
    auto const all = activations(reals(row));
    Reals delta = logit_gradient(spec.kind, all.back());
    for (std::size_t l = subject_.network.size(); l-- > 0;) {
      auto const& layer = subject_.network[l];
      Reals before(all[l].size());
      Reals const entered =
          l > 0 && is_gated(subject_.network[l - 1].activation) ? sums(l - 1, all[l - 1]) : all[l];
      for (std::size_t k = 0; k < before.size(); ++k) {
        Real sum = 0;
        for (std::size_t o = 0; o < delta.size(); ++o) {
          sum = A::fma(delta[o], layer.weights[k * delta.size() + o], sum);
        }
        before[k] = l > 0 ? chain(subject_.network[l - 1], entered[k], sum) : sum;
      }
      delta = std::move(before);
    }
    return delta;
  }

  struct Probe {
    std::int32_t label = 0;
    std::int32_t pair = -1;     // first member with another defined label
    std::int32_t partner = -1;  // defined member with the largest squared output difference
    std::vector<std::int32_t> labels;
    bool mixed = false;
    bool undefined = false;
    bool irregular = false;  // siblings do not tell whether an input is an IDI
    Real score = 0;
    Real pair_score = 0;
    Real severity = 0;
  };
  Probe probe(Row const& row) const {
    Probe result;
    Reals const z = feasible_logits(row);
    Reals const own = probabilities(z);
    Reals low = own;
    Reals high = own;
    Real best = 0;
    result.label = label(z);
    result.score = result.pair_score = score(own, result.label);
    std::int32_t first = kUndefinedLabel;
    for (auto const& member : similar_set(subject_, row)) {
      auto const v = static_cast<std::int32_t>(result.labels.size());
      Reals const other_z = feasible_logits(member);
      Reals const other = probabilities(other_z);
      std::int32_t const other_label = label(other_z);
      result.labels.push_back(other_label);
      Real squares = 0;
      for (std::size_t c = 0; c < own.size(); ++c) {
        Real const difference = own[c] - other[c];
        squares = A::fma(difference, difference, squares);
        low[c] = other[c] < low[c] ? other[c] : low[c];
        high[c] = other[c] > high[c] ? other[c] : high[c];
      }
      if (other_label == kUndefinedLabel) {
        result.undefined = true;
        continue;
      }
      if (squares > best) {
        best = squares;
        result.partner = v;
      }
      if (first == kUndefinedLabel) first = other_label;
      result.mixed = result.mixed || other_label != first;
      if (result.pair < 0 && result.label != kUndefinedLabel && other_label != result.label) {
        result.pair = v;
        result.pair_score = score(other, other_label);
      }
    }
    for (std::size_t c = 0; c < own.size(); ++c) {
      if (high[c] - low[c] > result.severity) result.severity = high[c] - low[c];
    }
    result.irregular = result.undefined || !subject_.finding_constraints.empty();
    if (!satisfies(subject_.finding_constraints, row)) {
      result.label = kUndefinedLabel;
      result.pair = -1;
    }
    return result;
  }

  /// How far the label's logit lies above the threshold, or above the best other.
  Real class_margin(std::int32_t wanted, Reals const& z) const {
    if (z.size() == 1)
      return wanted == 1 ? z[0] - static_cast<Real>(subject_.threshold)
                         : -(z[0] - static_cast<Real>(subject_.threshold));
    auto const other = best_other(wanted, z);
    return z[static_cast<std::size_t>(wanted)] - z[other];
  }

 private:
  static Real activation(LayerView const& layer, Real x) {
    switch (layer.activation) {
      case Activation::kRelu:
        return x < 0 ? 0 : x;
      case Activation::kLeakyRelu:
        return x < 0 ? x * static_cast<Real>(layer.alpha) : x;
      case Activation::kElu:
        return x < 0 ? static_cast<Real>(layer.alpha) * A::expm1(x) : x;
      case Activation::kTanh:
        return A::tanh(x);
      case Activation::kSigmoid:
        return A::sigmoid(x);
      case Activation::kSilu:
        return x * A::sigmoid(x);
      case Activation::kGelu:
        return x * A::below(x);
      case Activation::kGeluTanh:
        return x * A::sigmoid(x * A::fma(x * x, kCubic, kLinear));
      default:
        return x;
    }
  }
  static constexpr auto kLinear = static_cast<Real>(1.5957691216057308);  // 2 sqrt(2 / pi)
  static constexpr auto kCubic = static_cast<Real>(1.5957691216057308 * 0.044715);
  /// The derivative of a gated activation.
  static Real gated_slope(Activation activation, Real x) {
    if (activation == Activation::kGelu) return A::fma(x, A::density(x), A::below(x));
    if (activation == Activation::kSilu) {
      Real const s = A::sigmoid(x);
      return s * A::fma(x, 1 - s, 1);
    }
    constexpr Real kFlat = 16;
    x = x > kFlat ? kFlat : x < -kFlat ? -kFlat : x;
    Real const s = A::sigmoid(x * A::fma(x * x, kCubic, kLinear));
    return s * A::fma(x * (1 - s), A::fma(x * x, 3 * kCubic, kLinear), 1);
  }
  /// gradient * f'(x), from y = f(x); of a gated activation, from y = x.
  static Real chain(LayerView const& layer, Real y, Real gradient) {
    auto const alpha = static_cast<Real>(layer.alpha);
    switch (layer.activation) {
      case Activation::kRelu:
        return y > 0 ? gradient : 0;
      case Activation::kLeakyRelu:
        return y > 0 ? gradient : gradient * alpha;
      case Activation::kElu:
        return y > 0 ? gradient : gradient * (y + alpha);
      case Activation::kTanh:
        return gradient * (1 - y * y);
      case Activation::kSigmoid:
        return gradient * (y * (1 - y));
      case Activation::kSilu:
      case Activation::kGelu:
      case Activation::kGeluTanh:
        return gradient * gated_slope(layer.activation, y);
      default:
        return gradient;
    }
  }
  static Real score(Reals const& p, std::int32_t label) {
    if (p.size() == 1 || label == kUndefinedLabel) return p[0];
    return p[static_cast<std::size_t>(label)];
  }
  static std::size_t best_other(std::int32_t wanted, Reals const& z) {
    std::size_t best = wanted == 0 ? 1 : 0;
    for (std::size_t c = best + 1; c < z.size(); ++c) {
      if (static_cast<std::int32_t>(c) != wanted && z[c] > z[best]) best = c;
    }
    return best;
  }
  Reals logit_gradient(GradientKind kind, Reals const& z) const {
    std::int32_t const own = label(z);
    if (z.size() == 1) {
      Real const p = A::sigmoid(z[0]);
      if (kind == GradientKind::kLoss) return {p - static_cast<Real>(own)};
      Real const d = kind == GradientKind::kMargin ? Real{1} : p * (1 - p);
      return {own == 1 ? d : -d};
    }
    Reals d(z.size());
    Reals const p = A::softmax(z);
    auto const mine = static_cast<std::size_t>(own);
    for (std::size_t c = 0; c < z.size(); ++c) {
      Real const target = c == mine ? 1 : 0;
      if (kind == GradientKind::kMargin) d[c] = target - (c == best_other(own, z) ? 1 : 0);
      if (kind == GradientKind::kLoss) d[c] = p[c] - target;
      if (kind == GradientKind::kProbability) d[c] = p[mine] * (target - p[c]);
    }
    return d;
  }
  /// (p(x + h e_i) - p(x)) / h of the own label's probability; 0 for selected attributes.
  Reals differences(GradientSpec const& spec, Row const& row) const {
    Reals x = reals(row);
    Reals const z = activations(x).back();
    std::int32_t const own = label(z);
    auto const probability = [&](Reals const& at) {
      if (at.size() == 1) return own == 1 ? A::sigmoid(at[0]) : -A::sigmoid(at[0]);
      return A::softmax(at)[static_cast<std::size_t>(own)];
    };
    Real const here = probability(z);
    Reals result(x.size(), 0);
    for (std::size_t a = 0; a < x.size(); ++a) {
      bool selected = false;
      for (std::int32_t const s : subject_.selected)
        selected = selected || static_cast<std::size_t>(s) == a;
      if (selected) continue;
      Real const kept = x[a];
      x[a] = kept + static_cast<Real>(spec.step);
      result[a] = (probability(activations(x).back()) - here) / static_cast<Real>(spec.step);
      x[a] = kept;
    }
    return result;
  }

  SubjectView subject_;
  std::vector<std::size_t> order_;
};

using DoubleReference = Reference<Double>;
using FloatReference = Reference<Float>;

}  // namespace fairlane::naive
