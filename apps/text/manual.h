// The manual page of the command.
#pragma once

#include <string>
#include <vector>

#include "apps/text/command_summary.h"

namespace fairlane {

/// The manual page in roff (man macros), section 1.
std::string manual_page(std::vector<CommandSummary> const& commands);

}  // namespace fairlane
