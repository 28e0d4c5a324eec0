// fairlane prepare TABLE --domain D.yaml: a raw table as codes, and codes back in words.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "apps/arguments.h"
#include "apps/commands/commands.h"
#include "apps/commands/decoded_results.h"
#include "apps/console.h"
#include "apps/files.h"
#include "base/formats/json.h"
#include "base/text.h"
#include "models/data/csv_scanner.h"
#include "models/data/decode_table.h"
#include "models/data/domain_yaml.h"
#include "models/data/encode_table.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;

struct PrepareArguments {
  std::string table;
  std::string domain;
  std::string out;
  bool decode = false;
  bool force = false;
  ConsoleOptions console;
};

/// Refuses a place that is taken, and one that is read.
void check_out(PrepareArguments const& arguments) {
  std::error_code ec;
  for (std::string const& input : {arguments.table, arguments.domain}) {
    if (input.empty() || !fs::equivalent(arguments.out, input, ec)) continue;
    throw usage_error(fmt::format("--out is {}, which is read itself, expected another file",
                                  in_quotes(arguments.out)));
  }
  if (arguments.force || !fs::exists(fs::symlink_status(arguments.out, ec))) return;
  throw Error(ExitCode::kOutput, fmt::format("{}: exists already; --force replaces it",
                                             escaped(arguments.out, arguments.out.size())));
}

ExitCode encode(PrepareArguments const& arguments, Console const& console) {
  Domain const domain = read_domain_yaml(arguments.domain);
  EncodedTable const table = encode_table(arguments.table, domain);
  write_text_file(arguments.out,
                  [&](TextSink const& sink) { format_table(domain, table.data, sink); });
  auto const attribute_of = [&](ImputedColumn const& one) -> Attribute const& {
    return domain.attributes[static_cast<std::size_t>(one.attribute)];
  };
  if (arguments.console.json) {
    Json json = {{"table", arguments.table},    {"domain", arguments.domain},
                 {"out", arguments.out},        {"rows", table.data.count()},
                 {"attributes", domain.size()}, {"label", nullptr},
                 {"imputed", Json::object()},   {"left_out", table.left_out}};
    if (!table.data.labels.empty()) json["label"] = domain.label;
    for (ImputedColumn const& one : table.imputed) {
      Attribute const& attribute = attribute_of(one);
      json["imputed"][attribute.name] = {
          {"cells", one.cells}, {"code", one.code}, {"word", attribute.word(one.code)}};
    }
    print(json.dump(2) + "\n");
    return ExitCode::kOk;
  }
  Facts facts;
  facts.add("rows", with_commas(table.data.count()));
  facts.add("attributes", fmt::format("{}, label {}", domain.size(),
                                      table.data.labels.empty() ? std::string("absent")
                                                                : in_quotes(domain.label)));
  for (ImputedColumn const& one : table.imputed) {
    Attribute const& attribute = attribute_of(one);
    facts.add(
        &one == table.imputed.data() ? "imputed" : "",
        fmt::format("{}: {} missing value{} by {}", escaped(attribute.name), with_commas(one.cells),
                    one.cells == 1 ? "" : "s", in_quotes(attribute.word(one.code))));
  }
  if (!table.left_out.empty()) {
    std::string names;
    for (std::string const& name : table.left_out)
      names += (names.empty() ? "" : ", ") + (name.empty() ? "''" : escaped(name));
    facts.add("left out", names);
  }
  facts.add("table", escaped(arguments.out, arguments.out.size()));
  print(facts.text());
  if (table.data.labels.empty())
    console.info(fmt::format("the table has no label column {}", in_quotes(domain.raw_label())));
  return ExitCode::kOk;
}

ExitCode decode(PrepareArguments const& arguments, Console const& console) {
  std::error_code ec;
  std::vector<std::string> files;
  if (fs::is_directory(arguments.table, ec)) {
    files = decode_results(arguments.table, arguments.domain, arguments.out, console);
  } else {
    Domain const domain = read_domain_yaml(arguments.domain);
    std::string const text = read_file(arguments.table, kMaxTableBytes);
    write_text_file(arguments.out, [&](TextSink const& sink) {
      decode_table(text, arguments.table, domain, sink);
    });
    files = {arguments.out};
  }
  if (arguments.console.json) {
    print(Json({{"decoded", arguments.table}, {"out", arguments.out}, {"files", files}}).dump(2) +
          "\n");
    return ExitCode::kOk;
  }
  Facts facts;
  for (std::string const& file : files)
    facts.add(&file == files.data() ? "in words" : "", escaped(file, file.size()));
  print(facts.text());
  return ExitCode::kOk;
}

ExitCode prepare(PrepareArguments arguments) {
  Console const console(arguments.console);
  std::error_code ec;
  bool const is_directory = fs::is_directory(arguments.table, ec);
  if (is_directory && !arguments.decode) {
    throw usage_error(
        fmt::format("TABLE is {}, which is a directory, expected a table; --decode "
                    "puts the results in it into words",
                    in_quotes(arguments.table)));
  }
  if (arguments.domain.empty() && !is_directory)
    throw usage_error("--domain is missing, expected the domain file of the table");
  if (arguments.out.empty()) {
    fs::path name = fs::path(arguments.table).lexically_normal();
    if (name.filename().empty()) name = name.parent_path();
    char const* const end = is_directory       ? ".words"
                            : arguments.decode ? ".words.csv"
                                               : ".codes.csv";
    arguments.out = (is_directory ? name : name.stem()).string() + end;
  }
  check_out(arguments);
  return arguments.decode ? decode(arguments, console) : encode(arguments, console);
}

}  // namespace

Action add_prepare(Arguments& app) {
  auto const arguments = std::make_shared<PrepareArguments>();
  app.add_option("TABLE", arguments->table,
                 "the raw table; with --decode a table of codes, or an output directory")
      ->required()
      ->type_name("");
  app.add_option("--domain", arguments->domain,
                 "the domain file; of an output directory unless given its own")
      ->type_name("FILE");
  app.add_option("--out", arguments->out,
                 "where it goes; unless given NAME.codes.csv, NAME.words.csv or DIR.words")
      ->type_name("FILE");
  app.add_flag("--decode", arguments->decode, "codes back into words");
  app.add_flag("--force", arguments->force, "replace what is there");
  arguments->console.add_to(app);
  return [arguments] { return prepare(*arguments); };
}

}  // namespace fairlane
