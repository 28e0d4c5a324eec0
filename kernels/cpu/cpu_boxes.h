// Boxes in the host's packs.
#pragma once

#include <memory>

#include "kernels/boxes/box_batch.h"

namespace fairlane {

/// As many boxes as a register of an instruction set takes (box_kernels()). network: outlives it
std::unique_ptr<BoxBatch> make_cpu_box_batch(BoundNetwork const& network, char const* isa);

}  // namespace fairlane
