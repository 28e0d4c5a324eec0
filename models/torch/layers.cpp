#include "models/torch/layers.h"

namespace fairlane {
namespace {

TorchActivation torch_activation(Activation activation) {
  switch (activation) {
    case Activation::kRelu:
      return kTorchRelu;
    case Activation::kLeakyRelu:
      return kTorchLeakyRelu;
    case Activation::kElu:
      return kTorchElu;
    case Activation::kTanh:
      return kTorchTanh;
    case Activation::kSigmoid:
      return kTorchSigmoid;
    case Activation::kSilu:
      return kTorchSilu;
    case Activation::kGelu:
      return kTorchGelu;
    case Activation::kGeluTanh:
      return kTorchGeluTanh;
    case Activation::kLinear:
    case Activation::kSoftmax:
      break;
  }
  return kTorchLinear;
}

}  // namespace

std::vector<TorchLayer> torch_layers(NetworkView network) {
  std::vector<TorchLayer> layers;
  for (LayerView const& layer : network) {
    bool const is_last = layers.size() + 1 == network.size();
    layers.push_back({layer.inputs, layer.outputs,
                      is_last ? kTorchLinear : torch_activation(layer.activation), layer.alpha,
                      layer.weights.data(), layer.bias.data()});
  }
  return layers;
}

}  // namespace fairlane
