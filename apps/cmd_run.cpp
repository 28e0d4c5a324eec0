// fairlane run CONFIG: searches and writes an output directory.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "apps/commands.h"
#include "apps/config_options.h"
#include "apps/console.h"
#include "apps/progress.h"
#include "apps/summary_text.h"
#include "engine/run.h"

namespace fairlane {
namespace {

struct RunArguments {
  ConfigOptions config;
  ConsoleOptions console;
  bool overwrite = false;
  std::string fail_above;
};

ExitCode run_config(RunArguments const& arguments) {
  Console const console(arguments.console);
  double fail_above = 1.0;
  if (!arguments.fail_above.empty()) {
    fail_above = parse_number("--fail-above", arguments.fail_above, 0.0, 1.0);
  }
  RunOptions options;
  options.execution = arguments.config.execution();
  options.overwrite = arguments.overwrite;
  RunConfig const config = arguments.config.config();

  SearchProgress progress;
  options.search.progress = &progress;
  options.search.trace = config.output.trace;
  Interrupt const interrupt;
  options.search.stop = &Interrupt::flag();
  Summary summary;
  {
    ProgressLine line(progress, config, console.shows_progress());
    options.notice = [&](std::string const& text) {
      line.clear();
      console.info(text);
    };
    summary = run(config, options);
  }
  std::string const json = summary_json(summary);
  if (arguments.console.json) {
    print(json);
  } else {
    print(summary_text(json, config.output.dir));
    print(fmt::format("\nResults are in {}\n", config.output.dir));
  }
  if (summary.success_rate <= fail_above) return ExitCode::kOk;
  console.warn(fmt::format("the success rate, {}, is above --fail-above {}",
                           percent(summary.success_rate), percent(fail_above)));
  return ExitCode::kPolicy;
}

}  // namespace

Action add_run(CLI::App& app) {
  auto const arguments = std::make_shared<RunArguments>();
  arguments->config.add_to(app);
  app.add_flag("--overwrite", arguments->overwrite, "replace the results of another configuration");
  app.add_option("--fail-above", arguments->fail_above,
                 "exit with 1 when the success rate is above this share (0..1)")
      ->type_name("RATE");
  arguments->console.add_to(app);
  return [arguments] { return run_config(*arguments); };
}

}  // namespace fairlane
