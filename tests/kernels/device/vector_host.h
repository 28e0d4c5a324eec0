// The host as a device whose packs load weights as a GPU's do, for tests.
#pragma once

#include <cmath>

#include "kernels/device/host_device.h"
#include "tests/kernels/core/vector_pack.h"

namespace fairlane {

/// HostDevice for networks, too.
class VectorHost : public HostDevice {
 public:
  using HostDevice::HostDevice;
  using HostDevice::run;
  void run(TileKernel const& kernel, TilePlan const& plan, Range range) override {
    switch (plan.packs) {
      case 4:
        return run_tiles<VectorPack, 4>(kernel, plan, range);
      case 2:
        return run_tiles<VectorPack, 2>(kernel, plan, range);
      default:
        return run_tiles<VectorPack, 1>(kernel, plan, range);
    }
  }
  void run(RoundKernel const& kernel, RoundPlan const& plan, int lanes) override {
    run_rounds<VectorPack>(kernel, plan, lanes);
  }
  void run(WalkKernel const& kernel, WalkShape const& shape) override {
    run_pieces<VectorPack>(kernel, shape);
  }
};

/// A product's sums [outputs][stride], in another order than the contract's, as a library may add.
inline void multiply_backwards(Dense const& product, float* sums, long stride) {
  for (int o = 0; o < product.outputs; ++o) {
    for (int r = 0; r < product.rows; ++r) {
      float sum = 0.0F;
      for (int k = product.inputs; k-- > 0;) {
        sum = std::fma(product.in[k * product.in_stride + r],
                       product.weights[k * product.weight_stride + o], sum);
      }
      sums[o * stride + r] = sum;
    }
  }
}

}  // namespace fairlane
