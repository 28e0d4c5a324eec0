// Plain views that cross from host code into the kernels: what a model and a domain look like to
// them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "kernels/core/constraints.h"
#include "kernels/core/scorer.h"

namespace fairlane {

/// Activation of a dense layer.
enum class Activation : std::uint8_t {
  kLinear,
  kRelu,
  kLeakyRelu,
  kElu,
  kTanh,
  kSigmoid,
  kSoftmax,
  kSilu,     // x sigmoid(x)
  kGelu,     // x times the normal distribution at x
  kGeluTanh  // its approximation by tanh
};

/// Whether an activation is x times a share of it: two sums may have the same result, so that the
/// derivative takes the sum itself, and gradients keep sums in the place of results.
constexpr bool is_gated(Activation activation) {
  return activation == Activation::kSilu || activation == Activation::kGelu ||
         activation == Activation::kGeluTanh;
}

/// One dense layer, y = act(x W + b).
/// weights  [inputs][outputs] row-major, as Keras stores a kernel
/// bias     [outputs]
/// alpha    slope of leaky_relu for x < 0, scale of elu; unused otherwise
struct LayerView {
  int inputs = 0;
  int outputs = 0;
  Activation activation = Activation::kLinear;
  float alpha = 0.0F;
  std::span<float const> weights;
  std::span<float const> bias;
};

/// A network: layers in order, layer k's inputs are layer k-1's outputs.
/// One output: sigmoid (or linear logit); several: softmax (or linear logits).
using NetworkView = std::span<LayerView const>;

/// How an attribute's code becomes columns of the network's input.
enum class EncodingKind : std::uint8_t {
  kIdentity,  // one column: the code itself
  kAffine,    // one column from a table whose values are `slope` apart, up to a rounding
  kTable,     // columns from a table
  kOneHot,    // a column for every code but the lowest `dropped`: 1 for its own code, otherwise 0
};

/// The encoding of one attribute.
/// width  its columns
/// slope  kAffine: what one code adds
/// table  [codes][width] columns of every code that the attribute may take, ascending; kAffine,
///        kTable
struct EncodingView {
  EncodingKind kind = EncodingKind::kIdentity;
  int dropped = 0;
  int width = 1;
  double slope = 1.0;
  std::span<float const> table = {};
};

/// What a run tests, in the dataset's column order. Values are integer codes.
/// low, high     [attributes] inclusive bounds
/// flagged       [attributes] 1 where the domain file marks the attribute as protected
/// selected      indices of the attributes under test, ascending
/// values        [selected] the compared values of each, ascending; never empty
/// threshold     one output: label 1 when the score lies above; see label_threshold in
///               engine/subject/subject.h
/// scorer        what gives scores where there is no network, whose view is empty then
/// scores        what they are; a network's are logits
/// codes         [attributes] the codes that an attribute may take, ascending from low to high;
///               empty, or empty for an attribute: all of them. A search sees their places in the
///               list: a step leads to a neighbour there
/// immutable     [attributes] 1 where no search may change a value; empty: none
/// encodings     [attributes]; empty: every attribute is one input, its code. The model's inputs
///               are the attributes' columns side by side
/// constraints   what an input must satisfy to exist, by attributes and codes; the output of one
///               that does not is undefined. No look-ups. Empty: all exist
/// finding_constraints  at most one, without a set, that a finding must satisfy beside; its pair
///               need not
/// finding_slack [kSlacks] by how much, one drawn for each, a step of a local search may raise that
///               sum; empty: up to its bound
struct SubjectView {
  NetworkView network;
  std::span<std::int32_t const> low;
  std::span<std::int32_t const> high;
  std::span<std::uint8_t const> flagged;
  std::span<std::int32_t const> selected;
  std::span<std::span<std::int32_t const> const> values;
  float threshold = 0.0F;
  Scorer* scorer = nullptr;
  ScoreKind scores = ScoreKind::kLogits;

  int outputs() const { return scorer != nullptr ? scorer->outputs() : network.back().outputs; }
  std::span<std::span<std::int32_t const> const> codes = {};
  std::span<std::uint8_t const> immutable = {};
  std::span<EncodingView const> encodings = {};
  std::span<ConstraintView const> constraints = {};
  std::span<ConstraintView const> finding_constraints = {};
  std::span<std::int32_t const> finding_slack = {};

  /// The codes that an attribute may take; empty: all from low to high.
  std::span<std::int32_t const> codes_of(std::size_t attribute) const {
    return codes.empty() ? std::span<std::int32_t const>() : codes[attribute];
  }
  std::int64_t code_count(std::size_t attribute) const {
    auto const list = codes_of(attribute);
    return list.empty() ? std::int64_t{high[attribute]} - low[attribute] + 1
                        : static_cast<std::int64_t>(list.size());
  }
  /// The i-th code that an attribute may take.
  std::int32_t code_at(std::size_t attribute, std::int64_t i) const {
    auto const list = codes_of(attribute);
    return list.empty() ? static_cast<std::int32_t>(low[attribute] + i)
                        : list[static_cast<std::size_t>(i)];
  }
  bool allows(std::size_t attribute, std::int32_t code) const {
    auto const list = codes_of(attribute);
    return list.empty() ? code >= low[attribute] && code <= high[attribute]
                        : std::binary_search(list.begin(), list.end(), code);
  }
  EncodingView encoding(std::size_t attribute) const {
    return encodings.empty() ? EncodingView{} : encodings[attribute];
  }
};

}  // namespace fairlane
