// k-means with its work over all rows on a device.
#pragma once

#include "kernels/device/device.h"
#include "kernels/k_means.h"

namespace fairlane {

/// Cluster of each row, as the host finds it (kernels/k_means.h). Throws Error(kMemory) before any
/// work.
std::vector<std::int32_t> device_k_means(Device& device, RowTable const& rows, int clusters,
                                         std::uint64_t seed);

/// Whether there is so much to do that a device, which wants the rows first, does it faster than
/// the host.
bool worth_a_device(RowTable const& rows, int clusters);

}  // namespace fairlane
