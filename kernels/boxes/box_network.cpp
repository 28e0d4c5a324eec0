#include "kernels/boxes/box_network.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace fairlane {

BoundNetwork::BoundNetwork(NetworkView network) {
  auto const keep = [this](std::vector<double> values) {
    arrays_.push_back(std::move(values));
    return arrays_.back().data();
  };
  network_.inputs = network.front().inputs;
  network_.outputs = network.back().outputs;
  for (LayerView const& view : network) {
    bool const last = &view == &network.back();
    bool const difference = last && view.outputs == 2;
    auto const inputs = static_cast<std::size_t>(view.inputs);
    std::size_t const outputs = difference ? 1 : static_cast<std::size_t>(view.outputs);
    std::vector<double> weights(inputs * outputs);
    std::vector<double> transposed(inputs * outputs);
    std::vector<double> magnitudes(inputs * outputs);
    std::vector<double> bias(outputs);
    std::vector<double> sizes(outputs);
    auto const value = [difference](float const* at, double& size) {
      if (!difference) {
        size = std::abs(static_cast<double>(at[0]));
        return static_cast<double>(at[0]);
      }
      size = std::abs(static_cast<double>(at[0])) + std::abs(static_cast<double>(at[1]));
      return static_cast<double>(at[1]) - static_cast<double>(at[0]);
    };
    for (std::size_t o = 0; o < outputs; ++o) {
      bias[o] = value(&view.bias[o], sizes[o]);
      for (std::size_t k = 0; k < inputs; ++k) {
        std::size_t const at = k * outputs + o;
        weights[at] =
            value(&view.weights[k * static_cast<std::size_t>(view.outputs) + o], magnitudes[at]);
        transposed[o * inputs + k] = weights[at];
      }
    }
    BoxLayer layer;
    layer.inputs = view.inputs;
    layer.outputs = static_cast<int>(outputs);
    layer.first_unit = network_.units;
    layer.activation = view.activation;
    layer.alpha = view.alpha;
    layer.straight = view.activation == Activation::kRelu ||
                     view.activation == Activation::kLinear ||
                     (view.activation == Activation::kLeakyRelu && view.alpha >= 0.0F);
    if (view.activation == Activation::kLinear) layer.slope = 1.0;
    if (view.activation == Activation::kLeakyRelu) layer.slope = static_cast<double>(view.alpha);
    layer.weights = keep(std::move(weights));
    layer.transposed = keep(std::move(transposed));
    layer.magnitudes = keep(std::move(magnitudes));
    layer.bias = keep(std::move(bias));
    layer.bias_magnitudes = keep(std::move(sizes));
    network_.units += layer.outputs;
    network_.widest = std::max({network_.widest, layer.inputs, layer.outputs});
    network_.straight = network_.straight && (last || layer.straight);
    network_.terms += 2.0 * layer.outputs + layer.inputs + 4.0;
    layers_.push_back(layer);
  }
  network_.terms += 2.0 * network_.inputs;  // to evaluate the lines
  network_.layers = static_cast<int>(layers_.size());
  network_.layer = layers_.data();
}

BoxMemory::BoxMemory(BoxNetwork const& network, int lanes) : count_(lanes) {
  constexpr std::size_t kLine = 64;
  auto const rows =
      static_cast<std::size_t>(4 * network.inputs + 2 * network.units + 6 + box_work(network));
  memory_.assign(rows * static_cast<std::size_t>(lanes) + kLine / sizeof(double), 0.0);
  auto const address = reinterpret_cast<std::uintptr_t>(memory_.data());
  double* p = memory_.data() + (kLine - address % kLine) % kLine / sizeof(double);
  auto const take = [&](int count) {
    double* const begin = p;
    p += static_cast<std::ptrdiff_t>(count) * lanes;
    return begin;
  };
  lanes_.low = take(network.inputs);
  lanes_.high = take(network.inputs);
  lanes_.sum_low = take(network.units);
  lanes_.sum_high = take(network.units);
  lanes_.below = take(network.inputs);
  lanes_.above = take(network.inputs);
  lanes_.below_constant = take(1);
  lanes_.above_constant = take(1);
  lanes_.least = take(1);
  lanes_.most = take(1);
  lanes_.possible = take(1);
  wanted_ = take(1);
  lanes_.wanted = wanted_;
  lanes_.work = take(box_work(network));
}

}  // namespace fairlane
