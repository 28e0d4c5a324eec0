// fairlane demo: searches a small census for discrimination that is known to be in it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <set>

#include "apps/arguments.h"
#include "apps/commands/commands.h"
#include "apps/console.h"
#include "apps/demo/demo_census.h"
#include "apps/demo/embedded.h"
#include "apps/files.h"
#include "apps/text/words.h"
#include "base/files.h"
#include "base/formats/json.h"
#include "base/text.h"
#include "engine/config/config_yaml.h"
#include "engine/results/run.h"
#include "models/data/domain_yaml.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostRows = 10'000'000;
constexpr std::int64_t kClusters = 4;
constexpr char const* kMarker = "planted.json";  // a directory with it is the demo's own
constexpr std::size_t kMaxMarkerBytes = std::size_t{1} << 16;

struct DemoArguments {
  std::string dir = "fairlane-demo";
  std::string rows;
  ConsoleOptions console;
};

/// How the text speaks of a protected attribute, in the order of the report.
struct Wording {
  int attribute;
  char const* between;  // whom the decisions are compared between
};
constexpr std::array kWordings = {
    Wording{kDemoGender, "for women and men"},
    Wording{kDemoAge, "for younger and older people"},
    Wording{kDemoRace, "for people of different race"},
};

/// What one search found, held against what is planted.
struct DemoFinding {
  PlantedRule const* rule = nullptr;
  char const* between = "";
  std::string dir;
  std::int64_t planted = 0;  // profiles
  std::int64_t found = 0;    // profiles
  std::int64_t pairs = 0;    // reported pairs
  std::int64_t wrong = 0;    // reported pairs that the rule does not confirm
  double seconds = 0.0;
  std::string example;
};

std::string embedded_text(std::string_view name) {
  auto const bytes = embedded_file(name);
  return {bytes.begin(), bytes.end()};
}

std::string demo_config(std::string const& attribute, std::int64_t rows) {
  return fmt::format(
      "# `fairlane demo`: are two people who differ in {0} alone decided alike?\n"
      "model: census.safetensors\n"
      "data: census.csv\n"
      "domain: census.domain.yaml\n"
      "protected: [{0}]\n"
      "method: eidig\n"
      "seed: 42\n"
      "global: {{num: 1000, clusters: {1}, max_iter: 10}}\n"
      "local: {{num: 5000}}\n"
      "output: {{dir: results/{0}, format: csv}}\n",
      attribute, std::min(kClusters, rows));
}

/// Writes the census, its domain, the network and one configuration for each protected attribute.
void extract(std::string const& dir, std::int64_t rows) {
  std::error_code ec;
  std::string const marker = embedded_text(kMarker);
  if (fs::is_directory(dir, ec) && !fs::is_empty(dir, ec)) {
    std::string const path = (fs::path(dir) / kMarker).string();
    if (!fs::exists(path, ec) || read_file(path, kMaxMarkerBytes) != marker) {
      throw Error(
          ExitCode::kOutput,
          fmt::format("{}: holds other files, expected a new directory or one of an earlier "
                      "demo; choose another with --out",
                      escaped(dir, dir.size())));
    }
  }
  auto const write = [&](std::string const& name, std::string const& text) {
    write_text_file((fs::path(dir) / name).string(), text);
  };
  write(kMarker, marker);
  write("README.md", embedded_text("README.md"));
  write("census.domain.yaml", embedded_text("census.domain.yaml"));
  write("census.safetensors", embedded_text("census.safetensors"));
  write("census.csv", demo_census_csv(static_cast<std::uint64_t>(rows), kDemoSeed));
  for (PlantedRule const& rule : planted_rules()) {
    write(rule.protected_attribute + std::string(".yaml"),
          demo_config(rule.protected_attribute, rows));
  }
}

PlantedRule const& rule_of(int attribute) {
  for (PlantedRule const& rule : planted_rules()) {
    if (rule.attribute == attribute) return rule;
  }
  throw Error(ExitCode::kBug, fmt::format("demo: no rule for column {}", attribute));
}

char const* decision(std::int32_t label) { return label == 1 ? "approved" : "refused"; }

std::string example_words(Domain const& domain, ReportedPair const& pair, int attribute) {
  auto const column = static_cast<std::size_t>(attribute);
  std::array<int, 1> const left_out = {attribute};
  Attribute const& tested = domain.attributes[column];
  std::string const name = escaped(tested.name);
  return fmt::format("{}\n{} {} is {}, {} {} is {}", row_words(domain, pair.row, left_out), name,
                     value_words(tested, pair.row[column]), decision(pair.label), name,
                     value_words(tested, pair.pair[0]), decision(pair.pair_label));
}

/// Holds every reported pair against the rule itself, without the network.
void verify(DemoFinding& finding, Domain const& domain) {
  int const attribute = finding.rule->attribute;
  auto const column = static_cast<std::size_t>(attribute);
  std::array<int, 1> const selected = {attribute};
  finding.planted = count_planted(selected).discriminatory_groups;
  std::vector<ReportedPair> const pairs = read_pairs(finding.dir, domain, selected, {});
  std::set<std::vector<std::int32_t>> profiles;
  for (ReportedPair const& pair : pairs) {
    std::vector<std::int32_t> other = pair.row;
    other[column] = pair.pair[0];
    bool const holds = planted_affected(pair.row, attribute) &&
                       pair.label == demo_label(pair.row) && pair.pair_label == demo_label(other) &&
                       pair.label != pair.pair_label;
    if (!holds) {
      ++finding.wrong;
      continue;
    }
    std::vector<std::int32_t> profile = pair.row;
    profile[column] = 0;
    profiles.insert(std::move(profile));
  }
  finding.pairs = static_cast<std::int64_t>(pairs.size());
  finding.found = static_cast<std::int64_t>(profiles.size());
  if (!pairs.empty()) finding.example = example_words(domain, pairs[pairs.size() / 2], attribute);
}

DemoFinding search_for(Wording const& wording, std::string const& dir, Domain const& domain,
                       Console const& console) {
  DemoFinding finding;
  finding.rule = &rule_of(wording.attribute);
  finding.between = wording.between;
  std::string const config_file = finding.rule->protected_attribute + std::string(".yaml");
  RunConfig const config = read_run_config((fs::path(dir) / config_file).string(), {});
  finding.dir = config.output.dir;
  RunOptions options;
  options.overwrite = true;  // the directory is the demo's own
  options.search.stop = &Interrupt::flag();
  options.notice = [&](std::string const& line) { console.debug(line); };
  Summary const summary = run(config, options);
  finding.seconds = summary.total_seconds;
  verify(finding, domain);
  return finding;
}

/// `text` in lines of at most `width` characters, each behind `indent`.
std::string wrapped(std::string const& text, std::string const& indent, std::size_t width) {
  std::string out = indent;
  std::size_t column = indent.size();
  for (std::size_t at = 0; at < text.size();) {
    std::size_t const end = std::min(text.find_first_of(" \n", at), text.size());
    if (column + end - at > width && column > indent.size()) {
      out.back() = '\n';
      out += indent;
      column = indent.size();
    }
    out.append(text, at, end - at);
    column += end - at + 1;
    out += ' ';
    if (end < text.size() && text[end] == '\n') {
      out.back() = '\n';
      out += indent;
      column = indent.size();
    }
    at = end + 1;
  }
  out.back() = '\n';
  return out;
}

std::string finding_text(DemoFinding const& finding) {
  constexpr std::size_t kWidth = 100;
  std::string const indent = "    ";
  std::string text = finding.rule->protected_attribute + std::string("\n");
  if (!finding.rule->discriminates && finding.found == 0 && finding.wrong == 0) {
    return text +
           wrapped(fmt::format("none found, none planted: no profile is decided differently {}.",
                               finding.between),
                   indent, kWidth);
  }
  text +=
      wrapped(fmt::format("{} profiles are decided differently {}. Planted: {}",
                          with_commas(finding.planted), finding.between, finding.rule->sentence),
              indent, kWidth);
  double const share = finding.planted == 0 ? 0.0
                                            : static_cast<double>(finding.found) /
                                                  static_cast<double>(finding.planted);
  text += wrapped(fmt::format("Found {} of {} ({}) in {}; {} false findings among {} pairs.",
                              with_commas(finding.found), with_commas(finding.planted),
                              percent(share), seconds_text(finding.seconds),
                              with_commas(finding.wrong), with_commas(finding.pairs)),
                  indent, kWidth);
  if (!finding.example.empty()) {
    text += wrapped("For example: " + finding.example, indent, kWidth);
  }
  return text;
}

std::string findings_json(std::vector<DemoFinding> const& findings) {
  Json json = Json::array();
  for (DemoFinding const& finding : findings) {
    json.push_back({{"protected", finding.rule->protected_attribute},
                    {"dir", finding.dir},
                    {"planted_groups", finding.planted},
                    {"found_groups", finding.found},
                    {"pairs", finding.pairs},
                    {"false_findings", finding.wrong},
                    {"seconds", finding.seconds}});
  }
  return json.dump(2) + "\n";
}

ExitCode demo(DemoArguments const& arguments) {
  Console const console(arguments.console);
  std::int64_t const rows = arguments.rows.empty()
                                ? static_cast<std::int64_t>(kDemoRows)
                                : parse_integer("--rows", arguments.rows, 1, kMostRows);
  bool const as_json = arguments.console.json;
  Interrupt const interrupt;
  extract(arguments.dir, rows);
  Domain const domain = read_domain_yaml((fs::path(arguments.dir) / "census.domain.yaml").string());
  if (!as_json) {
    print(
        fmt::format("A census of {} people who do not exist, and a network that decides whom to "
                    "approve.\n",
                    with_commas(rows)));
    print(wrapped(demo_rule(), "", 100));
    print("Some discrimination is planted beside that rule. Is it found?\n");
  }
  std::vector<DemoFinding> findings;
  std::int64_t wrong = 0;
  for (Wording const& wording : kWordings) {
    findings.push_back(search_for(wording, arguments.dir, domain, console));
    wrong += findings.back().wrong;
    if (!as_json) print("\n" + finding_text(findings.back()));
  }
  if (as_json) print(findings_json(findings));
  if (wrong > 0) {
    throw Error(ExitCode::kIntegrity,
                fmt::format("{}: {} reported pairs contradict the rule of the census",
                            escaped(arguments.dir, arguments.dir.size()), wrong));
  }
  if (!as_json) {
    auto const in_demo = [&](char const* name) {
      return shell_word((fs::path(arguments.dir) / name).string());
    };
    print(
        fmt::format("\nWhat next:\n"
                    "  fairlane inspect {}  # the findings in words\n"
                    "  fairlane check {}    # evaluates every pair again, independently\n"
                    "  fairlane run {} --out {} --set local.num=100\n"
                    "  fairlane init MODEL DATA.csv  # for your own model and table\n",
                    in_demo("results/gender"), in_demo("results/gender"), in_demo("gender.yaml"),
                    in_demo("results/short")));
  }
  return ExitCode::kOk;
}

}  // namespace

Action add_demo(Arguments& app) {
  auto const arguments = std::make_shared<DemoArguments>();
  app.add_option("--out", arguments->dir, "directory to write (default: fairlane-demo)")
      ->type_name("DIR");
  app.add_option("--rows", arguments->rows, "people in the census (default: 5000)")->type_name("N");
  arguments->console.add_to(app);
  return [arguments] { return demo(*arguments); };
}

}  // namespace fairlane
