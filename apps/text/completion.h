// Scripts with which shells complete the command line.
#pragma once

#include <string>
#include <vector>

#include "apps/text/command_summary.h"

namespace fairlane {

/// The shells that have a completion.
std::vector<std::string> completion_shells();

/// The completion script of one shell. Throws Error(kUsage) with the nearest name.
std::string completion_script(std::string const& shell,
                              std::vector<CommandSummary> const& commands);

}  // namespace fairlane
