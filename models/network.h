// The white-box subject under test: a multi-layer perceptron in float32.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/core/views.h"

namespace fairlane {

/// Limits of what a reader accepts: far above tabular models, low enough that no size computation
/// overflows and no corrupt size is believed.
inline constexpr int kMaxInputs = 4096;
inline constexpr int kMaxUnits = 1 << 16;  // outputs of one layer
inline constexpr int kMaxLayers = 1024;

/// One dense layer with its parameters (see LayerView for shapes).
struct DenseLayer {
  std::string name;
  int inputs = 0;
  int outputs = 0;
  Activation activation = Activation::kLinear;
  float alpha = 0.0F;
  std::vector<float> weights;
  std::vector<float> bias;
};

/// A network as read from a file; the last layer is one sigmoid/linear unit or several
/// softmax/linear units.
struct Network {
  std::string source;  // the path it was read from, for messages
  std::string format;  // what kind of file that is, for people
  std::vector<DenseLayer> layers;
  std::vector<std::string> features = {};  // names of the inputs; empty where the file has none

  int inputs() const { return layers.front().inputs; }
  int outputs() const { return layers.back().outputs; }
  /// Number of weights and biases.
  std::int64_t parameters() const;
  /// Weights and biases, layer by layer: [parameters()].
  std::vector<float> values() const;
  /// Replaces them. Throws Error(kBug) where they are not as many.
  void set_values(std::span<float const> values);
  /// Views into this object; valid while it lives and is not changed.
  std::vector<LayerView> views() const;
};

/// Name of an activation as Keras spells it; GELU by tanh is "gelu_tanh".
char const* activation_name(Activation activation);

/// Checks what every reader must guarantee: shapes chain, sizes match, 1..kMaxInputs inputs, all
/// parameters finite, softmax only on the last layer and only with several outputs, sigmoid output
/// only with one.
/// Throws Error(kData) naming source, layer and index.
void validate(Network const& network);

}  // namespace fairlane
