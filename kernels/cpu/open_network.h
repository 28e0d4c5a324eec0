// A network without the units that are closed in a box.
#pragma once

#include <optional>
#include <vector>

#include "kernels/cpu/lane_kernels.h"

namespace fairlane {

/// A network as OpenUnits needs it.
class PackBounds {
 public:
  /// Whether something can be proven: all hidden layers are relus, and all weights finite, for what
  /// a closed unit adds is 0 times its weight.
  static bool knows(PackedNetwork const& network);
  /// network  knows(network); all of it is copied
  explicit PackBounds(PackedNetwork const& network);

  int layers() const { return static_cast<int>(layers_.size()); }
  BoundLayer const* layer() const { return layers_.data(); }
  int widest() const { return widest_; }  // stride
  int units() const { return units_; }    // of the hidden layers
  std::size_t most_weights() const { return most_weights_; }

 private:
  std::vector<std::vector<float>> memory_;
  std::vector<BoundLayer> layers_;
  int widest_ = 0;
  int units_ = 0;
  std::size_t most_weights_ = 0;  // of a layer
};

/// Looks at one box after the other; one thread's.
class OpenNetwork {
 public:
  /// whole, bounds  of one network, which outlive it
  OpenNetwork(PackedNetwork const& whole, PackBounds const& bounds, LaneKernels const& kernels,
              bool detailed);
  OpenNetwork(OpenNetwork const&) = delete;
  OpenNetwork& operator=(OpenNetwork const&) = delete;

  /// Bounds all that kernels compute for the inputs of a box: low, high [inputs] in kernel order.
  /// Returns whether it is proven finite; the functions below need that.
  bool enclose(float const* low, float const* high);
  /// The label of all inputs, where it is proven. Of networks with one output.
  std::optional<int> label(float threshold) const;
  /// The network without the closed units. Holds until the next call.
  PackedNetwork const& get();

 private:
  PackBounds const& bounds_;
  LaneKernels const& kernels_;
  std::vector<float> memory_;
  std::vector<int> lists_;
  std::vector<int*> open_;
  std::vector<int> opens_;
  std::vector<float*> keep_;
  std::vector<float> rows_;
  std::vector<std::vector<float>> weights_;
  std::vector<std::vector<float>> bias_;
  std::vector<PackedLayer> packed_;
  PackedNetwork network_;
  OpenMemory open_memory_;
};

}  // namespace fairlane
