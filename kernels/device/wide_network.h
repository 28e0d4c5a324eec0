// A network's weights in device memory as DenseBlocks reads them.
#pragma once

#include "kernels/device/device.h"

namespace fairlane {

/// One direction of a layer. weights [inputs][stride], bias [outputs]; in device memory
struct WideDense {
  int inputs = 0;
  int outputs = 0;
  long stride = 0;
  float const* weights = nullptr;
  float const* bias = nullptr;
};

/// backward: the transpose, with a bias of zeros
struct WideLayer {
  WideDense forward;
  WideDense backward;
  Activation activation = Activation::kLinear;
  float alpha = 0.0F;
};

/// Takes packed weights apart: plain [inputs][stride], stride at least the layer's outputs.
void unpack_weights(PackedDense const& layer, long stride, float* plain);

class WideNetwork {
 public:
  /// Throws Error(kMemory).
  WideNetwork(PackedNetwork const& network, Device& device);
  std::vector<WideLayer> const& layers() const { return layers_; }

 private:
  DeviceArray<float> memory_;
  std::vector<WideLayer> layers_;
};

}  // namespace fairlane
