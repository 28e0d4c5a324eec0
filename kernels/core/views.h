// Plain views that cross from host code into the kernels: what a model and a domain look like to them.
#pragma once

#include <cstdint>
#include <span>

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
  kSoftmax
};

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

/// What a run tests, in the dataset's column order. Values are integer codes.
/// low, high     [attributes] inclusive bounds
/// flagged       [attributes] 1 where the domain file marks the attribute as protected
/// selected      indices of the attributes under test, ascending
/// values        [selected] the compared values of each, ascending; never empty
/// cut           one output: label 1 when the score lies above; see label_cut in engine/subject.h
/// scorer        what gives scores where there is no network, whose view is empty then
/// scores        what they are; a network's are logits
struct SubjectView {
  NetworkView network;
  std::span<std::int32_t const> low;
  std::span<std::int32_t const> high;
  std::span<std::uint8_t const> flagged;
  std::span<std::int32_t const> selected;
  std::span<std::span<std::int32_t const> const> values;
  float cut = 0.0F;
  Scorer* scorer = nullptr;
  ScoreKind scores = ScoreKind::kLogits;

  int outputs() const { return scorer != nullptr ? scorer->outputs() : network.back().outputs; }
};

}  // namespace fairlane
