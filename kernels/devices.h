// The GPUs of this machine, for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fairlane {

/// A GPU of this machine, for people.
/// architecture  compute capability, major * 10 + minor
/// memory        bytes, and free_memory of them at the moment
/// clock_ghz     highest clock of the multiprocessors
/// driver        newest CUDA version that the driver supports, such as "13.0"
/// problem       why this build cannot use it; empty when it can
struct DeviceSummary {
  std::string name;
  int index = 0;
  int architecture = 0;
  int multiprocessors = 0;
  double clock_ghz = 0.0;
  std::uint64_t memory = 0;
  std::uint64_t free_memory = 0;
  std::string driver;
  std::string problem;
};

/// Whether this build has the CUDA backend, its GPUs up to the `usable`-th that it can use (none
/// without a driver; never throws for that; looking at a GPU takes some of its memory), and why
/// there is no usable one: one line, empty where there is.
bool cuda_built();
std::vector<DeviceSummary> cuda_devices(std::size_t usable = SIZE_MAX);
std::string cuda_problem();

}  // namespace fairlane
