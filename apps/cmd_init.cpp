// fairlane init MODEL DATA: a domain file and a configuration that can be run at once; init TABLE: a
// domain file for `prepare`.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>

#include "apps/arguments.h"
#include "apps/commands.h"
#include "apps/config_options.h"
#include "apps/console.h"
#include "apps/files.h"
#include "apps/init/draw_domain.h"
#include "apps/init/input_trials.h"
#include "apps/init/protected_columns.h"
#include "apps/init/written_files.h"
#include "apps/init_table.h"
#include "base/json.h"
#include "base/text.h"
#include "engine/config/config_yaml.h"
#include "engine/subject/row_labels.h"
#include "engine/subject/subject.h"
#include "models/data/csv.h"
#include "models/data/domain_yaml.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;

/// What the name of a table ends with, of tables without a model.
constexpr std::string_view kTableExtensions[] = {".csv", ".tsv", ".data", ".dat", ".test"};

struct InitArguments {
  std::string model;
  std::string data;
  std::string out;
  std::string domain;
  std::string label;
  std::string drop;
  std::string protected_names;
  bool standardise = false;
  ModelFlags loading;
  bool force = false;
  ConsoleOptions console;
};

std::vector<std::string> split_names(char const* option, std::string const& text) {
  std::vector<std::string> names;
  if (text.empty()) return names;
  std::size_t begin = 0;
  while (true) {
    std::size_t const comma = text.find(',', begin);
    std::string const name = text.substr(begin, comma - begin);
    if (name.empty()) {
      throw usage_error(
          fmt::format("{} is {}, expected names such as age,race", option, in_quotes(text)));
    }
    names.push_back(name);
    if (comma == std::string::npos) return names;
    begin = comma + 1;
  }
}

/// Share of the rows whose label the model gives, or nothing without labels.
std::optional<double> agreement(TestSubject const& subject) {
  Execution execution;
  execution.backend = "cpu";  // a few rows do not pay for waking a GPU
  auto const backend = make_backend(subject, execution, 0, VisitSink());
  auto const agreed = label_agreement(subject, *backend);
  return agreed ? std::optional(agreed->share()) : std::nullopt;
}

/// Share of the rows with the most frequent label: what a model that always gives it would agree
/// with.
double majority_share(std::vector<std::int32_t> const& labels) {
  std::map<std::int32_t, std::size_t> counts;
  std::size_t most = 0;
  for (std::int32_t const label : labels) most = std::max(most, ++counts[label]);
  return static_cast<double>(most) / static_cast<double>(labels.size());
}

/// "84.9 % text one-hot behind the numbers; 76.1 % ...": the ways that were tried, best first.
std::string trials_text(DrawnDomain const& drawn, InputTrials const& trials) {
  constexpr std::size_t kShown = 3;
  std::vector<std::size_t> order(drawn.ways.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(),
                           [&](std::size_t way) { return trials.agreement[way]; });
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, order.size()); ++i) {
    text += fmt::format("{}{} with {}", i == 0 ? "" : "; ", percent(trials.agreement[order[i]]),
                        drawn.ways[order[i]].text);
  }
  return text + (order.size() > kShown ? "; ..." : "");
}

/// What was found about the inputs, and what was only assumed.
struct Chosen {
  InputWay way;
  std::optional<InputTrials> trials;
};

Chosen choose_way(DrawnDomain const& drawn, Model const& model, std::string const& data) {
  Chosen chosen{drawn.ways.front(), std::nullopt};
  if (!drawn.has_label || drawn.ways.size() == 1) return chosen;
  chosen.trials = try_ways(model, read_csv(data, drawn.ways.front().domain), drawn.ways);
  chosen.way = drawn.ways[chosen.trials->best];
  return chosen;
}

void tell_inputs(Console const& console, DrawnDomain const& drawn, Chosen const& chosen,
                 Model const& model) {
  if (!drawn.has_label && drawn.other_label.empty()) {
    console.info(
        fmt::format("no column is left for labels: all {} are attributes; whether the model agrees "
                    "with the table is not known",
                    chosen.way.domain.size()));
  }
  if (!drawn.unnamed.empty()) {
    console.warn(
        fmt::format("the model names its inputs, but {}; the names were not used", drawn.unnamed));
  }
  if (!drawn.left_out.empty()) {
    console.info(fmt::format("columns that the model does not name are left out: {}",
                             yaml_list(drawn.left_out)));
  }
  if (!drawn.other_label.empty()) {
    console.warn(
        fmt::format("all columns are taken as attributes; with --label {} the columns of text, "
                    "one-hot, give as many inputs",
                    yaml_text(drawn.other_label)));
  }
  if (chosen.trials) {
    console.info(fmt::format(
        "{} ways of giving the table to the model were tried on {} rows; "
        "they agree with its labels in {}",
        drawn.ways.size(), with_commas(chosen.trials->rows), trials_text(drawn, *chosen.trials)));
  }
  if (drawn.text_inputs == TextInputs::kCodes) {
    if (!drawn.encoded.empty() && !drawn.named) {
      console.warn(
          fmt::format("columns of text ({}) were given codes in alphabetical order; the model "
                      "must have been trained with the same{}",
                      yaml_list(drawn.encoded),
                      is_command(model.source()) ? ", or turn them into words itself "
                                                   "(fairlane_adapter.py --domain FILE)"
                                                 : ""));
    }
  } else if (!chosen.trials) {
    console.warn(
        fmt::format("columns of text ({}) are one-hot, which gives the model's {} inputs, "
                    "and nothing tells their order and scale, which are taken as: {}; "
                    "correct the domain file where the model differs (--standardise: "
                    "numbers by the table's mean and std)",
                    yaml_list(drawn.encoded), model.inputs(), chosen.way.text));
  }
}

/// What is read must not be written over, --force or not.
void refuse_inputs(InitArguments const& arguments) {
  auto const check = [](char const* flag, std::string const& path, char const* what,
                        std::string const& input) {
    std::error_code ec;
    if (!fs::equivalent(path, input, ec)) return;
    throw usage_error(fmt::format("{} is {}, which is {} itself, expected another file", flag,
                                  in_quotes(path), what));
  };
  for (auto const& [what, input] :
       {std::pair("MODEL", arguments.model), std::pair("DATA", arguments.data)}) {
    check("--out", arguments.out, what, input);
    check("--domain", arguments.domain, what, input);
  }
}

void refuse_existing(std::string const& path) {
  std::error_code ec;
  if (!fs::exists(fs::symlink_status(path, ec))) return;
  throw Error(ExitCode::kOutput,
              fmt::format("{}: exists already; --force replaces it", escaped(path, path.size())));
}

/// How the table's labels and the model go together, over all rows.
struct Agreement {
  double share = 0.0;     // of rows whose label the model gives
  double majority = 0.0;  // of the most frequent label
};

/// What is to be written must run: it is read as `run` does, before it replaces anything.
std::optional<Agreement> try_files(InitArguments const& arguments, std::string const& config,
                                   std::string const& domain) {
  std::string const base = fs::path(arguments.out).parent_path().string();
  TestSubject const subject(parse_run_config(config, arguments.out, base, {}),
                            arguments.loading.options(),
                            parse_domain_yaml(domain, arguments.domain));
  auto const share = agreement(subject);
  if (!share) return std::nullopt;
  return Agreement{*share, majority_share(subject.data()->labels)};
}

/// The command that runs a configuration, as a shell takes it.
std::string next_step(InitArguments const& arguments) {
  std::string text = "fairlane run ";
  // A path that looks like an option is none behind "./".
  text += shell_word(arguments.out[0] == '-' ? "./" + arguments.out : arguments.out);
  if (runs_code(arguments.model)) text += " --allow-exec";
  if (!arguments.loading.exec_children.empty())
    text += " --exec-children " + shell_word(arguments.loading.exec_children);
  if (!arguments.loading.exec_timeout.empty())
    text += " --exec-timeout " + shell_word(arguments.loading.exec_timeout);
  return text;
}

void print_json(InitArguments const& arguments, DrawnDomain const& drawn, Chosen const& chosen,
                Model const& model, ProtectedColumns const& columns,
                std::vector<InitConfig> const& configs, std::optional<Agreement> const& agreed) {
  Domain const& domain = chosen.way.domain;
  Json json = {{"config", arguments.out},    {"configs", Json::array()},
               {"domain", arguments.domain}, {"attributes", domain.size()},
               {"inputs", model.inputs()},   {"named", drawn.named},
               {"label", nullptr},           {"protected", columns.names},
               {"guessed", columns.guessed}, {"encoding", chosen.way.text},
               {"tried", Json::array()},     {"agreement", nullptr},
               {"majority", nullptr},        {"next", next_step(arguments)}};
  for (InitConfig const& config : configs)
    json["configs"].push_back({{"path", config.path}, {"protected", config.tested}});
  if (drawn.has_label) json["label"] = domain.label;
  for (std::size_t i = 0; chosen.trials && i < drawn.ways.size(); ++i) {
    json["tried"].push_back(
        {{"encoding", drawn.ways[i].text}, {"agreement", chosen.trials->agreement[i]}});
  }
  if (agreed) {
    json["agreement"] = agreed->share;
    json["majority"] = agreed->majority;
  }
  print(json.dump(2) + "\n");
}

void print_facts(InitArguments const& arguments, DrawnDomain const& drawn, Chosen const& chosen,
                 Model const& model, ProtectedColumns const& columns,
                 std::vector<InitConfig> const& configs, std::optional<Agreement> const& agreed,
                 std::int64_t rows) {
  Domain const& domain = chosen.way.domain;
  Facts facts;
  for (InitConfig const& config : configs) {
    facts.add(&config == configs.data() ? "configuration" : "",
              escaped(config.path, config.path.size()) +
                  (configs.size() > 1 ? ": " + yaml_list(config.tested) : ""));
  }
  facts.add("domain", escaped(arguments.domain, arguments.domain.size()));
  facts.add("attributes", fmt::format("{}{}, label {}", domain.size(),
                                      domain.columns() == domain.size()
                                          ? ""
                                          : fmt::format(" as {} inputs", model.inputs()),
                                      drawn.has_label ? in_quotes(domain.label) : "absent"));
  facts.add("inputs", chosen.way.text);
  facts.add("protected",
            yaml_list(columns.names) + (columns.guessed ? "  (guessed from the names)" : ""));
  if (agreed) {
    facts.add("agreement",
              fmt::format("the model gives the table's label for {} of {} rows; "
                          "its most frequent label has {}",
                          percent(agreed->share), with_commas(rows), percent(agreed->majority)));
  }
  print(facts.text());
  print(
      fmt::format("\nIf the agreement is lower than the model's accuracy, the columns are encoded "
                  "differently.\nNext: {}\n",
                  next_step(arguments)));
}

/// A raw table alone, where MODEL stands otherwise.
ExitCode init_alone(InitArguments const& arguments, Console const& console) {
  std::string const extension = lower_extension(arguments.model);
  bool const is_table = std::ranges::count(kTableExtensions, extension) > 0;
  if (is_command(arguments.model) || !is_table) {
    throw usage_error(
        fmt::format("DATA is missing, expected the table behind MODEL ({}), or a raw "
                    "table ({}) alone",
                    in_quotes(arguments.model), fmt::join(kTableExtensions, " ")));
  }
  if (!arguments.out.empty() || arguments.standardise) {
    throw usage_error(
        fmt::format("{} needs a model, expected init MODEL DATA; --domain names the "
                    "file that is written for a table",
                    arguments.out.empty() ? "--standardise" : "--out"));
  }
  return init_table(
      {arguments.model, arguments.domain, arguments.label, split_names("--drop", arguments.drop),
       split_names("--protected", arguments.protected_names), arguments.force,
       arguments.console.json},
      console);
}

ExitCode init(InitArguments arguments) {
  Console const console(arguments.console);
  if (arguments.data.empty()) return init_alone(arguments, console);
  std::string const stem = fs::path(arguments.data).stem().string();
  if (arguments.out.empty()) arguments.out = stem + ".yaml";
  if (arguments.domain.empty()) {
    arguments.domain = fs::path(arguments.out).replace_extension(".domain.yaml").string();
  }
  if (relative_path(arguments.domain, "") == relative_path(arguments.out, "")) {
    throw usage_error(fmt::format("--domain and --out are both {}, expected two files",
                                  in_quotes(arguments.out)));
  }
  if (lower_extension(arguments.model) == ".csv") {
    throw usage_error(
        fmt::format("MODEL is {}, which is a table, expected the model first and the "
                    "table behind it",
                    in_quotes(arguments.model)));
  }
  refuse_inputs(arguments);
  if (!arguments.force) {
    refuse_existing(arguments.out);
    refuse_existing(arguments.domain);
  }
  Table const table = describe_csv(arguments.data);
  auto const dropped = split_names("--drop", arguments.drop);
  // All kept columns but the label's; draw_domain compares.
  auto const inputs = static_cast<int>(kept_columns(table, dropped).size()) - 1;
  Model const model = load_model(arguments.model, inputs, arguments.loading.options());
  DrawnDomain const drawn =
      draw_domain(table, model, {arguments.label, dropped, arguments.standardise});
  Chosen chosen = choose_way(drawn, model, arguments.data);
  Domain& domain = chosen.way.domain;
  ProtectedColumns const columns =
      flag_protected(table.source, split_names("--protected", arguments.protected_names), domain);
  InitPaths const paths{arguments.model, arguments.data, arguments.domain};
  std::vector<InitConfig> const configs = init_configs(arguments.out, columns, domain);
  if (!arguments.force) {
    for (InitConfig const& config : configs) refuse_existing(config.path);
  }
  NewFolders folders;
  for (std::string const& path : {arguments.out, arguments.domain}) {
    refuse_no_file(path);
    folders.create_for(path);
  }
  std::vector<NewFile> files = {{arguments.domain, domain_text(drawn, domain, columns, paths)}};
  for (InitConfig const& config : configs)
    files.push_back({config.path, config_text(config, columns, paths, model, table.count)});
  std::optional<Agreement> const agreed = try_files(arguments, files[1].text, files[0].text);
  write_files(files);
  folders.keep();
  if (columns.guessed) {
    console.info(
        fmt::format("protected attributes were guessed from their names: {}; --protected a,b "
                    "names others",
                    yaml_list(columns.names)));
  }
  tell_inputs(console, drawn, chosen, model);
  if (agreed && agreed->share < agreed->majority) {
    console.warn(fmt::format(
        "the model gives the table's label for {} of the rows, less than the {} of always "
        "answering its most frequent one; the columns are probably ordered or encoded otherwise "
        "than in its training{}",
        percent(agreed->share), percent(agreed->majority),
        domain.labels.empty() ? "" : ", or `labels` in the domain file are swapped"));
  }
  if (arguments.console.json) {
    print_json(arguments, drawn, chosen, model, columns, configs, agreed);
  } else {
    print_facts(arguments, drawn, chosen, model, columns, configs, agreed, table.count);
  }
  return ExitCode::kOk;
}

}  // namespace

Action add_init(Arguments& app) {
  auto const arguments = std::make_shared<InitArguments>();
  app.add_option("MODEL", arguments->model,
                 "the model: a file (network, trees) or exec:COMMAND; or a raw table alone")
      ->required()
      ->type_name("");
  app.add_option("DATA", arguments->data, "the table (.csv) that the model was trained on")
      ->type_name("");
  app.add_option("--out", arguments->out, "configuration to write (default: DATA's name, .yaml)")
      ->type_name("FILE");
  app.add_option("--domain", arguments->domain, "domain file to write (default: beside --out)")
      ->type_name("FILE");
  app.add_option("--label", arguments->label, "the label column (default: the last one)")
      ->type_name("NAME");
  app.add_option("--drop", arguments->drop, "columns that are no inputs of the model")
      ->type_name("A,B");
  app.add_option("--protected", arguments->protected_names,
                 "protected attributes (default: recognised by name)")
      ->type_name("A,B");
  app.add_flag("--standardise", arguments->standardise,
               "columns of integers enter as (code - mean) / std, of the table");
  arguments->loading.add_to(app);
  app.add_flag("--force", arguments->force, "replace existing files");
  arguments->console.add_to(app);
  return [arguments] { return init(*arguments); };
}

}  // namespace fairlane
