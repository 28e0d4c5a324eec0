// fairlane estimate CONFIG: shares of a domain from uniform samples.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "apps/commands.h"
#include "apps/config_options.h"
#include "apps/console.h"
#include "apps/progress.h"
#include "apps/region_options.h"
#include "apps/walk_text.h"
#include "engine/estimate.h"

namespace fairlane {
namespace {

constexpr double kLeastError = 1e-6;
constexpr double kMostConfidence = 0.999999;
constexpr std::int64_t kMostTrials = 1'000'000;
constexpr int kLargestSet = 8;

struct EstimateArguments {
  ConfigOptions config;
  ConsoleOptions console;
  RegionOptions region;
  std::string error;
  std::string confidence;
  std::string samples;
  std::string trials;
  std::string search;
  std::string largest_set;
};

ExitCode run_estimate(EstimateArguments const& arguments) {
  Console const console(arguments.console);
  EstimateOptions options;
  options.execution = arguments.config.execution();
  options.region = arguments.region.region();
  if (!arguments.error.empty())
    options.error = parse_number("--error", arguments.error, kLeastError, 0.5);
  if (!arguments.confidence.empty()) {
    options.confidence = parse_number("--confidence", arguments.confidence, 0.5, kMostConfidence);
  }
  if (!arguments.samples.empty())
    options.samples = parse_integer("--samples", arguments.samples, 1, options.most_samples);
  if (!arguments.trials.empty()) {
    options.trials = parse_integer("--trials", arguments.trials, 2, kMostTrials);
    if (!options.samples)
      throw Error(ExitCode::kUsage, "--trials needs --samples N, the samples of each trial");
  }
  if (!arguments.search.empty())
    options.search_above = parse_number("--search-above", arguments.search, 0.0, 1.0);
  if (!arguments.largest_set.empty()) {
    options.largest_set =
        static_cast<int>(parse_integer("--largest-set", arguments.largest_set, 1, kLargestSet));
  }
  RunConfig const config = arguments.config.config();
  if (options.region.rows && config.data.empty())
    throw Error(ExitCode::kUsage, "--rows needs rows, and the configuration names no `data`");
  if (options.region.rows && options.samples)
    throw Error(ExitCode::kUsage, "--samples: --rows evaluates all rows; expected one of the two");
  WorkFrame frame(console);
  frame.lead(options);
  std::string const json = estimate(config, options);
  print(arguments.console.json ? json : estimate_text(json));
  return ExitCode::kOk;
}

}  // namespace

Action add_estimate(CLI::App& app) {
  auto const arguments = std::make_shared<EstimateArguments>();
  arguments->config.add_to(app);
  arguments->region.add_to(app, "evaluate the data's rows, all of them, instead of samples");
  app.add_option("--error", arguments->error,
                 "sample until the share is known to +-E (default 0.001)")
      ->type_name("E");
  app.add_option("--confidence", arguments->confidence, "of the intervals (default 0.95)")
      ->type_name("C");
  app.add_option("--samples", arguments->samples, "exactly N samples, whatever the error")
      ->type_name("N");
  app.add_option("--trials", arguments->trials,
                 "also the mean of T trials of --samples each, as in the papers")
      ->type_name("T");
  app.add_option("--search-above", arguments->search,
                 "also look for the smallest sets of attributes that discriminate more than this "
                 "share of all groups")
      ->type_name("SHARE");
  app.add_option("--largest-set", arguments->largest_set,
                 "attributes in such a set, at most (default 3)")
      ->type_name("N");
  arguments->console.add_to(app);
  return [arguments] { return run_estimate(*arguments); };
}

}  // namespace fairlane
