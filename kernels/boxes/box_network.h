// A network laid out for bounds over boxes.
#pragma once

#include <vector>

#include "kernels/boxes/box_kernels.h"

namespace fairlane {

/// Owns what a BoxNetwork points to. Of two outputs it has the difference of the second and the
/// first, which is above 0 where the second is the larger one.
class BoundNetwork {
 public:
  /// network  of one output or two, each layer of at most kMostInputs inputs
  explicit BoundNetwork(NetworkView network);
  BoundNetwork(BoundNetwork const&) = delete;
  BoundNetwork& operator=(BoundNetwork const&) = delete;

  BoxNetwork const& get() const { return network_; }

 private:
  std::vector<BoxLayer> layers_;
  std::vector<std::vector<double>> arrays_;
  BoxNetwork network_;
};

/// Memory of the lanes of one call.
class BoxMemory {
 public:
  BoxMemory(BoxNetwork const& network, int lanes);
  BoxLanes const& get() const { return lanes_; }
  int count() const { return count_; }
  /// Value i of a lane in an array of BoxLanes.
  double& at(double* rows, int i, int lane) { return rows[i * count_ + lane]; }
  double* wanted() { return wanted_; }

 private:
  std::vector<double> memory_;
  BoxLanes lanes_;
  double* wanted_ = nullptr;
  int count_;
};

}  // namespace fairlane
