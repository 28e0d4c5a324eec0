// The white-box subject under test: a multi-layer perceptron in float32.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
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

/// The file that a path names: itself, or NAME.index where NAME is a TensorFlow checkpoint. That
/// index holds the CRC of every tensor, which the reader checks: its digest stands for the
/// network's.
std::string network_file(std::string const& path);

/// Reads a network, choosing the reader by content and extension (.h5/.keras-v2 HDF5, .keras,
/// .onnx, .safetensors, a TensorFlow checkpoint as NAME or NAME.index).
/// Throws Error(kNoInput) if missing, Error(kData) if malformed or unsupported.
Network load_network(std::string const& path);

/// Keras HDF5 with Dense layers (Sequential or a linear Functional chain). Source: Keras 2
/// `model.save`.
Network read_keras_h5(std::string const& path);

/// Keras 3 archive (.keras), of the same layers. Source: Keras 3 `model.save`.
Network read_keras_archive(std::string const& path);
/// Same, from memory; `source` names it in messages.
Network parse_keras_archive(std::string_view bytes, std::string const& source);

/// TensorFlow 1 checkpoint NAME.index with NAME.data-00000-of-00001: kernels and biases whose
/// shapes make one chain, in the order of their names. It does not say the activations: those of
/// NAME.meta where that is there, else ReLU between the layers; softmax over several outputs,
/// sigmoid for one.
/// Source: tf.train.Saver (V2), as the programs of ADF and NeuronFair save their networks.
Network read_tf_checkpoint(std::string const& index_path);

/// ONNX: Gemm, MatMul and Add, activations, and what has no effect or can be folded (see
/// LayerChain).
/// Source: ONNX operator sets 1 to 22.
Network read_onnx(std::string const& path);
/// Same, from memory; `source` names it in messages.
Network parse_onnx(std::string_view bytes, std::string const& source);

/// Fairlane's own file: safetensors, tensors `layers.K.weight` [inputs][outputs], `layers.K.bias`,
/// and metadata `layers.K.activation`, `layers.K.alpha`, `layers.K.name`, `format` =
/// "fairlane-mlp". Every declared size is checked against the bytes present.
Network read_safetensors(std::string const& path);
/// Same, from memory; `source` names it in messages.
Network parse_safetensors(std::string_view bytes, std::string const& source);
/// Writes to a temporary neighbour and renames. Throws Error(kDisk).
void write_safetensors(Network const& network, std::string const& path);

}  // namespace fairlane
