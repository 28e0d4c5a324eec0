// The backend on a device, whichever kind of device, and however many.
#pragma once

#include "kernels/backend.h"
#include "kernels/device/device.h"

namespace fairlane {

/// Loads a subject on one or several devices. The lanes are shared out between them, the results
/// are the same. Throws Error(kUnavailable | kMemory | kStopped).
std::unique_ptr<Backend> make_device_backend(SubjectView const& subject,
                                             std::vector<std::unique_ptr<Device>> devices,
                                             DeviceOptions const& options);

}  // namespace fairlane
