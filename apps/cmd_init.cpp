// fairlane init MODEL DATA: a domain file and a configuration that can be run at once.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/commands.h"
#include "apps/config_options.h"
#include "apps/config_yaml.h"
#include "apps/console.h"
#include "apps/files.h"
#include "apps/init_table.h"
#include "engine/method.h"
#include "engine/subject.h"
#include "models/text.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kClusters = 4;

struct InitArguments {
  std::string model;
  std::string data;
  std::string out;
  std::string domain;
  std::string label;
  std::string protected_names;
  bool standardise = false;
  ModelFlags loading;
  bool force = false;
  ConsoleOptions console;
};

std::vector<std::string> split_names(std::string const& text) {
  std::vector<std::string> names;
  if (text.empty()) return names;
  std::size_t begin = 0;
  while (true) {
    std::size_t const comma = text.find(',', begin);
    std::string const name = text.substr(begin, comma - begin);
    if (name.empty()) {
      throw Error(
          ExitCode::kUsage,
          fmt::format("--protected is {}, expected names such as age,race", in_quotes(text)));
    }
    names.push_back(name);
    if (comma == std::string::npos) return names;
    begin = comma + 1;
  }
}

std::string name_list(std::vector<std::string> const& names) {
  std::string text;
  for (std::string const& name : names) text += (text.empty() ? "" : ", ") + yaml_text(name);
  return text;
}

/// `text` with a comment at a fixed column.
std::string commented(std::string const& text, std::string const& comment) {
  constexpr std::size_t kColumn = 35;
  return fmt::format("{:<{}} # {}\n", text, kColumn - 1, comment);
}

std::string domain_text(DrawnDomain const& drawn, InitArguments const& arguments) {
  std::string text = fmt::format(
      "# The inputs of {} in its order, drawn by `fairlane init` from {}.\n"
      "# low and high are the least and greatest codes of the table: widen them where people can "
      "lie outside.\n",
      escaped(fs::path(arguments.model).filename().string()),
      escaped(fs::path(arguments.data).filename().string()));
  text += drawn.guessed
              ? "# protected was guessed from the names: correct it, one `protected: true` each.\n"
              : "# protected is what the command line named, one `protected: true` each.\n";
  if (!drawn.encoded.empty()) {
    text +=
        "# categories name the codes low, low + 1, ... They are in alphabetical order: put them in "
        "the order that the\n# network was trained with.\n";
  }
  if (drawn.domain.encodes()) {
    text +=
        "# The network's inputs are those of these lines, one after the other: move the lines "
        "where "
        "its order differs.\n";
  }
  if (drawn.text_inputs != TextInputs::kCodes) {
    text +=
        "# one-hot is an input per category, {drop: first} without the first one's; pandas and "
        "scikit-learn often put columns\n# of text behind the others.\n";
  }
  if (!drawn.standardised.empty()) {
    text +=
        "# affine is (code - mean) / std, here of the whole table: put in those of the rows that "
        "the model was trained on.\n";
  }
  if (!drawn.sparse.empty()) {
    text +=
        "# These attributes have only these codes in the table. Where others cannot occur, write "
        "`values: [...]` instead of low\n# and high:\n";
    for (std::string const& codes : drawn.sparse) text += "#   " + codes + "\n";
  }
  return text + format_domain_yaml(drawn.domain);
}

std::string config_text(DrawnDomain const& drawn, InitArguments const& arguments,
                        Table const& table, Model const& model) {
  std::string const base = fs::path(arguments.out).parent_path().string();
  std::string const stem = fs::path(arguments.out).stem().string();
  std::string method_names;
  for (MethodSpec const& method : methods()) {
    method_names += (method_names.empty() ? "" : ", ") + std::string(method.name);
  }
  std::string text =
      "# Written by `fairlane init`; `fairlane run` with this file starts the search. Paths are "
      "relative to this file.\n";
  bool const is_file = !is_command(arguments.model);
  text += "model: " + yaml_text(is_file ? relative_path(arguments.model, base) : arguments.model) +
          "\n";
  text += "data: " + yaml_text(relative_path(arguments.data, base)) + "\n";
  text += commented("domain: " + yaml_text(relative_path(arguments.domain, base)),
                    "ranges of the attributes; check it");
  text += commented(fmt::format("protected: [{}]", name_list(drawn.tested)),
                    "one attribute, or several tested together");
  if (drawn.tested.size() < drawn.protected_names.size()) {
    text += fmt::format("# also flagged: {}; together they make many combinations\n",
                        name_list(drawn.protected_names));
  }
  text += "# protected: [{race: [0, 4]}] compares these codes alone\n";
  text += commented("out_of_domain: error", "rows outside the domain: error, drop or clip");
  if (model.outputs() == 1) text += commented("threshold: 0.5", "1 is decided above it");
  // A model whose inside is unknown has no gradients but differences.
  text += commented(model.scorer() ? "method: maft" : "method: eidig", "one of " + method_names);
  text += commented("seed: 42", "another seed, another search");
  text += commented(fmt::format("global: {{num: 1000, clusters: {}, max_iter: 10}}",
                                std::min(kClusters, table.count)),
                    "num: rows to start from");
  text += commented("local: {num: 1000}", "steps around each first finding; 0 leaves them out");
  text += commented("budget: {seconds: null}", "stop after so many seconds");
  text += commented(fmt::format("output: {{dir: {}, format: csv}}", yaml_text("results/" + stem)),
                    "format: csv, npy or none");
  return text;
}

/// Share of the rows whose label the model gives, or nothing without labels.
std::optional<double> agreement(TestSubject const& subject) {
  Dataset const* const data = subject.data();
  if (data == nullptr || data->labels.empty()) return std::nullopt;
  Execution execution;
  execution.backend = "cpu";  // a few rows do not pay for waking a GPU
  auto const backend = make_backend(subject, execution, 0, VisitSink());
  auto const outputs = static_cast<std::size_t>(subject.model().outputs());
  auto const count = static_cast<std::size_t>(data->count());
  std::vector<float> logits(count * outputs);
  backend->logits(data->rows.data(), count, logits.data());
  std::size_t agreed = 0;
  for (std::size_t i = 0; i < count; ++i) {
    float const* const row = logits.data() + i * outputs;
    auto const label = outputs == 1
                           ? static_cast<std::int32_t>(row[0] > subject.view().cut)
                           : static_cast<std::int32_t>(std::max_element(row, row + outputs) - row);
    agreed += label == data->labels[i] ? 1 : 0;
  }
  return static_cast<double>(agreed) / static_cast<double>(count);
}

/// What was assumed so that the table gives the model's inputs.
std::string one_hot_notice(DrawnDomain const& drawn, int inputs) {
  char const* const which = drawn.text_inputs == TextInputs::kOneHot ? "with every category"
                            : drawn.text_inputs == TextInputs::kOneHotIfBinary
                                ? "without the first of two categories"
                                : "without each first category";
  return fmt::format(
      "columns of text ({}) are one-hot {}, which gives the model's {} inputs; {}, and the order "
      "of inputs is the table's: correct the domain file where the model differs",
      name_list(drawn.encoded), which, inputs,
      drawn.standardised.empty()
          ? "numbers enter as they are (--standardise: by the table's mean and std)"
          : "numbers enter by the table's mean and std");
}

void refuse_existing(std::string const& path) {
  std::error_code ec;
  if (!fs::exists(fs::symlink_status(path, ec))) return;
  throw Error(ExitCode::kOutput,
              fmt::format("{}: exists already; --force replaces it", escaped(path, path.size())));
}

ExitCode init(InitArguments arguments) {
  Console const console(arguments.console);
  std::string const stem = fs::path(arguments.data).stem().string();
  if (arguments.out.empty()) arguments.out = stem + ".yaml";
  if (arguments.domain.empty()) {
    arguments.domain = fs::path(arguments.out).replace_extension(".domain.yaml").string();
  }
  if (relative_path(arguments.domain, "") == relative_path(arguments.out, "")) {
    throw Error(ExitCode::kUsage, fmt::format("--domain and --out are both {}, expected two files",
                                              in_quotes(arguments.out)));
  }
  if (!arguments.force) {
    refuse_existing(arguments.out);
    refuse_existing(arguments.domain);
  }
  Table const table = describe_csv(arguments.data);
  // All named columns but the label's; draw_domain compares.
  auto const named = std::count_if(table.columns.begin(), table.columns.end(),
                                   [](TableColumn const& column) { return !column.name.empty(); });
  auto const inputs = static_cast<int>(named) - 1;
  Model const model = load_model(arguments.model, inputs, arguments.loading.options());
  DrawnDomain const drawn =
      draw_domain(table, model,
                  {arguments.label, split_names(arguments.protected_names), arguments.standardise});
  std::optional<double> agreed;
  try {
    write_text_file(arguments.domain, domain_text(drawn, arguments));
    write_text_file(arguments.out, config_text(drawn, arguments, table, model));
    // What was written must run: read it back as `run` does.
    agreed =
        agreement(TestSubject(read_run_config(arguments.out, {}), arguments.loading.options()));
  } catch (...) {
    std::error_code ec;
    fs::remove(arguments.domain, ec);
    fs::remove(arguments.out, ec);
    throw;
  }
  if (drawn.guessed) {
    console.info(
        fmt::format("protected attributes were guessed from their names: {}; --protected a,b "
                    "names others",
                    name_list(drawn.protected_names)));
  }
  if (!drawn.other_label.empty()) {
    console.warn(
        fmt::format("all columns are taken as attributes; with --label {} the columns of text, "
                    "one-hot, give as many inputs",
                    yaml_text(drawn.other_label)));
  }
  if (drawn.text_inputs != TextInputs::kCodes) {
    console.warn(one_hot_notice(drawn, model.inputs()));
  } else if (!drawn.encoded.empty()) {
    console.warn(
        fmt::format("columns of text ({}) were given codes in alphabetical order; the model "
                    "must have been trained with the same",
                    name_list(drawn.encoded)));
  }
  if (arguments.console.json) {
    nlohmann::ordered_json json = {{"config", arguments.out},
                                   {"domain", arguments.domain},
                                   {"attributes", drawn.domain.size()},
                                   {"inputs", model.inputs()},
                                   {"label", nullptr},
                                   {"protected", drawn.protected_names},
                                   {"guessed", drawn.guessed},
                                   {"agreement", nullptr}};
    if (drawn.has_label) json["label"] = drawn.domain.label;
    if (agreed) json["agreement"] = *agreed;
    print(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
    return ExitCode::kOk;
  }
  Facts facts;
  facts.add("configuration", escaped(arguments.out, arguments.out.size()));
  facts.add("domain", escaped(arguments.domain, arguments.domain.size()));
  facts.add("attributes", fmt::format("{}{}, label {}", drawn.domain.size(),
                                      drawn.domain.size() == model.inputs()
                                          ? ""
                                          : fmt::format(" as {} inputs", model.inputs()),
                                      drawn.has_label ? in_quotes(drawn.domain.label) : "absent"));
  facts.add("protected",
            name_list(drawn.protected_names) + (drawn.guessed ? "  (guessed from the names)" : ""));
  if (agreed) {
    facts.add("agreement", fmt::format("the model gives the table's label for {} of {} rows",
                                       percent(*agreed), with_commas(table.count)));
  }
  print(facts.text());
  print(
      fmt::format("\nIf the agreement is lower than the model's accuracy, the columns are encoded "
                  "differently.\nNext: fairlane run {}\n",
                  arguments.out));
  return ExitCode::kOk;
}

}  // namespace

Action add_init(CLI::App& app) {
  auto const arguments = std::make_shared<InitArguments>();
  app.add_option("MODEL", arguments->model,
                 "the model: a network (.h5, .safetensors) or exec:COMMAND")
      ->required()
      ->type_name("");
  app.add_option("DATA", arguments->data, "the table (.csv), encoded as the model takes it")
      ->required()
      ->type_name("");
  app.add_option("--out", arguments->out, "configuration to write (default: DATA's name, .yaml)")
      ->type_name("FILE");
  app.add_option("--domain", arguments->domain, "domain file to write (default: beside --out)")
      ->type_name("FILE");
  app.add_option("--label", arguments->label, "the label column (default: the last one)")
      ->type_name("NAME");
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
