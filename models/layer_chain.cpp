#include "models/layer_chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/text.h"

namespace fairlane {
namespace {

double at(std::vector<double> const& values, std::size_t i) {
  return values.size() == 1 ? values[0] : values[i];
}

// To float32: exactly, or rounded to the nearest where the value is one that we computed.
std::vector<float> narrowed(std::vector<double> const& values, bool rounded, char const* kind,
                            std::string const& where) {
  std::vector<float> result;
  result.reserve(values.size());
  for (double const value : values) {
    bool const in_range =
        !(std::abs(value) > static_cast<double>(std::numeric_limits<float>::max()));
    float const narrow = in_range ? static_cast<float>(value)
                                  : std::copysign(std::numeric_limits<float>::infinity(),
                                                  static_cast<float>(value > 0 ? 1 : -1));
    if (!rounded && !std::isnan(value) && static_cast<double>(narrow) != value) {
      throw data_error(
          where,
          fmt::format("{}[{}] is {}, which float32 cannot hold exactly; rounding would change "
                      "the network: save it in float32",
                      kind, result.size(), value));
    }
    result.push_back(narrow);
  }
  return result;
}

}  // namespace

void LayerChain::expect_width(std::int64_t width, std::string const& where) {
  std::int64_t const most = layers_.empty() ? kMaxInputs : kMaxUnits;
  if (width < 1 || width > most) {
    throw data_error(where, fmt::format("there are {} values here, expected 1..{}", width, most));
  }
  if (width_ && *width_ != width) {
    throw data_error(where,
                     fmt::format("expects {} values, but there are {} here", width, *width_));
  }
  width_ = width;
}

void LayerChain::dense(std::string name, std::int64_t inputs, std::int64_t outputs,
                       std::vector<double> weights, std::vector<double> bias,
                       std::string const& where) {
  expect_width(inputs, where);
  if (outputs < 1 || outputs > kMaxUnits) {
    throw data_error(where, fmt::format("has {} outputs, expected 1..{}", outputs, kMaxUnits));
  }
  if (layers_.size() >= static_cast<std::size_t>(kMaxLayers)) {
    throw data_error(where, fmt::format("is one of more than {} dense layers", kMaxLayers));
  }
  auto const rows = static_cast<std::size_t>(inputs);
  auto const columns = static_cast<std::size_t>(outputs);
  if (weights.size() != rows * columns || (!bias.empty() && bias.size() != columns)) {
    throw data_error(where, fmt::format("has {} weights and {} biases, expected {} and {}",
                                        weights.size(), bias.size(), rows * columns, columns));
  }
  bool const folded = pending_.has_value();
  if (folded) {
    bias.resize(columns, 0.0);
    for (std::size_t i = 0; i < rows; ++i) {
      double const scale = at(pending_->scale, i);
      double const shift = at(pending_->shift, i);
      for (std::size_t j = 0; j < columns; ++j) {
        double& weight = weights[i * columns + j];
        bias[j] += shift * weight;
        weight *= scale;
      }
    }
    pending_.reset();
  }
  layers_.push_back({std::move(name), where, inputs, outputs, std::move(weights), std::move(bias),
                     Activation::kLinear, 0.0F, folded});
  width_ = outputs;
}

void LayerChain::scale_last(Scaling const& by) {
  Layer& layer = layers_.back();
  auto const columns = static_cast<std::size_t>(layer.outputs);
  bool const only_shifts =
      std::all_of(by.scale.begin(), by.scale.end(), [](double s) { return s == 1.0; });
  if (only_shifts && layer.bias.empty()) {  // MatMul, then Add: no arithmetic at all
    for (std::size_t j = 0; j < columns; ++j) layer.bias.push_back(at(by.shift, j));
    return;
  }
  layer.folded = true;
  layer.bias.resize(columns, 0.0);
  for (std::size_t i = 0; i < layer.weights.size(); ++i) {
    layer.weights[i] *= at(by.scale, i % columns);
  }
  for (std::size_t j = 0; j < columns; ++j) {
    layer.bias[j] = layer.bias[j] * at(by.scale, j) + at(by.shift, j);
  }
}

void LayerChain::scaling(std::vector<double> scale, std::vector<double> shift,
                         std::string const& where) {
  for (auto const* part : {&scale, &shift}) {
    if (part->empty()) throw data_error(where, "has an empty list of factors");
    if (part->size() > 1) expect_width(static_cast<std::int64_t>(part->size()), where);
  }
  Scaling const by = {std::move(scale), std::move(shift), where};
  bool const behind_dense =
      !layers_.empty() && !pending_ && layers_.back().activation == Activation::kLinear;
  if (behind_dense) {
    scale_last(by);
    return;
  }
  if (!pending_) {
    pending_ = by;
    return;
  }
  std::size_t const size =
      std::max({by.scale.size(), by.shift.size(), pending_->scale.size(), pending_->shift.size()});
  Scaling both = {{}, {}, where};
  for (std::size_t i = 0; i < size; ++i) {
    both.scale.push_back(at(by.scale, i) * at(pending_->scale, i));
    both.shift.push_back(at(by.scale, i) * at(pending_->shift, i) + at(by.shift, i));
  }
  pending_ = std::move(both);
}

void LayerChain::activation(Activation activation, float alpha, std::string const& where) {
  if (activation == Activation::kLinear) return;
  if (layers_.empty()) {
    throw data_error(where, "an activation before the first Dense layer is not supported");
  }
  Layer& layer = layers_.back();
  if (layer.activation != Activation::kLinear) {
    throw data_error(
        where,
        fmt::format(
            "activation {} follows activation {} of layer {}; two in a row are not supported",
            activation_name(activation), activation_name(layer.activation), in_quotes(layer.name)));
  }
  layer.activation = activation;
  layer.alpha = alpha;
}

bool LayerChain::ends_with(Activation activation) const {
  return !layers_.empty() && !pending_ && layers_.back().activation == activation;
}

Network LayerChain::finish(std::string const& source, std::string format) && {
  if (pending_) {
    throw data_error(pending_->where,
                     "scales values that no dense layer takes, which is not supported");
  }
  Network network;
  network.source = source;
  network.format = std::move(format);
  for (Layer& layer : layers_) {
    layer.bias.resize(static_cast<std::size_t>(layer.outputs), 0.0);
    DenseLayer dense;
    dense.name = std::move(layer.name);
    dense.inputs = static_cast<int>(layer.inputs);
    dense.outputs = static_cast<int>(layer.outputs);
    dense.activation = layer.activation;
    dense.alpha = layer.alpha;
    dense.weights = narrowed(layer.weights, layer.folded, "kernel", layer.where);
    layer.weights = {};
    dense.bias = narrowed(layer.bias, layer.folded, "bias", layer.where);
    network.layers.push_back(std::move(dense));
  }
  validate(network);
  return network;
}

}  // namespace fairlane
