#include "apps/sweep/machine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <fstream>

#include "base/text.h"
#include "base/threads/thread_pool.h"
#include "bench/bench.h"
#include "kernels/backend.h"
#include "kernels/devices.h"

namespace fairlane {
namespace {

constexpr double kPeakSeconds = 0.02;    // that a measurement takes
constexpr double kRepeatSeconds = 60.0;  // after which it is repeated

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

/// The GPU that a backend names, or the instruction set of the CPU.
std::string device_name(std::string const& backend) {
  constexpr std::string_view kCuda = "cuda:";
  if (backend.starts_with(kCuda)) {
    for (DeviceSummary const& device : cuda_devices(1)) {
      if (std::to_string(device.index) == backend.substr(kCuda.size())) return device.name;
    }
  }
  return "cpu " + cpu_instruction_sets().front();
}

}  // namespace

std::string cpu_name() {
  constexpr std::size_t kMostProcText = std::size_t{1} << 20;
  constexpr std::string_view kField = "model name";
  std::ifstream file("/proc/cpuinfo");
  std::size_t read = 0;
  for (std::string line; std::getline(file, line) && (read += line.size()) < kMostProcText;) {
    if (!line.starts_with(kField)) continue;
    std::size_t const first = line.find_first_not_of(" \t", line.find(':') + 1);
    if (line.find(':') != std::string::npos && first != std::string::npos)
      return escaped(line.substr(first));
  }
  return "unknown";
}

MachineProbe::MachineProbe() {
  machine_.host = host_name();
  machine_.cpu = cpu_name();
  machine_.cores = machine_threads();
}

CellMachine MachineProbe::machine(std::string const& backend, int threads) {
  if (machine_.device.empty() || backend != backend_) machine_.device = device_name(backend);
  backend_ = backend;
  bool const is_new = machine_.threads != threads || machine_.peak_gflops == 0.0;
  if (is_new || since_measured_.seconds() > kRepeatSeconds) {
    machine_.peak_gflops = peak_gflops(cpu_instruction_sets().front(), kPeakSeconds, threads);
    machine_.threads = threads;
    since_measured_ = {};
  }
  return machine_;
}

std::string this_process() {
  std::time_t const now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &utc);
  return fmt::format("process {} on {}, since {}", getpid(), host_name(), text.data());
}

}  // namespace fairlane
