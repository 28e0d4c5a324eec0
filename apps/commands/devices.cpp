// fairlane devices: what this machine can compute with.
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <fstream>
#include <memory>

#include "apps/arguments.h"
#include "apps/commands/commands.h"
#include "apps/console.h"
#include "apps/sweep/machine.h"
#include "base/formats/json.h"
#include "base/text.h"
#include "base/threads/thread_pool.h"
#include "kernels/backend.h"
#include "kernels/devices.h"

namespace fairlane {
namespace {

/// Cores that this process may run on.
int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return machine_threads();
}

Json cuda_json(std::vector<DeviceSummary> const& gpus, std::string const& problem) {
  Json json;
  json["built"] = cuda_built();
  json["devices"] = Json::array();
  for (auto const& gpu : gpus) {
    Json entry;
    entry["index"] = gpu.index;
    entry["name"] = gpu.name;
    entry["architecture"] = gpu.architecture;
    entry["multiprocessors"] = gpu.multiprocessors;
    entry["clock_ghz"] = gpu.clock_ghz;
    entry["memory_bytes"] = gpu.memory;
    entry["free_memory_bytes"] = gpu.free_memory;
    entry["driver"] = gpu.driver;
    entry["problem"] = gpu.problem;
    json["devices"].push_back(entry);
  }
  json["problem"] = problem;
  return json;
}

std::string gpu_text(DeviceSummary const& gpu) {
  if (!gpu.problem.empty()) return fmt::format("{}: {}", gpu.name, gpu.problem);
  return fmt::format(
      "{}, architecture {}, {} multiprocessors at {:.2f} GHz, {} of {} free, driver "
      "for CUDA {}",
      gpu.name, gpu.architecture, gpu.multiprocessors, gpu.clock_ghz,
      bytes_text(static_cast<double>(gpu.free_memory)), bytes_text(static_cast<double>(gpu.memory)),
      gpu.driver);
}

ExitCode devices(ConsoleOptions const& options) {
  Console const console(options);
  std::string const model = cpu_name();
  auto const online = static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  int const usable = usable_cores();
  std::vector<std::string> const sets = cpu_instruction_sets();
  double const memory =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  auto const gpus = cuda_devices();
  std::string const problem = cuda_problem();
  if (options.json) {
    Json json;
    json["cpu"] = {{"model", model},
                   {"cores", online},
                   {"usable_cores", usable},
                   {"instruction_sets", sets},
                   {"memory_bytes", static_cast<std::int64_t>(memory)}};
    json["cuda"] = cuda_json(gpus, problem);
    print(json.dump(2) + "\n");
    return ExitCode::kOk;
  }
  Facts facts;
  facts.add("processor", model);
  facts.add("cores", usable == online
                         ? fmt::format("{}", online)
                         : fmt::format("{}, {} of them for this process", online, usable));
  facts.add("instruction sets", fmt::format("{} (best first)", fmt::join(sets, ", ")));
  facts.add("memory", bytes_text(memory));
  for (auto const& gpu : gpus) facts.add(fmt::format("cuda:{}", gpu.index), gpu_text(gpu));
  if (!problem.empty()) facts.add("CUDA", problem);
  print(facts.text());
  return ExitCode::kOk;
}

}  // namespace

Action add_devices(Arguments& app) {
  auto const options = std::make_shared<ConsoleOptions>();
  options->add_to(app);
  return [options] { return devices(*options); };
}

}  // namespace fairlane
