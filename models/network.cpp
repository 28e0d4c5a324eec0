#include "models/network.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace fairlane {
namespace {

constexpr std::string_view kHdf5Magic("\x89HDF\r\n\x1a\n", 8);
constexpr std::string_view kZipMagic("PK\x03\x04", 4);
constexpr char const* kFormats =
    "Keras (.keras, .h5), ONNX (.onnx), a TensorFlow 1 checkpoint (.index) or Fairlane "
    ".safetensors";
constexpr std::size_t kHeadBytes = 9;  // enough for every magic number below

Error bad(std::string const& source, std::string const& what) {
  return Error(ExitCode::kData, fmt::format("{}: {}", escaped(source, 4096), what));
}

std::string layer_title(Network const& network, std::size_t k) {
  return fmt::format("layer {} {}", k, in_quotes(network.layers[k].name));
}

void check_parameters(Network const& network, std::size_t k, char const* kind,
                      std::vector<float> const& values, std::int64_t expected) {
  if (static_cast<std::int64_t>(values.size()) != expected) {
    throw bad(network.source, fmt::format("{} has {} {} values, expected {}",
                                          layer_title(network, k), values.size(), kind, expected));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      throw bad(network.source, fmt::format("{}: {}[{}] is {}, expected a finite number",
                                            layer_title(network, k), kind, i, values[i]));
    }
  }
}

void check_activation(Network const& network, std::size_t k) {
  DenseLayer const& layer = network.layers[k];
  bool const last = k + 1 == network.layers.size();
  auto const fail = [&](char const* expected) {
    return bad(network.source,
               fmt::format("{} has activation {} with {} output{}, expected {}",
                           layer_title(network, k), activation_name(layer.activation),
                           layer.outputs, layer.outputs == 1 ? "" : "s", expected));
  };
  if (!last) {
    if (layer.activation == Activation::kSoftmax) throw fail("softmax on the last layer only");
  } else if (layer.outputs == 1) {
    if (layer.activation != Activation::kSigmoid && layer.activation != Activation::kLinear) {
      throw fail("sigmoid or linear on a last layer with one output");
    }
  } else if (layer.activation != Activation::kSoftmax && layer.activation != Activation::kLinear) {
    throw fail("softmax or linear on a last layer with several outputs");
  }
  bool const has_alpha =
      layer.activation == Activation::kLeakyRelu || layer.activation == Activation::kElu;
  if (has_alpha && !(std::isfinite(layer.alpha) && layer.alpha >= 0.0F)) {
    throw bad(network.source,
              fmt::format("{}: alpha of {} is {}, expected a finite number of at least 0",
                          layer_title(network, k), activation_name(layer.activation), layer.alpha));
  }
}

// The first bytes of a file. A directory gets the message that helps with models.
std::string read_head(std::string const& path) {
  std::error_code ec;
  if (std::filesystem::is_directory(path, ec)) {
    bool const saved_model =
        std::filesystem::exists(std::filesystem::path(path) / "saved_model.pb", ec);
    throw Error(
        ExitCode::kNoInput,
        fmt::format(
            "{}: is a directory{}, expected a model file; save it with model.save('NAME.h5')",
            escaped(path, 4096), saved_model ? " (a TensorFlow SavedModel)" : ""));
  }
  InputFile const file = open_input(path);
  std::array<char, kHeadBytes> head{};
  std::size_t const got = std::fread(head.data(), 1, head.size(), file.get());
  return {head.data(), got};
}

bool starts_with(std::string const& text, std::string_view prefix) {
  return std::string_view(text).substr(0, prefix.size()) == prefix;
}

bool is_torch(std::string const& extension) {
  return extension == ".pt" || extension == ".pth" || extension == ".ts";
}

// What to do about a file that is no network we read, judged by its first bytes and its name.
std::string advice(std::string const& head, std::string const& extension) {
  if (is_torch(extension)) {
    return "is a PyTorch file, which has no layers that can be read here; TorchScript serves as a "
           "black-box model only";
  }
  if (extension == ".meta" || extension.substr(0, 6) == ".data-") {
    return "is part of a TensorFlow checkpoint; name its index, NAME.index, or NAME alone";
  }
  if (extension == ".nnet")
    return "is a NNET file, which is not supported; convert it to Keras HDF5";
  if (extension == ".pkl" || extension == ".joblib" || extension == ".pickle") {
    return "is a Python pickle, which is not supported; save the network as Keras HDF5";
  }
  return fmt::format("starts with {}, expected a network as {}", in_quotes(head, 8), kFormats);
}

}  // namespace

std::int64_t Network::parameters() const {
  std::int64_t total = 0;
  for (auto const& layer : layers) {
    total += static_cast<std::int64_t>(layer.weights.size()) +
             static_cast<std::int64_t>(layer.bias.size());
  }
  return total;
}

std::vector<LayerView> Network::views() const {
  std::vector<LayerView> result;
  result.reserve(layers.size());
  for (auto const& layer : layers) {
    result.push_back(
        {layer.inputs, layer.outputs, layer.activation, layer.alpha, layer.weights, layer.bias});
  }
  return result;
}

char const* activation_name(Activation activation) {
  switch (activation) {
    case Activation::kLinear:
      return "linear";
    case Activation::kRelu:
      return "relu";
    case Activation::kLeakyRelu:
      return "leaky_relu";
    case Activation::kElu:
      return "elu";
    case Activation::kTanh:
      return "tanh";
    case Activation::kSigmoid:
      return "sigmoid";
    case Activation::kSoftmax:
      return "softmax";
    case Activation::kSilu:
      return "silu";
    case Activation::kGelu:
      return "gelu";
    case Activation::kGeluTanh:
      return "gelu_tanh";
  }
  return "unknown";
}

void validate(Network const& network) {
  auto const& layers = network.layers;
  if (layers.empty()) throw bad(network.source, "has no Dense layer, expected at least one");
  if (layers.size() > static_cast<std::size_t>(kMaxLayers)) {
    throw bad(network.source,
              fmt::format("has {} layers, expected at most {}", layers.size(), kMaxLayers));
  }
  for (std::size_t k = 0; k < layers.size(); ++k) {
    DenseLayer const& layer = layers[k];
    int const most = k == 0 ? kMaxInputs : kMaxUnits;
    if (layer.inputs < 1 || layer.inputs > most) {
      throw bad(network.source, fmt::format("{} has {} inputs, expected 1..{}",
                                            layer_title(network, k), layer.inputs, most));
    }
    if (layer.outputs < 1 || layer.outputs > kMaxUnits) {
      throw bad(network.source, fmt::format("{} has {} outputs, expected 1..{}",
                                            layer_title(network, k), layer.outputs, kMaxUnits));
    }
    if (k > 0 && layer.inputs != layers[k - 1].outputs) {
      throw bad(network.source, fmt::format("{} has {} inputs, expected the {} outputs of {}",
                                            layer_title(network, k), layer.inputs,
                                            layers[k - 1].outputs, layer_title(network, k - 1)));
    }
    check_parameters(network, k, "kernel", layer.weights,
                     static_cast<std::int64_t>(layer.inputs) * layer.outputs);
    check_parameters(network, k, "bias", layer.bias, layer.outputs);
    check_activation(network, k);
  }
}

std::string network_file(std::string const& path) {
  std::error_code ec;
  std::string const index = path + ".index";
  bool const is_prefix = !std::filesystem::exists(path, ec) && std::filesystem::exists(index, ec);
  return is_prefix ? index : path;
}

Network load_network(std::string const& named) {
  std::string const path = network_file(named);
  std::string const head = read_head(path);
  std::string const extension = lower_extension(path);
  if (head.empty()) throw bad(path, fmt::format("is empty, expected a network as {}", kFormats));
  if (starts_with(head, kHdf5Magic)) return read_keras_h5(path);
  if (extension == ".keras" || (starts_with(head, kZipMagic) && !is_torch(extension))) {
    return read_keras_archive(path);
  }
  // safetensors has no magic number: eight bytes of header length, then the header's opening brace.
  if (head.size() == kHeadBytes && head[8] == '{' && !starts_with(head, kZipMagic)) {
    return read_safetensors(path);
  }
  if (extension == ".safetensors") return read_safetensors(path);
  if (extension == ".onnx") return read_onnx(path);  // has no magic number either
  if (extension == ".index") return read_tf_checkpoint(path);
  if (extension == ".h5" || extension == ".hdf5" || extension == ".keras-v2") {
    return read_keras_h5(path);  // its message says what is wrong
  }
  throw bad(path, advice(head, extension));
}

}  // namespace fairlane
