// The GPUs that a sweep's workers get, one each.
#pragma once

#include <string>
#include <vector>

namespace fairlane {

/// Numbers of the GPUs that --backend asks for; none where that is the CPU, or `auto` finds none.
/// Another process of this program looks for them, since looking at a GPU takes some of its memory.
/// Throws Error(kUsage | kUnavailable).
std::vector<int> sweep_gpus(std::string const& backend);

/// Leaves this process one of the GPUs that it sees, as number 0. Before anything looks at them.
void see_one_gpu(int device);

}  // namespace fairlane
