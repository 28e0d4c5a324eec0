// The backend on a device, whichever kind of device it is.
#pragma once

#include "kernels/device/device.h"

namespace fairlane {

/// Loads a subject on a device. Throws Error(kUnavailable | kMemory).
std::unique_ptr<Backend> make_device_backend(SubjectView const& subject,
                                             std::unique_ptr<Device> device,
                                             DeviceOptions const& options);

}  // namespace fairlane
