// fairlane manual: the manual page, made from the commands themselves.
#include "apps/text/manual.h"
#include "apps/arguments.h"
#include "apps/commands/commands.h"
#include "apps/console.h"

namespace fairlane {

Action add_manual(Arguments&) {
  return [] {
    print(manual_page(command_summaries()));
    return ExitCode::kOk;
  };
}

}  // namespace fairlane
