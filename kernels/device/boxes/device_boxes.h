// Boxes on devices.
#pragma once

#include <memory>
#include <mutex>

#include "kernels/boxes/box_batch.h"
#include "kernels/device/device.h"

namespace fairlane {

/// Thousands of boxes, a thread a box, or as many as memory is there for.
/// network  outlives it; its hidden layers piecewise linear
/// lock     held while the device is used
/// lanes    boxes at once, at most; 0: chosen
/// Throws Error(kUnavailable | kMemory).
std::unique_ptr<BoxBatch> make_device_box_batch(BoundNetwork const& network, Device& device,
                                                std::mutex& lock, std::int64_t lanes = 0);

}  // namespace fairlane
