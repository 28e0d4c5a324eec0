// Which inputs keep the lines of a network's output apart.
#pragma once

#include <vector>

#include "kernels/boxes/box_network.h"

namespace fairlane {

/// What the lines below and above the output are apart for each unit of an input's range, at most,
/// by the open units that the input reaches. After BoxKernels::bound(): of one lane of `lanes`.
/// Returns [inputs].
std::vector<double> find_gaps(BoxNetwork const& network, int lanes, BoxMemory const& memory,
                              int lane);

}  // namespace fairlane
