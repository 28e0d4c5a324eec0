// fairlane verify CONFIG: a verdict for every cell of a domain, proven or shown.
#include <fmt/format.h>

#include <initializer_list>
#include <memory>

#include "apps/arguments.h"
#include "apps/commands/commands.h"
#include "apps/commands/config_options.h"
#include "apps/commands/region_options.h"
#include "apps/console.h"
#include "apps/progress.h"
#include "apps/text/verify_text.h"
#include "base/error.h"
#include "base/formats/json.h"
#include "base/text.h"
#include "engine/recheck/recheck.h"
#include "engine/verify/verify.h"

namespace fairlane {
namespace {

constexpr std::int64_t kMostEffort = 1'000'000'000;
constexpr double kMostMargin = 1.0e30;
constexpr std::int64_t kMostBoxes = std::int64_t{1} << 40;
constexpr std::int64_t kMostCountedBoxes = 20'000'000;  // half of them are kept, 300 bytes each

struct VerifyArguments {
  ConfigOptions config;
  ConsoleOptions console;
  RegionOptions region;
  std::string cells = "none";
  std::string semantics = "any";
  std::vector<std::string> relaxed;
  std::vector<std::string> where;
  std::string margin;
  std::string against;
  bool fairify_csv = false;
  std::string vnnlib;
  std::string boxes;
  std::string quantify;
  std::string check;
  std::string effort;
  bool overwrite = false;
};

/// "fairify:100" is a size, "none" the size 0, and all else the name of a file.
void parse_cells(std::string const& text, VerifyOptions& options) {
  constexpr std::string_view kFairify = "fairify:";
  if (text == "none") return;
  if (text.starts_with(kFairify)) {
    options.cell_size =
        parse_integer("--cells fairify:N: N", text.substr(kFairify.size()), 1, kMaxCode);
    return;
  }
  if (!text.ends_with(".csv")) {
    throw usage_error(fmt::format(
        "--cells is {}, expected none, fairify:N, such as fairify:100, or a file NAME.csv",
        in_quotes(text)));
  }
  options.cell_file = text;
}

PairSemantics parse_semantics(std::string const& text) {
  if (text == "any") return PairSemantics::kAny;
  if (text == "all") return PairSemantics::kAll;
  throw usage_error(fmt::format("--semantics is {}, expected any or all", in_quotes(text)));
}

/// "age=5".
RelaxedBy parse_relaxed(std::string const& text) {
  std::size_t const equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0)
    throw usage_error(fmt::format("--relax is {}, expected NAME=NUMBER", in_quotes(text)));
  std::string const name = text.substr(0, equals);
  std::int64_t const by = parse_integer("--relax " + name, text.substr(equals + 1), 1, kMaxCode);
  return {name, static_cast<std::int32_t>(by)};
}

/// Refuses what says nothing about a directory to check.
void take_no_query(VerifyArguments const& arguments) {
  VerifyArguments const none;
  constexpr char const* kRecorded = "the directory's manifest.json has it";
  constexpr char const* kWritten = "it writes nothing";
  struct Option {
    bool given;
    char const* name;
    char const* why;
  };
  for (auto const& [given, name, why] : std::initializer_list<Option>{
           {!arguments.config.path.empty(), "CONFIG", kRecorded},
           {!arguments.region.ranges.empty(), "--range", kRecorded},
           {!arguments.region.tuples.empty(), "--tuple", kRecorded},
           {arguments.region.rows, "--rows", kRecorded},
           {arguments.cells != none.cells, "--cells", kRecorded},
           {arguments.semantics != none.semantics, "--semantics", kRecorded},
           {!arguments.relaxed.empty(), "--relax", kRecorded},
           {!arguments.where.empty(), "--where", kRecorded},
           {!arguments.margin.empty(), "--margin", kRecorded},
           {!arguments.boxes.empty(), "--boxes", kRecorded},
           {!arguments.quantify.empty(), "--quantify", kRecorded},
           {arguments.fairify_csv, "--fairify-csv", kWritten},
           {!arguments.vnnlib.empty(), "--vnnlib", kWritten},
           {arguments.overwrite, "--overwrite", kWritten}}) {
    if (given) throw usage_error(fmt::format("--check DIR takes no {}: {}", name, why));
  }
}

ExitCode run_recheck(VerifyArguments const& arguments) {
  Console const console(arguments.console);
  take_no_query(arguments);
  RecheckOptions options;
  options.model = arguments.config.model.options();
  options.threads = arguments.config.execution().threads;
  if (!arguments.effort.empty()) {
    options.effort = static_cast<int>(parse_integer("--effort", arguments.effort, 1, kMostEffort));
  }
  options.against = arguments.against;
  WorkFrame frame(console);
  frame.lead(options, recheck_progress_text);
  RecheckResult const result = recheck(arguments.check, options);
  frame.clear();
  print(arguments.console.json ? recheck_json(result) : recheck_text(result));
  if (result.failed > 0) {
    throw Error(ExitCode::kIntegrity,
                fmt::format("{}: {} statements do not hold; the first: {}", arguments.check,
                            with_commas(result.failed), result.failures.front()));
  }
  return result.unproven == 0 && result.unknown == 0 ? ExitCode::kOk : ExitCode::kPartly;
}

ExitCode run_verify(VerifyArguments const& arguments) {
  if (!arguments.check.empty()) return run_recheck(arguments);
  if (arguments.config.path.empty())
    throw usage_error("expected CONFIG, or --check DIR; see `fairlane verify --help`");
  if (!arguments.effort.empty()) throw usage_error("--effort is of --check DIR");
  Console const console(arguments.console);
  VerifyOptions options;
  options.execution = arguments.config.execution();
  options.overwrite = arguments.overwrite;
  options.region = arguments.region.region();
  parse_cells(arguments.cells, options);
  options.semantics = parse_semantics(arguments.semantics);
  for (auto const& text : arguments.relaxed) options.relaxed.push_back(parse_relaxed(text));
  options.where = arguments.where;
  options.against = arguments.against;
  options.fairify_csv = arguments.fairify_csv;
  options.vnnlib = arguments.vnnlib;
  if (!arguments.margin.empty())
    options.margin = parse_number("--margin", arguments.margin, 0.0, kMostMargin);
  if (!arguments.boxes.empty())
    options.most_boxes = parse_integer("--boxes", arguments.boxes, 1, kMostBoxes);
  if (!arguments.quantify.empty()) {
    options.quantify = parse_integer("--quantify", arguments.quantify, 1, kMostCountedBoxes);
    if (options.cell_size != 0 || !options.cell_file.empty())
      throw usage_error("--quantify counts over the whole region: leave --cells out");
  }
  RunConfig const config = arguments.config.config();
  WorkFrame frame(console);
  frame.lead(options, verify_progress_text);
  std::string const json = verify(config, options);
  frame.clear();
  if (arguments.console.json) {
    print(json);
  } else {
    print(verify_text(json));
    print(results_place(config.output.dir));
  }
  bool const whole = Json::parse(json).at("cells").at("unknown").get<std::int64_t>() == 0;
  return whole ? ExitCode::kOk : ExitCode::kPartly;
}

}  // namespace

Action add_verify(Arguments& app) {
  auto const arguments = std::make_shared<VerifyArguments>();
  arguments->config.add_to(app, false);
  arguments->region.add_to(app, "only the groups of the data's rows");
  app.add_option(
         "--cells", arguments->cells,
         "a verdict for every cell: none (default) is one cell, fairify:N cuts every "
         "attribute with more than N values into runs of N, as Fairify does, FILE.csv has a "
         "box on every line, as in cells.csv")
      ->type_name("none|fairify:N|FILE.csv");
  app.add_option("--semantics", arguments->semantics,
                 "compare members that differ in any attribute under test (default), or only those "
                 "that differ in all of them, as Fairify's program does")
      ->type_name("any|all");
  app.add_option("--relax", arguments->relaxed,
                 "also compare people whose values of this attribute differ by at most NUMBER")
      ->type_name("NAME=NUMBER")
      ->one_at_a_time();
  app.add_option("--where", arguments->where,
                 "only people for whom this holds: sums of attributes that are not under test, "
                 "such as \"2 * age - hours <= 10\"")
      ->type_name("LIMIT")
      ->one_at_a_time();
  app.add_option("--margin", arguments->margin,
                 "prove cells fair even where every output is off by as much (default 0)")
      ->type_name("NUMBER");
  app.add_option(
         "--against", arguments->against,
         "a finished directory of `verify` on another model: says which of the same cells "
         "became fair, and which unfair; with --check: that directory, which is checked, too")
      ->type_name("DIR");
  app.add_flag("--fairify-csv", arguments->fairify_csv,
               "also write fairify.csv, with the columns of Fairify's program");
  app.add_option("--vnnlib", arguments->vnnlib,
                 "also write the question for other verifiers: a network of both members, a "
                 "property in VNN-LIB for every cell and instances.csv, before it is answered here")
      ->type_name("FOLDER");
  app.add_option("--boxes", arguments->boxes,
                 "boxes of a cell after which it is left unknown (default 5000000)")
      ->type_name("N");
  app.add_option("--quantify", arguments->quantify,
                 "also count which share of all groups is certainly fair and certainly unfair, by "
                 "so many boxes, and sample them beside it")
      ->type_name("N");
  app.add_option("--check", arguments->check,
                 "instead: prove everything again that a finished directory of `verify` says, "
                 "by another way")
      ->type_name("DIR");
  app.add_option("--effort", arguments->effort,
                 "with --check: boxes that a leaf may be split into (default 20000)")
      ->type_name("N");
  app.add_flag("--overwrite", arguments->overwrite, "replace the results of another configuration");
  arguments->console.add_to(app);
  return [arguments] { return run_verify(*arguments); };
}

}  // namespace fairlane
