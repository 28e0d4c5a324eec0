// What a build without the CUDA backend says about it.

#include "base/error.h"
#include "kernels/backend.h"
#include "kernels/devices.h"

namespace fairlane {

bool cuda_built() { return false; }

std::vector<DeviceSummary> cuda_devices(std::size_t) { return {}; }

std::string cuda_problem() { return "this build has no CUDA backend"; }

std::unique_ptr<Backend> make_cuda_backend(SubjectView const&, DeviceOptions const&) {
  throw Error(ExitCode::kUnavailable, "backend cuda: " + cuda_problem());
}

}  // namespace fairlane
