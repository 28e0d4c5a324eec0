// Which inputs keep the lines of a network's output apart.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/boxes/box_batch.h"
#include "kernels/boxes/box_kernels.h"

namespace fairlane {

/// What the lines below and above the output are apart for each unit of an input's range, at most,
/// by the open units that the input reaches. One thread's.
class LineGaps {
 public:
  static constexpr int kLanes = 8;  // whose gaps are found together

  /// Of lanes [first, first + kLanes), after BoxBatch::bound(); those that are none are left out.
  void find(BoxNetwork const& network, BoxMemory const& memory, int first);
  /// [inputs] of lane first + lane.
  std::vector<double> of(int lane) const;

 private:
  /// Of one unit's sum, or one input.
  struct Row {
    double effect[kLanes] = {};  // on the output
    double gap[kLanes] = {};     // of the output, for each unit of the sum's range
  };

  BoxKernels const& kernels_ = box_kernels();
  // Kernels take rows as their values side by side.
  static_assert(sizeof(Row) == 2 * kLanes * sizeof(double));
  std::vector<Row> units_;
  std::vector<Row> inputs_;
};

}  // namespace fairlane
