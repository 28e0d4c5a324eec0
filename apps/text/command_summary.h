// What the manual and the completions are made of.
#pragma once

#include <string>
#include <vector>

#include "apps/arguments.h"

namespace fairlane {

/// One subcommand and all of its arguments, in the order of its --help.
struct CommandSummary {
  std::string name;
  std::string description;
  std::vector<ArgumentSummary> arguments;
};

/// All subcommands, in the order of --help.
std::vector<CommandSummary> command_summaries();

}  // namespace fairlane
