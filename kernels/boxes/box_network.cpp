#include "kernels/boxes/box_network.h"

#include <algorithm>
#include <cmath>

#include "kernels/boxes/network_bounds.h"

namespace fairlane {

BoundNetwork::BoundNetwork(NetworkView network) {
  int const classes = network.back().outputs;
  for (int first = 0; first < classes; ++first) {
    for (int second = first + 1; second < classes; ++second) pairs_.push_back({first, second});
  }
  if (classes == 1) pairs_.push_back({0, 0});
  BoxNetwork shape;
  shape.inputs = network.front().inputs;
  shape.outputs = classes;
  std::vector<BoxLayer> layers;
  EnclosingMacs macs;
  for (LayerView const& view : network) {
    bool const last = &view == &network.back();
    BoxLayer layer = layer_of(view, last ? pairs_.front() : ClassPair{});
    layer.first_unit = shape.units;
    shape.units += layer.outputs;
    shape.widest = std::max({shape.widest, layer.inputs, layer.outputs});
    shape.straight = shape.straight && (last || layer.straight);
    shape.terms += 2.0 * layer.outputs + layer.inputs + 4.0;
    macs.add(layer.inputs, layer.outputs);
    layers.push_back(layer);
  }
  shape.terms += 2.0 * shape.inputs;  // to evaluate the lines
  macs_ = macs.get();
  shape.layers = static_cast<int>(layers.size());
  shape.hidden = shape.layers > 1 ? layers.front().outputs : 0;
  layers_.assign(pairs_.size(), layers);
  for (std::size_t p = 0; p < pairs_.size(); ++p) {
    if (p > 0) {
      BoxLayer& last = layers_[p].back();
      int const first_unit = last.first_unit;
      last = layer_of(network.back(), pairs_[p]);
      last.first_unit = first_unit;
    }
    networks_.push_back(shape);
    networks_.back().layer = layers_[p].data();
  }
}

BoxLayer BoundNetwork::layer_of(LayerView const& view, ClassPair const& pair) {
  auto const keep = [this](std::vector<double> values) {
    arrays_.push_back(std::move(values));
    return arrays_.back().data();
  };
  bool const difference = pair.second > pair.first;
  auto const inputs = static_cast<std::size_t>(view.inputs);
  std::size_t const outputs = difference ? 1 : static_cast<std::size_t>(view.outputs);
  std::vector<double> weights(inputs * outputs);
  std::vector<double> transposed(inputs * outputs);
  std::vector<double> magnitudes(inputs * outputs);
  std::vector<double> bias(outputs);
  std::vector<double> sizes(outputs);
  // row: the weights of an input, or the biases
  auto const value = [&](float const* row, std::size_t o, double& size) {
    if (!difference) {
      size = std::abs(static_cast<double>(row[o]));
      return static_cast<double>(row[o]);
    }
    auto const first = static_cast<double>(row[pair.first]);
    auto const second = static_cast<double>(row[pair.second]);
    size = std::abs(first) + std::abs(second);
    return second - first;
  };
  for (std::size_t o = 0; o < outputs; ++o) {
    bias[o] = value(view.bias.data(), o, sizes[o]);
    for (std::size_t k = 0; k < inputs; ++k) {
      std::size_t const at = k * outputs + o;
      float const* const row = &view.weights[k * static_cast<std::size_t>(view.outputs)];
      weights[at] = value(row, o, magnitudes[at]);
      transposed[o * inputs + k] = weights[at];
    }
  }
  BoxLayer layer;
  layer.inputs = view.inputs;
  layer.outputs = static_cast<int>(outputs);
  layer.activation = view.activation;
  layer.alpha = view.alpha;
  layer.straight = view.activation == Activation::kRelu || view.activation == Activation::kLinear ||
                   (view.activation == Activation::kLeakyRelu && view.alpha >= 0.0F);
  if (view.activation == Activation::kLinear) layer.slope = 1.0;
  if (view.activation == Activation::kLeakyRelu) layer.slope = static_cast<double>(view.alpha);
  layer.weights = keep(std::move(weights));
  layer.transposed = keep(std::move(transposed));
  layer.magnitudes = keep(std::move(magnitudes));
  layer.bias = keep(std::move(bias));
  layer.bias_magnitudes = keep(std::move(sizes));
  return layer;
}

}  // namespace fairlane
