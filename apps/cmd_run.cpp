// fairlane run CONFIG: searches and writes an output directory.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>

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
  std::string against;
};

/// Whether CONFIG is the manifest of a finished run, which is then repeated: up to its recorded cut,
/// where the clock ended it.
bool repeats_manifest(std::string const& path) {
  return std::filesystem::path(path).filename() == "manifest.json";
}

RunConfig recorded_config(ConfigOptions const& options, std::optional<Cut>& replay) {
  if (!options.set.empty() || !options.seed.empty()) {
    throw Error(ExitCode::kUsage,
                fmt::format("{}: a recorded run is repeated as it is, without {}", options.path,
                            options.set.empty() ? "--seed" : "--set"));
  }
  if (!std::filesystem::is_regular_file(options.path)) {
    throw Error(ExitCode::kNoInput, fmt::format("{}: no such file", options.path));
  }
  std::string const dir = std::filesystem::path(options.path).parent_path().string();
  RecordedRun recorded = read_manifest(dir.empty() ? "." : dir);
  if (!options.out.empty()) recorded.config.output.dir = options.out;
  replay = recorded.cut;  // also when the clock did not end it: it must not end the repetition
  return recorded.config;
}

ExitCode run_config(RunArguments const& arguments) {
  Console const console(arguments.console);
  double fail_above = 1.0;
  if (!arguments.fail_above.empty()) {
    fail_above = parse_number("--fail-above", arguments.fail_above, 0.0, 1.0);
  }
  RunOptions options;
  options.execution = arguments.config.execution();
  options.overwrite = arguments.overwrite;
  options.against = arguments.against;
  RunConfig const config = repeats_manifest(arguments.config.path)
                               ? recorded_config(arguments.config, options.search.replay)
                               : arguments.config.config();

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
  app.add_option("--against", arguments->against,
                 "results of `fairlane enumerate`: also report which share of all IDIs was found")
      ->type_name("DIR");
  arguments->console.add_to(app);
  return [arguments] { return run_config(*arguments); };
}

}  // namespace fairlane
