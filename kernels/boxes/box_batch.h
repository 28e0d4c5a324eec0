// Boxes of inputs that are bounded together, on any device.
#pragma once

#include <span>
#include <vector>

#include "kernels/boxes/box_network.h"

namespace fairlane {

/// The host's memory of some boxes, a box a lane.
class BoxMemory {
 public:
  /// lanes  a multiple of `block`, which is a power of two
  /// work   whether working memory is here, too
  BoxMemory(BoxNetwork const& network, int lanes, int block, bool work);
  BoxMemory(BoxMemory const&) = delete;
  BoxMemory& operator=(BoxMemory const&) = delete;

  BoxLanes const& get() const { return lanes_; }
  int lanes() const { return count_; }
  /// Value i of a lane in an array of BoxLanes.
  double& at(double* rows, int i, int lane) const {
    return rows[(lane >> shift_) * of_block_ + (i << shift_) + (lane & ((1 << shift_) - 1))];
  }
  /// Has the next bounds of a lane find lines of the output, where it is at `level`, that leave out
  /// tails of about 2^-halvings of the lane's groups each (kernels/boxes/box_spilling.h).
  /// spread  [inputs]
  void ask_for_most(int lane, std::span<InputSpread const> spread, double level,
                    int halvings) const;
  /// Of the blocks that hold so many lanes: [blocks][box_rows(network)][block].
  std::span<double> values(int lanes) const {
    int const blocks = (lanes + (1 << shift_) - 1) >> shift_;
    return {lanes_.low, static_cast<std::size_t>(blocks * of_block_)};
  }

 private:
  std::vector<double> memory_;
  BoxLanes lanes_;
  int count_;
  int shift_ = 0;  // of a block's lanes
  long of_block_;  // values
};

/// Some boxes, and what bounds them; one thread's. What is said of a box depends on that box alone.
class BoxBatch {
 public:
  virtual ~BoxBatch() = default;
  virtual BoxMemory& memory() = 0;

  // Of boxes [0, count), of which one has values in every lane's arrays that go in; the output is
  // that of a pair of classes (BoundNetwork::pairs).

  /// Bounds all sums and the output over the boxes.
  virtual void bound(int pair, int count) = 0;
  /// After bound(): narrows boxes and sums to what can be wanted.
  virtual void narrow(int pair, double threshold, int count) = 0;
  /// Outputs at points `low`, and their slopes there, `below`, where asked for.
  virtual void probe(int pair, int count, bool slopes) = 0;
};

}  // namespace fairlane
