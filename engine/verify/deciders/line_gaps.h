// Which inputs keep the lines of a network's output apart.
#pragma once

#include <vector>

#include "kernels/boxes/box_batch.h"

namespace fairlane {

/// What the lines below and above the output are apart for each unit of an input's range, at most,
/// by the open units that the input reaches. After BoxBatch::bound(): of one lane.
/// Returns [inputs].
std::vector<double> find_gaps(BoxNetwork const& network, BoxMemory const& memory, int lane);

}  // namespace fairlane
