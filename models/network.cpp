#include "models/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace fairlane {
namespace {

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

}  // namespace

std::int64_t Network::parameters() const {
  std::int64_t total = 0;
  for (auto const& layer : layers) {
    total += static_cast<std::int64_t>(layer.weights.size()) +
             static_cast<std::int64_t>(layer.bias.size());
  }
  return total;
}

std::vector<float> Network::values() const {
  std::vector<float> all;
  all.reserve(static_cast<std::size_t>(parameters()));
  for (DenseLayer const& layer : layers) {
    all.insert(all.end(), layer.weights.begin(), layer.weights.end());
    all.insert(all.end(), layer.bias.begin(), layer.bias.end());
  }
  return all;
}

void Network::set_values(std::span<float const> values) {
  if (std::cmp_not_equal(values.size(), parameters()))
    throw Error(ExitCode::kBug, "the values of another network");
  float const* from = values.data();
  for (DenseLayer& layer : layers) {
    for (auto* part : {&layer.weights, &layer.bias}) {
      std::copy_n(from, part->size(), part->begin());
      from += part->size();
    }
  }
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

}  // namespace fairlane
