// fairlane init MODEL DATA: a domain file and a configuration that can be run at once; init TABLE: a
// domain file for `prepare`.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "apps/arguments.h"
#include "apps/commands/commands.h"
#include "apps/commands/config_options.h"
#include "apps/commands/init_table.h"
#include "apps/console.h"
#include "apps/files.h"
#include "apps/init/column_list.h"
#include "apps/init/init_proposal.h"
#include "apps/init/written_files.h"
#include "base/formats/json.h"
#include "base/text.h"

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
  std::vector<std::string> drop;  // as given, each a list
  std::vector<std::string> protected_names;
  bool standardise = false;
  bool constraints = false;
  ModelFlags loading;
  bool force = false;
  ConsoleOptions console;
};

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

void print_json(InitArguments const& arguments, InitProposal const& proposal) {
  Domain const& domain = proposal.way.domain;
  Json json = {{"config", arguments.out},
               {"configs", Json::array()},
               {"domain", arguments.domain},
               {"attributes", domain.size()},
               {"inputs", proposal.inputs},
               {"named", proposal.drawn.named},
               {"label", nullptr},
               {"protected", proposal.columns.names},
               {"guessed", proposal.columns.guessed},
               {"encoding", proposal.way.text},
               {"tried", Json::array()},
               {"agreement", nullptr},
               {"majority", nullptr},
               {"next", next_step(arguments)}};
  for (InitConfig const& config : proposal.configs)
    json["configs"].push_back({{"path", config.path}, {"protected", config.tested}});
  if (proposal.drawn.has_label) json["label"] = domain.label;
  for (std::size_t i = 0; proposal.trials && i < proposal.drawn.ways.size(); ++i) {
    json["tried"].push_back(
        {{"encoding", proposal.drawn.ways[i].text}, {"agreement", proposal.trials->agreement[i]}});
  }
  if (proposal.agreed) {
    json["agreement"] = proposal.agreed->share();
    json["majority"] = proposal.agreed->majority_share();
  }
  print(json.dump(2) + "\n");
}

void print_facts(InitArguments const& arguments, InitProposal const& proposal) {
  Domain const& domain = proposal.way.domain;
  ProtectedColumns const& columns = proposal.columns;
  Facts facts;
  for (InitConfig const& config : proposal.configs) {
    facts.add(&config == proposal.configs.data() ? "configuration" : "",
              escaped(config.path, config.path.size()) +
                  (proposal.configs.size() > 1 ? ": " + yaml_list(config.tested) : ""));
  }
  facts.add("domain", escaped(arguments.domain, arguments.domain.size()));
  facts.add(
      "attributes",
      fmt::format(
          "{}{}, label {}", domain.size(),
          domain.columns() == domain.size() ? "" : fmt::format(" as {} inputs", proposal.inputs),
          proposal.drawn.has_label ? in_quotes(domain.label) : "absent"));
  facts.add("inputs", proposal.way.text);
  facts.add("protected",
            yaml_list(columns.names) + (columns.guessed ? "  (guessed from the names)" : ""));
  if (auto const& agreed = proposal.agreed) {
    facts.add("agreement", fmt::format("the model gives the table's label for {} of {} rows; "
                                       "its most frequent label has {}",
                                       percent(agreed->share()), with_commas(proposal.rows),
                                       percent(agreed->majority_share())));
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
      {arguments.model, arguments.domain, arguments.label, parse_columns("--drop", arguments.drop),
       parse_columns("--protected", arguments.protected_names), arguments.constraints,
       arguments.force, arguments.console.json},
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
  InitProposal const proposal = propose_files(
      {{arguments.model, arguments.data, arguments.domain},
       arguments.out,
       {arguments.label, parse_columns("--drop", arguments.drop), arguments.standardise},
       parse_columns("--protected", arguments.protected_names),
       arguments.loading.options(),
       arguments.constraints});
  if (!arguments.force) {
    for (InitConfig const& config : proposal.configs) refuse_existing(config.path);
  }
  NewFolders folders;
  for (std::string const& path : {arguments.out, arguments.domain}) {
    refuse_no_file(path);
    folders.create_for(path);
  }
  write_files(proposal.files);
  folders.keep();
  for (InitNote const& note : proposal.notes) console.tell(note.text, note.is_warning);
  if (arguments.console.json) {
    print_json(arguments, proposal);
  } else {
    print_facts(arguments, proposal);
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
      ->type_name("A,B")
      ->one_at_a_time();
  app.add_option("--protected", arguments->protected_names,
                 "protected attributes (default: recognised by name)")
      ->type_name("A,B")
      ->one_at_a_time();
  app.add_flag("--standardise", arguments->standardise,
               "columns of integers enter as (code - mean) / std, of the table");
  app.add_flag("--constraints", arguments->constraints,
               "propose constraints that hold in the table, as comments in the domain file");
  arguments->loading.add_to(app);
  app.add_flag("--force", arguments->force, "replace existing files");
  arguments->console.add_to(app);
  return [arguments] { return init(*arguments); };
}

}  // namespace fairlane
