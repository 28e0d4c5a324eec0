#include "engine/sweep/sweep_command.h"

namespace fairlane {
namespace {

// What enumerate and verify say depends on no seed.
constexpr SweepCommand kSweepCommands[] = {
    {.name = "run",
     .result = "summary.json",
     .takes_method = true,
     .lists_methods = false,
     .takes_seed = true},
    {.name = "enumerate",
     .result = "summary.json",
     .takes_method = false,
     .lists_methods = false,
     .takes_seed = false},
    {.name = "estimate",
     .result = "estimate.json",
     .takes_method = false,
     .lists_methods = false,
     .takes_seed = true},
    {.name = "verify",
     .result = "summary.json",
     .takes_method = false,
     .lists_methods = false,
     .takes_seed = false},
    {.name = "compare",
     .result = "compare.json",
     .takes_method = false,
     .lists_methods = true,
     .takes_seed = true},
};

}  // namespace

std::span<SweepCommand const> sweep_commands() { return kSweepCommands; }

SweepCommand const* find_sweep_command(std::string const& name) {
  for (SweepCommand const& command : kSweepCommands) {
    if (name == command.name) return &command;
  }
  return nullptr;
}

}  // namespace fairlane
