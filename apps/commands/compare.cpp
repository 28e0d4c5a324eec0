// fairlane compare CONFIG: methods with one equal budget, over several seeds.
#include <fmt/format.h>

#include <memory>

#include "apps/arguments.h"
#include "apps/commands/commands.h"
#include "apps/commands/config_options.h"
#include "apps/console.h"
#include "apps/progress.h"
#include "apps/text/compare_text.h"
#include "base/error.h"
#include "base/formats/json.h"
#include "base/text.h"
#include "engine/compare/compare.h"
#include "engine/compare/mann_whitney.h"

namespace fairlane {
namespace {

struct CompareArguments {
  ConfigOptions config;
  ConsoleOptions console;
  std::vector<std::string> methods;
  std::string repeats;
  std::string against;
  bool overwrite = false;
};

ExitCode run_compare(CompareArguments const& arguments) {
  Console const console(arguments.console);
  CompareOptions options;
  options.execution = arguments.config.execution();
  options.overwrite = arguments.overwrite;
  options.against = arguments.against;
  options.methods = arguments.methods;
  if (!arguments.repeats.empty())
    options.repeats = parse_integer("--repeats", arguments.repeats, 1, kMostRanked);
  RunConfig const config = arguments.config.config();

  WorkFrame frame(console);
  frame.lead(options, compare_progress_text);
  std::string const json = compare(config, options);
  frame.clear();
  if (arguments.console.json) {
    print(json);
  } else {
    print(compare_text(json, config.output.dir));
    print(results_place(config.output.dir));
  }
  auto const untested = untested_methods(json);
  auto const compared = Json::parse(json).at("methods").size();
  std::string const what =
      "no input with a defined output was tried within the budget, with any seed";
  if (untested.size() == compared) {
    throw Error(ExitCode::kIntegrity,
                fmt::format("{}: {}, so that nothing was compared", escaped(config.model), what));
  }
  if (!untested.empty()) {
    console.warn(fmt::format("{}: {}, so that the zeros say nothing; a larger budget is needed",
                             fmt::join(untested, ", "), what));
  }
  return ExitCode::kOk;
}

}  // namespace

Action add_compare(Arguments& app) {
  auto const arguments = std::make_shared<CompareArguments>();
  arguments->config.add_to(app);
  app.add_option("--methods", arguments->methods,
                 "methods to compare, such as eidig,maft (default: all)")
      ->type_name("NAME,...")
      ->delimiter(',')
      ->one_at_a_time();
  app.add_option("--repeats", arguments->repeats,
                 fmt::format("seeds, from the configuration's on (default: {})", kCompareRepeats))
      ->type_name("N");
  app.add_option("--against", arguments->against,
                 "results of `fairlane enumerate`: also report which share of all IDIs was found")
      ->type_name("DIR");
  app.add_flag("--overwrite", arguments->overwrite, "replace the results of another configuration");
  arguments->console.add_to(app);
  return [arguments] { return run_compare(*arguments); };
}

}  // namespace fairlane
