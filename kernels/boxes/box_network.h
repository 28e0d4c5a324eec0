// A network laid out for bounds over boxes.
#pragma once

#include <vector>

#include "kernels/boxes/box_kernels.h"

namespace fairlane {

/// Two classes of a network with an output for each.
struct ClassPair {
  int first = 0;
  int second = 0;
};

/// Owns what BoxNetworks point to: of one output the network itself; of several, for each two of
/// them, one whose output is the difference of the second and the first, which is above 0 where
/// the second is the larger one.
class BoundNetwork {
 public:
  /// network  each layer of at most kMostInputs inputs
  explicit BoundNetwork(NetworkView network);
  BoundNetwork(BoundNetwork const&) = delete;
  BoundNetwork& operator=(BoundNetwork const&) = delete;

  /// All have the same shape.
  BoxNetwork const& get(int pair = 0) const { return networks_[static_cast<std::size_t>(pair)]; }
  /// Pairs of classes, the first of each lower than the second; {0, 0} alone of one output.
  std::vector<ClassPair> const& pairs() const { return pairs_; }
  /// Multiply-adds to bound one box, at most.
  double macs() const { return macs_; }

 private:
  BoxLayer layer_of(LayerView const& view, ClassPair const& pair);

  std::vector<ClassPair> pairs_;
  std::vector<std::vector<BoxLayer>> layers_;  // [pairs][layers]; all but the last are the same
  std::vector<std::vector<double>> arrays_;
  std::vector<BoxNetwork> networks_;  // [pairs]
  double macs_ = 0.0;
};

}  // namespace fairlane
