// The backend for a model that is no network: lanes on the host's threads, scores from the scorer.

#include <algorithm>

#include "kernels/device/device_backend.h"
#include "kernels/device/host_device.h"

namespace fairlane {

namespace {

/// Bytes that blocks, walks and the workspace plan with, beside the record: the host has them, and
/// more brings nothing.
constexpr std::uint64_t kHostMemory = std::uint64_t{1} << 30;

}  // namespace

std::unique_ptr<Backend> make_scorer_backend(SubjectView const& subject,
                                             CpuOptions const& options) {
  DeviceOptions device;
  device.lanes = options.lanes;
  device.seed = options.seed;
  device.memory_limit = options.memory_limit;
  device.overflow = options.overflow;
  device.threads = options.threads;
  std::vector<std::unique_ptr<Device>> devices;
  devices.push_back(std::make_unique<HostDevice>(options.threads, kHostMemory));
  return make_device_backend(subject, std::move(devices), device);
}

}  // namespace fairlane
