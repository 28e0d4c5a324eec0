// The subcommands of `fairlane`, one file each.
#pragma once

#include <functional>

#include "kernels/core/error.h"

namespace CLI {
class App;
}

namespace fairlane {

/// What a subcommand does once its arguments are parsed. Throws Error.
using Action = std::function<ExitCode()>;

/// Each adds the arguments of one subcommand to `app`, which is that subcommand.
Action add_run(CLI::App& app);
Action add_enumerate(CLI::App& app);
Action add_estimate(CLI::App& app);
Action add_init(CLI::App& app);
Action add_inspect(CLI::App& app);
Action add_devices(CLI::App& app);
Action add_demo(CLI::App& app);
Action add_bench(CLI::App& app);
Action add_check(CLI::App& app);
Action add_compare(CLI::App& app);

}  // namespace fairlane
