// Walks on the CPU.
#pragma once

#include <memory>

#include "kernels/cpu/lane_kernels.h"
#include "kernels/walker.h"

namespace fairlane {

/// subject, kernels: outlive the walker.
std::unique_ptr<Walker> make_cpu_walker(PackedSubject const& subject, LaneKernels const& kernels,
                                        std::vector<ValueList> lists);

}  // namespace fairlane
