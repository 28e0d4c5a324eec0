// fairlane run CONFIG: searches and writes an output directory.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "apps/arguments.h"
#include "apps/commands/commands.h"
#include "apps/commands/config_options.h"
#include "apps/commands/ranks_frame.h"
#include "apps/console.h"
#include "apps/progress.h"
#include "apps/text/summary_text.h"
#include "base/files.h"
#include "base/text.h"
#include "engine/count/domain_share.h"
#include "engine/results/changed_inputs.h"
#include "engine/results/manifest.h"
#include "engine/results/run.h"
#include "engine/results/summary.h"

namespace fairlane {
namespace {

constexpr std::int64_t kMostSamples = std::int64_t{1} << 32;

struct RunArguments {
  ConfigOptions config;
  ConsoleOptions console;
  bool overwrite = false;
  bool allow_changed_inputs = false;
  std::string samples;
  std::string fail_above;
  std::string against;
  bool mpi = false;
};

/// Whether CONFIG is the manifest of a finished run, which is then repeated: up to its recorded
/// cut, where the clock ended it.
bool repeats_manifest(std::string const& path) {
  return std::filesystem::path(path).filename() == "manifest.json";
}

/// The configuration of a manifest. replay: where the recorded run ended; nothing where its inputs
/// have changed, for then it is another run.
RunConfig recorded_config(RunArguments const& arguments, Console const& console,
                          std::optional<Cut>& replay) {
  ConfigOptions const& options = arguments.config;
  if (!options.set.empty() || !options.seed.empty()) {
    throw usage_error(fmt::format("{}: a recorded run is repeated as it is, without {}",
                                  escaped(options.path, options.path.size()),
                                  options.set.empty() ? "--seed" : "--set"));
  }
  open_input(options.path);  // says what else the path is
  std::string const dir = std::filesystem::path(options.path).parent_path().string();
  RecordedRun recorded = read_manifest(dir.empty() ? "." : dir);
  if (recorded.command != "run") {
    throw usage_error(
        fmt::format("{}: is the manifest of `fairlane {}`, expected that of a run; "
                    "give the command its configuration again",
                    escaped(options.path, options.path.size()), recorded.command));
  }
  auto const changed = changed_inputs(recorded);
  if (!changed.empty() && !arguments.allow_changed_inputs) {
    throw Error(
        ExitCode::kData,
        fmt::format("{}; a recorded run is repeated with the same inputs: restore the file, "
                    "or run with this one (--allow-changed-inputs)",
                    changed.front().text()));
  }
  for (ChangedInput const& input : changed)
    console.warn(fmt::format("{}: this is not the recorded run", input.text()));
  if (!options.out.empty()) recorded.config.output.dir = options.out;
  // Also when the clock did not end it: it must not end the repetition.
  if (changed.empty()) replay = recorded.cut;
  return recorded.config;
}

/// How the share of the domain is measured; nothing where it is not.
std::function<DomainShare(RunConfig const&, TestSubject const&)> domain_share(
    RunArguments const& arguments, Execution const& execution, std::optional<double> fail_above) {
  DomainShareOptions options;
  options.execution = execution;
  options.decide_above = fail_above;
  options.stop = &Interrupt::flag();
  if (!arguments.samples.empty())
    options.samples = parse_integer("--samples", arguments.samples, 0, kMostSamples);
  if (options.samples == 0) {
    if (fail_above && arguments.against.empty()) {
      throw usage_error(
          "--fail-above needs the share of the domain: expected --samples above 0, or "
          "--against DIR");
    }
    return {};
  }
  return [options](RunConfig const& config, TestSubject const& subject) {
    return measure_domain_share(config, subject, options);
  };
}

/// What a policy says to a share: 0 where it surely is at most `rate`, 1 where it surely is above.
/// Throws Error(kIntegrity) where that is not known.
ExitCode judge(DomainShare const& share, double rate, Console const& console) {
  std::string const policy = fmt::format("--fail-above {}", fine_percent(rate));
  if (!share.skipped.empty()) {
    throw Error(ExitCode::kIntegrity,
                fmt::format("{}: undecided, since the share of the domain was not measured: {}",
                            policy, share.skipped));
  }
  if (share.high <= rate) return ExitCode::kOk;
  if (share.low > rate) {
    console.warn(fmt::format("{}: at least {} of all inputs of the domain are IDIs", policy,
                             fine_percent(share.low)));
    return ExitCode::kPolicy;
  }
  std::string const between =
      fmt::format("{}: undecided, between {} and {} of all inputs of the domain are IDIs", policy,
                  fine_percent(share.low), fine_percent(share.high));
  if (share.undefined_groups > 0) {
    throw Error(
        ExitCode::kIntegrity,
        fmt::format("{}: {} of {} evaluated groups have undefined outputs, which may be "
                    "either",
                    between, with_commas(share.undefined_groups), with_commas(share.groups)));
  }
  throw Error(ExitCode::kIntegrity,
              fmt::format("{} by a sample of {}; --samples N takes more, `fairlane enumerate` and "
                          "--against count all",
                          between, with_commas(share.groups)));
}

/// ranks: null where this process is alone
ExitCode run_config(RunArguments const& arguments, Ranks* ranks) {
  Console const console(ranks == nullptr ? arguments.console
                                         : console_of_rank(arguments.console, *ranks));
  std::optional<double> fail_above;
  if (!arguments.fail_above.empty()) {
    fail_above = parse_number("--fail-above", arguments.fail_above, 0.0, 1.0);
  }
  RunOptions options;
  options.execution = arguments.config.execution();
  if (ranks != nullptr) {
    if (!arguments.config.checkpoint.empty())
      throw usage_error("--checkpoint: ranks save no state of a run, expected to be left out");
    share_machine(*ranks, options.execution);
    options.search.ranks = ranks;
  }
  options.overwrite = arguments.overwrite;
  options.against = arguments.against;
  options.domain_share = domain_share(arguments, options.execution, fail_above);
  options.walk_seconds = [&](RunConfig const& config, TestSubject const& subject) {
    return walk_seconds(config, subject, options.execution);
  };
  bool const repeats = repeats_manifest(arguments.config.path);
  if (arguments.allow_changed_inputs && !repeats) {
    throw usage_error("--allow-changed-inputs: expected a manifest.json, whose run is repeated");
  }
  RunConfig const config = repeats ? recorded_config(arguments, console, options.search.replay)
                                   : arguments.config.config();
  options.agreement = !is_command(config.model);  // a program is asked no more than it must be

  JobProgress progress;
  options.search.progress = &progress;
  options.search.trace = config.output.trace;
  Interrupt const interrupt;
  options.search.stop = &Interrupt::flag();
  Summary summary;
  {
    ProgressLine line(progress, config, console.progress());
    options.notice = [&](std::string const& text) {
      line.clear();
      console.info(text);
    };
    summary = run(config, options);
  }
  if (ranks != nullptr && !ranks->is_first()) return ExitCode::kOk;
  std::string const json = summary_json(summary);
  if (arguments.console.json) {
    print(json);
  } else {
    print(summary_text(json, config.output.dir));
    print(results_place(config.output.dir));
  }
  if (summary.found.undefined > 0 && summary.found.undefined == summary.found.unique_generated) {
    throw Error(
        ExitCode::kIntegrity,
        fmt::format("{}: the output of every tried input is undefined (not a finite number), "
                    "so that nothing was tested",
                    escaped(config.model)));
  }
  if (summary.found.infeasible > 0 && summary.found.unique_generated == 0) {
    if (summary.at_least) {
      throw Error(ExitCode::kIntegrity,
                  fmt::format("plausibility.at_least: is {}, which none of {} tried inputs is, so "
                              "that nothing was tested; expected less",
                              *summary.at_least, with_commas(summary.found.infeasible)));
    }
    throw Error(ExitCode::kIntegrity,
                fmt::format("{}: the domain's constraints exclude all {} tried inputs, so that "
                            "nothing was tested",
                            escaped(config.domain), with_commas(summary.found.infeasible)));
  }
  // Where a policy is asked for, the share of the domain answers.
  if (summary.found.unique_generated == 0 && !fail_above) {
    throw Error(ExitCode::kIntegrity,
                fmt::format("{}: the budget ended the search before it tried an input, so that "
                            "nothing was tested; expected a larger one",
                            escaped(config.model)));
  }
  return fail_above ? judge(summary.domain_share.value(), *fail_above, console) : ExitCode::kOk;
}

}  // namespace

Action add_run(Arguments& app) {
  auto const arguments = std::make_shared<RunArguments>();
  arguments->config.add_to(app);
  app.add_flag("--overwrite", arguments->overwrite, "replace the results of another configuration");
  app.add_flag("--allow-changed-inputs", arguments->allow_changed_inputs,
               "run a manifest.json although its model, table, domain or seeds have changed");
  app.add_option(
         "--samples", arguments->samples,
         fmt::format("groups sampled for the share of the domain (default: {} or fewer, none "
                     "of an exec: model; 0: none)",
                     kDomainSamples))
      ->type_name("N");
  app.add_option(
         "--fail-above", arguments->fail_above,
         "judge the share of the domain's inputs that are IDIs (0..1), not what the search "
         "found of what it tried: exit with 0 when the upper end of its 95 % interval is at "
         "most RATE, with 1 when the lower end is above, with 76 when that is undecided; up "
         "to 64 times the samples are taken to decide; undefined outputs may be either")
      ->type_name("RATE");
  app.add_option("--against", arguments->against,
                 "results of `fairlane enumerate`: also report which share of all IDIs was found, "
                 "and take the share of the domain from there")
      ->type_name("DIR");
  app.add_flag("--mpi", arguments->mpi, std::string(kMpiHelp) + "; no state is saved");
  arguments->console.add_to(app);
  return [arguments] {
    if (!arguments->mpi) return run_config(*arguments, nullptr);
    return with_ranks([&](Ranks& ranks) { return run_config(*arguments, &ranks); });
  };
}

}  // namespace fairlane
