#include "kernels/device/wide_network.h"

#include <algorithm>

namespace fairlane {

namespace {

long quads(int count) { return (static_cast<long>(count) + kQuad - 1) / kQuad * kQuad; }

std::size_t floats_of(PackedDense const& layer) {
  return static_cast<std::size_t>((layer.inputs + 1) * quads(layer.outputs));
}

}  // namespace

void unpack_weights(PackedDense const& layer, long stride, float* plain) {
  float const* packed = layer.weights;
  for (int o = 0; o < layer.outputs; o += layer.tile) {
    int const width = std::min(layer.tile, layer.outputs - o);
    for (int k = 0; k < layer.inputs; ++k) {
      for (int j = 0; j < width; ++j) plain[k * stride + o + j] = *packed++;
    }
  }
}

WideNetwork::WideNetwork(PackedNetwork const& network, Device& device) {
  std::size_t floats = 0;
  for (int l = 0; l < network.layers; ++l) {
    floats += floats_of(network.layer[l].forward) + floats_of(network.layer[l].backward);
  }
  memory_ = DeviceArray<float>(device, floats);
  float* next = memory_.data();
  std::vector<float> plain;
  auto const upload = [&](PackedDense const& from) {
    WideDense to{from.inputs, from.outputs, quads(from.outputs), next, nullptr};
    plain.assign(floats_of(from), 0.0F);
    unpack_weights(from, to.stride, plain.data());
    auto const bias = static_cast<long>(from.inputs) * to.stride;
    std::copy_n(from.bias, from.outputs, plain.begin() + bias);
    to.bias = next + bias;
    device.upload(next, plain.data(), plain.size() * sizeof(float));
    next += plain.size();
    return to;
  };
  for (int l = 0; l < network.layers; ++l) {
    auto const& from = network.layer[l];
    layers_.push_back({upload(from.forward), upload(from.backward), from.activation, from.alpha});
  }
}

}  // namespace fairlane
