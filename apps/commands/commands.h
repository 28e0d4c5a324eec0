// The subcommands of `fairlane`, one file each.
#pragma once

#include <functional>
#include <span>

#include "base/error.h"

namespace fairlane {

class Arguments;

/// What a subcommand does once its arguments are parsed. Throws Error.
using Action = std::function<ExitCode()>;

/// One subcommand.
struct Command {
  char const* name;
  char const* description;
  Action (*add)(Arguments& app);
};

/// All subcommands, in the order of --help.
std::span<Command const> commands();

/// Each adds the arguments of one subcommand to `app`, which is that subcommand.
Action add_audit(Arguments& app);
Action add_run(Arguments& app);
Action add_enumerate(Arguments& app);
Action add_estimate(Arguments& app);
Action add_verify(Arguments& app);
Action add_prepare(Arguments& app);
Action add_train(Arguments& app);
Action add_retrain(Arguments& app);
Action add_init(Arguments& app);
Action add_config(Arguments& app);
Action add_inspect(Arguments& app);
Action add_devices(Arguments& app);
Action add_demo(Arguments& app);
Action add_bench(Arguments& app);
Action add_report(Arguments& app);
Action add_check(Arguments& app);
Action add_compare(Arguments& app);
Action add_sweep(Arguments& app);
Action add_completion(Arguments& app);
Action add_manual(Arguments& app);

}  // namespace fairlane
