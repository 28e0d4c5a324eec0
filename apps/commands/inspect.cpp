// fairlane inspect PATH [DOMAIN]: what a model, a table or a directory of results holds.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "apps/arguments.h"
#include "apps/commands/commands.h"
#include "apps/commands/config_options.h"
#include "apps/console.h"
#include "apps/files.h"
#include "apps/text/audit_text.h"
#include "apps/text/compare_text.h"
#include "apps/text/count_text.h"
#include "apps/text/finding_text.h"
#include "apps/text/summary_text.h"
#include "apps/text/verified_cells.h"
#include "apps/text/words.h"
#include "base/files.h"
#include "base/formats/json.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/threads/thread_pool.h"
#include "engine/digest/top_findings.h"
#include "engine/results/manifest.h"
#include "models/data/csv.h"
#include "models/data/dataset.h"
#include "models/data/domain_yaml.h"
#include "models/model.h"

namespace fairlane {
namespace {

constexpr std::size_t kShownFindings = 5;
constexpr std::size_t kReadFindings = 200;  // rows among which different profiles are looked for
constexpr std::size_t kShownCategories = 6;
constexpr std::size_t kMaxSummaryBytes = std::size_t{1} << 24;

struct InspectArguments {
  std::string path;
  std::string domain;
  std::string top;
  std::string sort;
  ModelFlags loading;
  ConsoleOptions console;
};

std::string dump(Json const& json) { return json.dump(2) + "\n"; }

/// A model of which nothing is known but what it answers.
void inspect_scorer(Model const& model, bool as_json) {
  Scorer const& scorer = *model.scorer();
  char const* const scores = name_of(scorer.kind());
  if (as_json) {
    print(dump({{"kind", "scorer"},
                {"path", model.source()},
                {"name", scorer.name()},
                {"inputs", scorer.inputs()},
                {"outputs", scorer.outputs()},
                {"scores", scores}}));
    return;
  }
  Facts facts;
  facts.add("model", escaped(scorer.name(), 4096));
  facts.add("inputs", fmt::format("{}", scorer.inputs()));
  facts.add("outputs", fmt::format("{}", scorer.outputs()));
  facts.add("scores", scores);
  print(facts.text());
}

void inspect_model(InspectArguments const& arguments, bool as_json) {
  std::string const& path = arguments.path;
  int inputs = 0;
  if (!arguments.domain.empty()) {
    Domain domain = read_domain_yaml(arguments.domain);
    domain.constraints.clear();  // they say nothing of the inputs' number, and may need a table
    if (domain.encodes()) resolve_bounds(domain, nullptr);
    inputs = domain.columns();
  }
  Model const model = load_model(path, inputs, arguments.loading.options());
  if (model.scorer()) return inspect_scorer(model, as_json);
  Network const& network = model.network("inspect");
  std::string const digest = sha256_file(model_file(path));
  if (as_json) {
    Json json = {{"kind", "network"},
                 {"path", path},
                 {"format", network.format},
                 {"inputs", network.inputs()},
                 {"outputs", network.outputs()},
                 {"parameters", network.parameters()},
                 {"sha256", digest},
                 {"layers", Json::array()}};
    for (DenseLayer const& layer : network.layers) {
      json["layers"].push_back({{"name", layer.name},
                                {"inputs", layer.inputs},
                                {"outputs", layer.outputs},
                                {"activation", activation_name(layer.activation)}});
    }
    print(dump(json));
    return;
  }
  Facts facts;
  facts.add("network", escaped(path, path.size()));
  facts.add("format", network.format);
  facts.add("inputs", fmt::format("{}", network.inputs()));
  facts.add("outputs", network.outputs() == 1
                           ? "1  (decides 1 above the threshold, else 0)"
                           : fmt::format("{}  (decides for the largest)", network.outputs()));
  facts.add("parameters", with_commas(network.parameters()));
  facts.add("sha256", digest);
  std::vector<std::vector<std::string>> rows = {
      {"layer", "inputs", "outputs", "parameters", "activation"}};
  for (DenseLayer const& layer : network.layers) {
    auto const parameters = static_cast<std::int64_t>(layer.weights.size() + layer.bias.size());
    rows.push_back({escaped(layer.name), fmt::format("{}", layer.inputs),
                    fmt::format("{}", layer.outputs), with_commas(parameters),
                    activation_name(layer.activation)});
  }
  print(facts.text() + "\n" + aligned(rows, {"activation"}));
}

/// "red, green, blue, ... (9)".
std::string some_of(std::vector<std::string> const& names, std::int64_t count) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kShownCategories; ++i) {
    text += (i == 0 ? "" : ", ") + escaped(names[i], 30);
  }
  if (count > static_cast<std::int64_t>(kShownCategories)) text += fmt::format(", ... ({})", count);
  return text;
}

void inspect_table(std::string const& path, bool as_json) {
  Table const table = describe_csv(path);
  Json json = {
      {"kind", "table"}, {"path", path}, {"rows", table.count}, {"columns", Json::array()}};
  std::vector<std::vector<std::string>> rows = {{"column", "distinct", "low", "high", "values"}};
  for (TableColumn const& column : table.columns) {
    Json entry = {
        {"name", column.name}, {"distinct", column.distinct}, {"integer", column.integer}};
    if (column.integer) {
      entry["low"] = column.low;
      entry["high"] = column.high;
      rows.push_back({escaped(column.name), with_commas(column.distinct),
                      fmt::format("{}", column.low), fmt::format("{}", column.high), "integers"});
    } else {
      rows.push_back({escaped(column.name), with_commas(column.distinct), "-", "-",
                      some_of(column.categories, column.distinct)});
    }
    json["columns"].push_back(std::move(entry));
  }
  if (as_json) {
    print(dump(json));
    return;
  }
  Facts facts;
  facts.add("table", escaped(path, path.size()));
  facts.add("rows", with_commas(table.count));
  print(facts.text() + "\n" + aligned(rows, {"values"}));
}

/// Range and rows outside the domain of one column.
struct ColumnRange {
  std::int32_t low = 0;
  std::int32_t high = 0;
  std::int64_t outside = 0;
};

ColumnRange range_of(Dataset const& data, Attribute const& attribute, std::size_t column) {
  auto const stride = static_cast<std::size_t>(data.attributes);
  ColumnRange range{data.rows[column], data.rows[column], 0};
  for (std::size_t i = column; i < data.rows.size(); i += stride) {
    std::int32_t const value = data.rows[i];
    range.low = std::min(range.low, value);
    range.high = std::max(range.high, value);
    range.outside += attribute.allows(value) ? 0 : 1;
  }
  return range;
}

void inspect_dataset(std::string const& path, std::string const& domain_path, bool as_json) {
  Domain const domain = read_domain_yaml(domain_path);
  Dataset const data = read_csv(path, domain);
  std::map<std::int32_t, std::int64_t> classes;
  for (std::int32_t const label : data.labels) ++classes[label];
  Json json = {{"kind", "dataset"},          {"path", path},          {"domain", domain_path},
               {"rows", data.count()},       {"label", domain.label}, {"classes", Json::object()},
               {"attributes", Json::array()}};
  std::vector<std::string> balance;
  for (auto const& [label, count] : classes) {
    json["classes"][fmt::format("{}", label)] = count;
    double const share = static_cast<double>(count) / static_cast<double>(data.count());
    std::string const word = decision_words(domain, label);
    std::string const name = std::to_string(label);
    balance.push_back(fmt::format("{}{}: {} ({})", name, word == name ? "" : " (" + word + ")",
                                  with_commas(count), percent(share)));
  }
  std::vector<std::vector<std::string>> rows = {
      {"attribute", "protected", "domain", "in the data", "outside"}};
  bool const fixes = std::any_of(domain.attributes.begin(), domain.attributes.end(),
                                 [](Attribute const& attribute) { return attribute.immutable; });
  if (fixes) rows.front().push_back("immutable");
  if (domain.encodes()) rows.front().push_back("encoding");
  bool const words = std::ranges::any_of(domain.attributes, has_words);
  if (words) rows.front().push_back("words");
  for (std::size_t i = 0; i < domain.attributes.size(); ++i) {
    Attribute const& attribute = domain.attributes[i];
    ColumnRange const range = range_of(data, attribute, i);
    rows.push_back({escaped(attribute.name), attribute.is_protected ? "yes" : "",
                    attribute.codes_text(), fmt::format("{}..{}", range.low, range.high),
                    with_commas(range.outside)});
    if (fixes) rows.back().push_back(attribute.immutable ? "yes" : "");
    if (domain.encodes()) rows.back().push_back(attribute.encoding.text());
    if (words) rows.back().push_back(all_words(attribute));
    Json entry = {{"name", attribute.name},
                  {"protected", attribute.is_protected},
                  {"low", attribute.low.value_or(range.low)},
                  {"high", attribute.high.value_or(range.high)},
                  {"data_low", range.low},
                  {"data_high", range.high},
                  {"out_of_domain", range.outside}};
    if (!attribute.values.empty()) entry["values"] = attribute.values;
    if (attribute.immutable) entry["immutable"] = true;
    if (attribute.encoding.kind != EncodingKind::kIdentity)
      entry["encoding"] = attribute.encoding.text();
    json["attributes"].push_back(std::move(entry));
  }
  if (as_json) {
    print(dump(json));
    return;
  }
  Facts facts;
  facts.add("table", escaped(path, path.size()));
  facts.add("domain", escaped(domain_path, domain_path.size()));
  facts.add("rows", with_commas(data.count()));
  facts.add("label", balance.empty()
                         ? fmt::format("no column {}", in_quotes(domain.label))
                         : fmt::format("{}, {}", escaped(domain.label), fmt::join(balance, ", ")));
  print(facts.text() + "\n" + aligned(rows, {"encoding", "words"}));
}

std::string pair_words(Domain const& domain, std::vector<int> const& protected_columns,
                       ReportedPair const& pair) {
  std::string own;
  std::string other;
  for (std::size_t i = 0; i < protected_columns.size(); ++i) {
    auto const column = static_cast<std::size_t>(protected_columns[i]);
    Attribute const& attribute = domain.attributes[column];
    std::string const name = escaped(attribute.name);
    own +=
        fmt::format("{}{} {}", i == 0 ? "" : ", ", name, value_words(attribute, pair.row[column]));
    other += fmt::format("{}{} {}", i == 0 ? "" : ", ", name, value_words(attribute, pair.pair[i]));
  }
  return fmt::format("- {}\n    {}: decision {};  {}: decision {}\n",
                     row_words(domain, pair.row, protected_columns), own,
                     decision_words(domain, pair.label), other,
                     decision_words(domain, pair.pair_label));
}

bool is_there(std::filesystem::path const& path) {
  std::error_code ec;
  return std::filesystem::exists(path, ec) || ec;  // whoever opens it says what is wrong
}

/// The first findings in words; empty where there are none.
std::string findings_text(std::string const& dir, RecordedRun const& recorded) {
  std::string const instances = (std::filesystem::path(dir) / "instances.csv").string();
  bool const tells_pairs = recorded.config.output.columns != OutputColumns::kInputs;
  if (!tells_pairs || !is_there(instances)) return {};
  Domain const domain = recorded_domain(recorded);
  std::vector<std::string> names;
  for (auto const& attribute : recorded.config.protected_attributes)
    names.push_back(attribute.name);
  std::vector<int> const columns = attribute_indices(domain, names);
  auto const pairs = read_pairs(dir, domain, columns, recorded.config.output, kReadFindings);
  if (pairs.empty()) return {};
  std::string text = "\nfirst findings:\n";
  std::set<std::string> shown;
  for (ReportedPair const& pair : pairs) {
    // Both sides of a pair are findings; one of them says it all.
    if (!shown.insert(row_words(domain, pair.row, columns)).second) continue;
    text += pair_words(domain, columns, pair);
    if (shown.size() == kShownFindings) break;
  }
  return text;
}

/// What --top and --sort ask for; none where neither is given. Throws Error(kUsage).
std::optional<TopQuery> top_query(InspectArguments const& arguments) {
  if (arguments.top.empty() && arguments.sort.empty()) return std::nullopt;
  TopQuery query;
  query.count = kShownFindings;
  query.threads = machine_threads();
  if (!arguments.top.empty()) {
    query.count = static_cast<std::size_t>(
        parse_integer("--top", arguments.top, 1, static_cast<std::int64_t>(kMostTop)));
  }
  if (arguments.sort.empty()) return query;
  Word<FindingOrder> const* const word = find_word<FindingOrder>(arguments.sort);
  if (word == nullptr) {
    std::vector<std::string> names;
    for (auto const& one : kEnumWords<FindingOrder>) names.emplace_back(one.name);
    throw usage_error(fmt::format("--sort is {}, expected one of {}{}", in_quotes(arguments.sort),
                                  fmt::join(names, ", "), did_you_mean(arguments.sort, names)));
  }
  query.order = word->value;
  return query;
}

/// Throws Error(kUsage): --top and --sort are of findings alone.
[[noreturn]] void refuse_top(std::string const& path, std::string const& what) {
  throw usage_error(
      fmt::format("inspect: --top and --sort are of findings, but {} is {}; expected "
                  "results of run, enumerate or audit",
                  in_quotes(path), what));
}

std::string recorded_estimate(std::string const& json, std::string const& source) {
  try {
    return estimate_text(json);
  } catch (JsonError const& e) {
    throw Error(ExitCode::kData, fmt::format("{}: is no estimate of this program: {}",
                                             escaped(source, source.size()), escaped(e.what())));
  }
}

/// The tables of a sweep. Throws Error(kNoInput) where it has made none yet.
void inspect_sweep(std::filesystem::path const& path, bool as_json) {
  constexpr std::size_t kLongestTables = std::size_t{1} << 30;
  if (!is_there(path / "sweep.json")) {
    throw Error(
        ExitCode::kNoInput,
        fmt::format("{}: is of a sweep that has made no tables yet; `fairlane sweep "
                    "status PLAN` says how far it is, `fairlane sweep merge PLAN` makes them",
                    escaped(path.string(), path.string().size())));
  }
  print(read_file((path / (as_json ? "sweep.json" : "tables.md")).string(), kLongestTables));
}

void inspect_results(std::string const& dir, Console const& console,
                     std::optional<TopQuery> const& query, bool as_json) {
  std::filesystem::path const path(dir);
  if (is_there(path / "plan.json") && is_there(path / "journal")) {
    if (query) refuse_top(dir, "of `fairlane sweep`");
    return inspect_sweep(path, as_json);
  }
  if (!is_there(path / "manifest.json")) {
    throw Error(ExitCode::kNoInput,
                fmt::format("{}: has no manifest.json, expected the output directory of a run",
                            escaped(dir, dir.size())));
  }
  bool const finished = is_there(path / "DONE");
  if (!finished) {
    console.warn(fmt::format("{}: has no DONE, the run did not finish", escaped(dir, dir.size())));
  }
  RecordedRun const recorded = read_manifest(dir);
  bool const is_comparison = recorded.command == "compare";
  bool const is_estimate = recorded.command == "estimate";
  bool const is_audit = recorded.command == "audit";
  bool const has_findings =
      is_audit || recorded.command == "run" || recorded.command == "enumerate";
  if (query && !has_findings) refuse_top(dir, "of `fairlane " + recorded.command + "`");
  std::optional<Json> top;
  if (query) top = top_findings(dir, recorded, recorded_domain(recorded), *query);
  if (top && as_json) {
    print(dump(*top));
    return;
  }
  std::string const summary_path = (path / (is_comparison ? "compare.json"
                                            : is_estimate ? "estimate.json"
                                            : is_audit    ? "audit.json"
                                                          : "summary.json"))
                                       .string();
  std::string const summary = read_file(summary_path, kMaxSummaryBytes);
  std::optional<Domain> domain;
  try {
    domain = recorded_domain(recorded);
  } catch (Error const&) {
    // Numbers stay codes; where people are to be shown it is said below.
  }
  std::string const shown = is_comparison ? compare_text(summary, summary_path)
                            : is_estimate ? recorded_estimate(summary, summary_path)
                            : is_audit
                                ? audit_text(summary, summary_path)
                                : summary_text(summary, summary_path, domain ? &*domain : nullptr);
  if (as_json) {
    print(summary);
    return;
  }
  Facts facts;
  facts.add("results", escaped(dir, dir.size()));
  facts.add("finished", finished ? "yes" : "no");
  std::string findings;
  try {
    if (top) {
      findings = top_text(*top);
    } else if (recorded.command == "verify") {
      findings = verified_cells_text(dir, recorded, recorded_domain(recorded));
    } else if (!is_comparison && !is_estimate && !is_audit) {
      findings = findings_text(dir, recorded);
    }
  } catch (Error const& error) {
    if (error.code() == ExitCode::kData) throw;
    // The inputs of an old run may be gone; its summary is still worth showing.
    console.warn(fmt::format("the findings cannot be shown: {}", error.what()));
  }
  print(facts.text() + "\n" + shown + findings);
}

bool has_suffix(std::string const& path, std::string const& suffix) {
  return path.size() >= suffix.size() &&
         path.compare(path.size() - suffix.size(), suffix.size(), suffix) == 0;
}

ExitCode inspect(InspectArguments const& arguments) {
  Console const console(arguments.console);
  bool const as_json = arguments.console.json;
  std::error_code ec;
  std::optional<TopQuery> const query = top_query(arguments);
  bool const is_directory = std::filesystem::is_directory(arguments.path, ec);
  if (query && !is_directory && is_there(arguments.path))
    refuse_top(arguments.path, "no output directory");
  bool const is_table = !is_directory && has_suffix(arguments.path, ".csv");
  if (!arguments.domain.empty() && !is_table && !runs_code(arguments.path)) {
    throw usage_error(
        fmt::format("inspect: DOMAIN is {}, but {} is no .csv table, nor a model that needs one",
                    in_quotes(arguments.domain), in_quotes(arguments.path)));
  }
  if (is_directory) {
    inspect_results(arguments.path, console, query, as_json);
  } else if (is_yaml(arguments.path)) {
    throw usage_error(
        fmt::format("inspect: PATH is {}, expected a model, a .csv table or an output "
                    "directory; a domain file is shown with its table: fairlane "
                    "inspect TABLE.csv DOMAIN",
                    in_quotes(arguments.path)));
  } else if (!is_table) {
    inspect_model(arguments, as_json);
  } else if (arguments.domain.empty()) {
    inspect_table(arguments.path, as_json);
  } else {
    inspect_dataset(arguments.path, arguments.domain, as_json);
  }
  return ExitCode::kOk;
}

}  // namespace

Action add_inspect(Arguments& app) {
  auto const arguments = std::make_shared<InspectArguments>();
  app.add_option("PATH", arguments->path, "a model, a .csv table or an output directory")
      ->required()
      ->type_name("");
  app.add_option("DOMAIN", arguments->domain,
                 "the domain file of the table, or of a model that runs code")
      ->type_name("");
  app.add_option("--top", arguments->top,
                 "show N findings of a directory, one of each profile (default with --sort: 5)")
      ->type_name("N");
  app.add_option("--sort", arguments->sort,
                 "which: `file`, as the files have them; `severity`, those with the widest "
                 "difference between the scores of the pair that the file has, of an audit the "
                 "most severe ones; `plausibility`, the most ordinary people beside the table; "
                 "`diversity`, wide pairs, plausible and different from each other")
      ->type_name("file|severity|plausibility|diversity");
  arguments->loading.add_to(app);
  arguments->console.add_to(app);
  return [arguments] { return inspect(*arguments); };
}

}  // namespace fairlane
