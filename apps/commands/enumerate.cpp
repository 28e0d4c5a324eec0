// fairlane enumerate CONFIG: counts every group of a domain exactly.
#include <fmt/format.h>

#include <memory>

#include "apps/arguments.h"
#include "apps/commands/commands.h"
#include "apps/commands/config_options.h"
#include "apps/commands/ranks_frame.h"
#include "apps/commands/region_options.h"
#include "apps/console.h"
#include "apps/progress.h"
#include "apps/text/count_text.h"
#include "base/text.h"
#include "engine/count/enumerate.h"
#include "models/data/domain_yaml.h"

namespace fairlane {
namespace {

constexpr std::int64_t kMostSample = std::int64_t{1} << 40;

struct EnumerateArguments {
  ConfigOptions config;
  ConsoleOptions console;
  RegionOptions region;
  std::vector<std::string> merge;
  std::string shard;
  std::string instances = "none";
  bool no_skip = false;
  bool overwrite = false;
  bool mpi = false;
};

WantedInstances parse_instances(std::string const& text) {
  if (text == "none") return {};
  if (text == "all") return {true, 0};
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos) {
    throw usage_error(
        fmt::format("--instances is {}, expected none, all or a number", in_quotes(text)));
  }
  return {false, parse_integer("--instances", text, 0, kMostSample)};
}

/// ranks: null where this process is alone
ExitCode run_enumerate(EnumerateArguments const& arguments, Ranks* ranks) {
  Console const console(ranks == nullptr ? arguments.console
                                         : console_of_rank(arguments.console, *ranks));
  EnumerateOptions options;
  options.ranks = ranks;
  options.execution = arguments.config.execution();
  options.overwrite = arguments.overwrite;
  options.region = arguments.region.region();
  if (!arguments.shard.empty()) options.shard = parse_shard(arguments.shard);
  options.instances = parse_instances(arguments.instances);
  options.merge = arguments.merge;
  if (arguments.no_skip) options.skipping = Skipping::kNever;
  if (!options.merge.empty() && !arguments.shard.empty())
    throw usage_error("--merge adds shards up to the whole: leave --shard out");
  if (!options.merge.empty() && ranks != nullptr)
    throw usage_error("--merge adds up what is counted: leave --mpi out");
  if (ranks != nullptr) share_machine(*ranks, options.execution);
  RunConfig const config = arguments.config.config();
  if (config.budget.seconds) options.most_seconds = *config.budget.seconds;
  if (options.instances.any() && config.output.format == OutputFormat::kNone) {
    throw usage_error("--instances: output.format is none, expected csv or npy to write them");
  }

  WorkFrame frame(console);
  frame.lead(options, enumeration_progress_text);
  std::string const json = enumerate(config, options);
  frame.clear();
  if (ranks != nullptr && !ranks->is_first()) return ExitCode::kOk;
  if (arguments.console.json) {
    print(json);
  } else {
    Domain const domain = read_domain_yaml(config.domain);
    print(enumeration_text(json, &domain));
    print(results_place(config.output.dir));
  }
  if (nothing_defined(json)) {
    throw Error(
        ExitCode::kIntegrity,
        fmt::format("{}: every output is undefined (not a finite number, or of an input that "
                    "constraints exclude), so that nothing was counted",
                    escaped(config.model)));
  }
  return ExitCode::kOk;
}

}  // namespace

Action add_enumerate(Arguments& app) {
  auto const arguments = std::make_shared<EnumerateArguments>();
  arguments->config.add_to(app);
  arguments->region.add_to(app, "only the groups of the data's rows");
  app.add_option("--instances", arguments->instances,
                 "IDIs to write: none (default), all, or a sample of N")
      ->type_name("none|all|N");
  app.add_option("--shard", arguments->shard, "count part K of N, to be merged later")
      ->type_name("K/N");
  app.add_option("--merge", arguments->merge, "add up the directories of all shards, in any order")
      ->type_name("DIR...");
  app.add_flag("--no-skip", arguments->no_skip,
               "evaluate every input, also where a proof that none can be an IDI would save time");
  app.add_flag("--overwrite", arguments->overwrite, "replace the results of another configuration");
  app.add_flag("--mpi", arguments->mpi, kMpiHelp);
  arguments->console.add_to(app);
  return [arguments] {
    if (!arguments->mpi) return run_enumerate(*arguments, nullptr);
    return with_ranks([&](Ranks& ranks) { return run_enumerate(*arguments, &ranks); });
  };
}

}  // namespace fairlane
