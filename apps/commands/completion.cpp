// fairlane completion: what makes a shell complete the command line.
#include <memory>

#include "apps/arguments.h"
#include "apps/commands/commands.h"
#include "apps/console.h"
#include "apps/text/completion.h"

namespace fairlane {

Action add_completion(Arguments& app) {
  auto const shell = std::make_shared<std::string>();
  app.add_option("SHELL", *shell, "bash, zsh or fish")->required()->type_name("");
  return [shell] {
    print(completion_script(*shell, command_summaries()));
    return ExitCode::kOk;
  };
}

}  // namespace fairlane
