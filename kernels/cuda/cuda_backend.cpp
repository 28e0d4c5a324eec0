// The CUDA backend as the rest of the project sees it (kernels/backend.h, kernels/devices.h).
#include "base/error.h"
#include "kernels/backend.h"
#include "kernels/cuda/cuda_device.h"
#include "kernels/device/device_backend.h"
#include "kernels/devices.h"

namespace fairlane {

bool cuda_built() { return true; }

std::vector<DeviceSummary> cuda_devices(std::size_t usable) {
  std::string problem;
  int const count = cuda_device_count(problem);
  std::vector<DeviceSummary> devices;
  for (int i = 0; i < count && usable > 0; ++i) {
    DeviceSummary summary;
    summary.index = i;
    try {
      auto const p = cuda_device_properties(i);
      summary.name = p.name;
      summary.architecture = p.architecture;
      summary.multiprocessors = p.limits.multiprocessors;
      summary.clock_ghz = p.clock_ghz;
      summary.memory = p.memory;
      summary.free_memory = p.free_memory;
      summary.driver = std::to_string(p.driver / 1000) + "." + std::to_string(p.driver % 1000 / 10);
      summary.problem = cuda_code_problem(p);
    } catch (Error const& error) {
      summary.problem = error.what();
    }
    if (summary.problem.empty()) --usable;
    devices.push_back(std::move(summary));
  }
  return devices;
}

std::string cuda_problem() {
  std::string problem;
  if (cuda_device_count(problem) == 0) return problem;
  auto const devices = cuda_devices(1);
  for (auto const& device : devices) {
    if (device.problem.empty()) return {};
  }
  return cuda_device_name(devices.front().index, devices.front().name) + ": " +
         devices.front().problem;
}

std::unique_ptr<Backend> make_cuda_backend(SubjectView const& subject,
                                           DeviceOptions const& options) {
  std::vector<std::unique_ptr<Device>> devices;
  for (int const index : options.devices) devices.push_back(std::make_unique<CudaDevice>(index));
  return make_device_backend(subject, std::move(devices), options);
}

}  // namespace fairlane
