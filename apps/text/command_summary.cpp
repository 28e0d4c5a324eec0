#include "apps/text/command_summary.h"

#include "apps/commands/commands.h"

namespace fairlane {

std::vector<CommandSummary> command_summaries() {
  std::vector<CommandSummary> result;
  for (Command const& command : commands()) {
    Arguments arguments(command.name, command.description);
    Action const action = command.add(arguments);  // what the arguments are bound to
    result.push_back({command.name, command.description, arguments.summaries()});
  }
  return result;
}

}  // namespace fairlane
