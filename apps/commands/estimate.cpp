// fairlane estimate CONFIG: shares of a domain from uniform samples.
#include <fmt/format.h>

#include <memory>

#include "apps/arguments.h"
#include "apps/commands/commands.h"
#include "apps/commands/config_options.h"
#include "apps/commands/region_options.h"
#include "apps/console.h"
#include "apps/progress.h"
#include "apps/text/count_text.h"
#include "base/text.h"
#include "engine/count/estimate.h"

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
  bool overwrite = false;
};

/// The command that counts the groups of which an estimate takes samples.
std::string enumeration(EstimateArguments const& arguments) {
  std::string command = "fairlane enumerate " + shell_word(arguments.config.path);
  for (std::string const& change : arguments.config.set) command += " --set " + shell_word(change);
  return command + arguments.region.flags();
}

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
    if (options.region.rows)
      throw usage_error("--trials: --rows evaluates all rows, once; expected one of the two");
    options.trials = parse_integer("--trials", arguments.trials, 2, kMostTrials);
    if (!options.samples)
      throw usage_error("--trials needs --samples N, the samples of each trial");
  }
  if (!arguments.search.empty())
    options.search_above = parse_number("--search-above", arguments.search, 0.0, 1.0);
  if (!arguments.largest_set.empty()) {
    if (!options.search_above)
      throw usage_error("--largest-set needs --search-above SHARE, the search for sets");
    options.largest_set =
        static_cast<int>(parse_integer("--largest-set", arguments.largest_set, 1, kLargestSet));
  }
  // Without --out nothing is written, and the results in output.dir are another command's.
  ConfigOptions where = arguments.config;
  if (where.out.empty()) where.out = ".";
  RunConfig const config = where.config();
  if (!arguments.config.out.empty()) options.out = config.output.dir;
  options.overwrite = arguments.overwrite;
  options.enumeration = enumeration(arguments);
  if (options.region.rows && config.data.empty())
    throw usage_error("--rows needs rows, and the configuration names no `data`");
  if (options.region.rows && options.samples)
    throw usage_error("--samples: --rows evaluates all rows; expected one of the two");
  WorkFrame frame(console);
  frame.lead(options, estimate_progress_text);
  std::string const json = estimate(config, options);
  frame.clear();
  print(arguments.console.json ? json : estimate_text(json));
  if (!options.out.empty() && !arguments.console.json) print(results_place(options.out));
  if (nothing_defined(json)) {
    throw Error(
        ExitCode::kIntegrity,
        fmt::format("{}: every evaluated output is undefined (not a finite number, or of an "
                    "input that constraints exclude), so that nothing was estimated",
                    escaped(config.model)));
  }
  return ExitCode::kOk;
}

}  // namespace

Action add_estimate(Arguments& app) {
  auto const arguments = std::make_shared<EstimateArguments>();
  arguments->config.add_to(app, true,
                           "write estimate.json there, and save the state there when stopped or "
                           "after --checkpoint, so that the same command goes on; without it "
                           "nothing is written, also not to output.dir");
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
  app.add_flag("--overwrite", arguments->overwrite, "replace the results of another configuration");
  arguments->console.add_to(app);
  return [arguments] { return run_estimate(*arguments); };
}

}  // namespace fairlane
