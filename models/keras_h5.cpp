// Keras models in HDF5: the layers from the attribute model_config, the weights from the group
// model_weights.
#include <fmt/format.h>

#include <algorithm>

#include "kernels/core/error.h"
#include "models/hdf5_file.h"
#include "models/keras_config.h"
#include "models/network.h"
#include "models/text.h"

namespace fairlane {
namespace {

constexpr std::size_t kMaxNameChunks = 4096;

Error bad(Hdf5File const& file, std::string const& place, std::string const& what) {
  return Error(ExitCode::kData,
               fmt::format("{}:{}: {}", escaped(file.source(), 4096), escaped(place), what));
}

// A list of names. Keras cuts lists that exceed HDF5's limit on attributes into name0, name1, ...
std::vector<std::string> read_names(Hdf5File const& file, std::string const& group,
                                    std::string const& attribute) {
  if (auto const names = file.strings(group, attribute)) return *names;
  std::vector<std::string> all;
  for (std::size_t i = 0; i < kMaxNameChunks; ++i) {
    auto const part = file.strings(group, fmt::format("{}{}", attribute, i));
    if (!part) {
      if (i > 0) return all;
      break;
    }
    all.insert(all.end(), part->begin(), part->end());
  }
  throw bad(file, group, fmt::format("has no attribute {}", attribute));
}

// "dense/kernel:0" -> "kernel"
std::string base_name(std::string const& weight) {
  std::string name = weight.substr(weight.rfind('/') + 1);
  return name.substr(0, name.find(':'));
}

std::string shape_text(std::vector<std::size_t> const& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

Hdf5Tensor read_weight(Hdf5File const& file, std::string const& path,
                       std::vector<std::int64_t> const& expected) {
  Hdf5Tensor tensor = file.tensor(path);
  bool same = tensor.shape.size() == expected.size();
  for (std::size_t i = 0; same && i < expected.size(); ++i) {
    same = expected[i] < 0 || tensor.shape[i] == static_cast<std::size_t>(expected[i]);
  }
  if (!same) {
    std::string wanted;
    for (std::int64_t const size : expected) {
      wanted += fmt::format("{}{}", wanted.empty() ? "" : ", ",
                            size < 0 ? "inputs" : fmt::format("{}", size));
    }
    throw bad(file, path,
              fmt::format("has shape {}, expected [{}]", shape_text(tensor.shape), wanted));
  }
  return tensor;
}

DenseLayer read_dense(Hdf5File const& file, std::string const& root, KerasDense const& config,
                      std::int64_t inputs) {
  std::string const group = fmt::format("{}/{}", root, config.name);
  if (!file.has_group(group)) {
    throw bad(
        file, group,
        fmt::format("has no such group, expected the weights of layer {}", in_quotes(config.name)));
  }
  std::string kernel_path;
  std::string bias_path;
  for (std::string const& weight : read_names(file, group, "weight_names")) {
    std::string const base = base_name(weight);
    std::string* const slot = base == "kernel" ? &kernel_path
                              : base == "bias" ? &bias_path
                                               : nullptr;
    if (slot == nullptr || !slot->empty()) {
      throw bad(file, group,
                fmt::format("weight_names lists {}, expected one kernel{}", in_quotes(weight),
                            config.use_bias ? " and one bias" : ""));
    }
    *slot = fmt::format("{}/{}", group, weight);
  }
  if (kernel_path.empty()) throw bad(file, group, "weight_names lists no kernel");
  if (bias_path.empty() == config.use_bias) {
    throw bad(file, group,
              config.use_bias ? "weight_names lists no bias"
                              : "weight_names lists a bias, but use_bias is false");
  }
  DenseLayer layer;
  layer.name = config.name;
  layer.activation = config.activation;
  layer.alpha = config.alpha;
  Hdf5Tensor kernel = read_weight(file, kernel_path, {inputs, config.units});
  if (kernel.shape[0] > static_cast<std::size_t>(std::max(kMaxInputs, kMaxUnits))) {
    throw bad(file, kernel_path,
              fmt::format("has {} inputs, expected at most {}", kernel.shape[0], kMaxInputs));
  }
  layer.inputs = static_cast<int>(kernel.shape[0]);
  layer.outputs = static_cast<int>(config.units);
  layer.weights = std::move(kernel.values);
  if (config.use_bias) {
    layer.bias = read_weight(file, bias_path, {config.units}).values;
  } else {
    layer.bias.assign(static_cast<std::size_t>(config.units), 0.0F);
  }
  return layer;
}

// The group that holds one group per layer.
std::string weights_root(Hdf5File const& file) {
  if (file.has_group("/model_weights")) return "/model_weights";
  if (file.strings("/", "layer_names")) return "";
  throw bad(file, "/",
            "has no group model_weights; save the whole model with model.save('NAME.h5')");
}

}  // namespace

Network read_keras_h5(std::string const& path) {
  Hdf5File const file(path);
  auto const text = file.strings("/", "model_config");
  if (!text) {
    bool const weights_only = file.strings("/", "layer_names").has_value();
    throw bad(file, "/",
              weights_only
                  ? "holds weights without model_config (save_weights); save the whole model with "
                    "model.save('NAME.h5')"
                  : "has no attribute model_config; is it a Keras model?");
  }
  if (text->size() != 1)
    throw bad(file, "/", fmt::format("model_config has {} strings, expected 1", text->size()));
  KerasConfig const config = parse_keras_config(text->front(), path);
  std::string const root = weights_root(file);
  auto const names = read_names(file, root.empty() ? "/" : root, "layer_names");
  Network network;
  network.source = path;
  std::int64_t inputs = config.inputs.value_or(-1);
  for (KerasDense const& layer : config.layers) {
    if (std::find(names.begin(), names.end(), layer.name) == names.end()) {
      throw bad(file, root.empty() ? "/" : root,
                fmt::format("layer_names does not list {} of model_config{}", in_quotes(layer.name),
                            did_you_mean(layer.name, names)));
    }
    network.layers.push_back(read_dense(file, root, layer, inputs));
    inputs = layer.units;
  }
  validate(network);
  return network;
}

}  // namespace fairlane
