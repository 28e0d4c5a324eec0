// fairlane config: the keys of a configuration, for people and for editors.
#include <memory>

#include "apps/arguments.h"
#include "apps/commands/commands.h"
#include "apps/console.h"
#include "engine/config/config_reference.h"

namespace fairlane {

Action add_config(Arguments& app) {
  auto const as_schema = std::make_shared<bool>(false);
  app.add_flag("--schema", *as_schema, "write a JSON schema for editors instead of the page");
  return [as_schema] {
    print(*as_schema ? config_schema() : config_reference());
    return ExitCode::kOk;
  };
}

}  // namespace fairlane
