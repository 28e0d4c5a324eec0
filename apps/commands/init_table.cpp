#include "apps/commands/init_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "apps/console.h"
#include "apps/init/propose_constraints.h"
#include "apps/init/propose_domain.h"
#include "apps/init/protected_columns.h"
#include "apps/init/written_files.h"
#include "apps/text/words.h"
#include "base/files.h"
#include "base/formats/json.h"
#include "base/text.h"
#include "models/data/csv_scanner.h"
#include "models/data/domain_yaml.h"
#include "models/data/encode_table.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;

std::string shown_name(std::string const& name) { return name.empty() ? "''" : escaped(name); }

/// Flags the wanted attributes, or those with well-known names, if there are any.
ProtectedColumns flag(InitTableArguments const& arguments, Domain& domain, Console const& console) {
  bool const any = !arguments.protected_names.empty() ||
                   std::ranges::any_of(domain.attributes, [](Attribute const& attribute) {
                     return is_protected_name(attribute.name) && attribute.code_count() > 1;
                   });
  if (any) return flag_protected(arguments.table, arguments.protected_names, domain);
  console.warn(
      "no column is named like a protected attribute (age, sex, race, ...); name them with "
      "--protected a,b, or write `protected: true` into the domain file");
  return {};
}

std::string proposal_text(RawTable const& table, Domain const& domain, bool guessed) {
  std::string text = fmt::format(
      "# Proposed by `fairlane init` for {}: check it, then `fairlane prepare` encodes the table "
      "as "
      "it says.\n"
      "# bins: the i-th code's numbers lie above the i-th edge, up to and with the next; edges are "
      "quantiles, about {} bins of\n# equally many rows. Numbers beyond the first and the last "
      "edge "
      "are refused: widen these where people can lie outside.\n"
      "# categories have the codes low, low + 1, ..., the most frequent word first.\n",
      escaped(fs::path(table.source).filename().string()), kProposedBins);
  if (!domain.labels.empty())
    text +=
        "# labels says which class a cell of the label column stands for: swap them where it is "
        "another.\n";
  if (!table.form.missing.empty() || std::ranges::any_of(domain.attributes, &Attribute::imputes)) {
    text +=
        "# missing: mode puts the most frequent value in place of a missing one; without it one "
        "is an error.\n";
  }
  if (guessed)
    text += "# protected was guessed from the names: correct it, one `protected: true` each.\n";
  return text + format_domain_yaml(domain);
}

char const* kind_of(Attribute const& attribute) {
  return !attribute.bins.empty()         ? "bins"
         : !attribute.categories.empty() ? "categories"
                                         : "integers";
}

void tell(RawTable const& table, ProposedDomain const& proposed, ProtectedColumns const& columns,
          Console const& console) {
  Domain const& domain = proposed.domain;
  console.info(fmt::format("assumed: cells stand between {}s, {}",
                           separator_of(table.form.separator).name + 2,
                           table.form.columns.empty()
                               ? std::string("the first row names the columns")
                               : fmt::format("there is no header row (the columns are called c1 to "
                                             "c{})",
                                             table.columns.size())));
  if (proposed.label_by_place) {
    console.info(
        fmt::format("assumed: the last column, {}, is the label; --label NAME names "
                    "another",
                    in_quotes(domain.raw_label())));
  }
  if (!table.form.missing.empty()) {
    std::string marks;
    for (std::string const& mark : table.form.missing)
      marks += (marks.empty() ? "" : ", ") + in_quotes(mark);
    console.info(fmt::format("assumed: {} stands for a missing value", marks));
  }
  for (auto const& [name, reason] : proposed.left_out)
    console.info(fmt::format("left out: {} ({})", shown_name(name), reason));
  if (columns.guessed) {
    console.info(
        fmt::format("protected attributes were guessed from their names: {}; --protected "
                    "a,b names others",
                    yaml_list(columns.names)));
  }
}

void print_proposal(InitTableArguments const& arguments, RawTable const& table,
                    ProposedDomain const& proposed, ProtectedColumns const& columns,
                    std::string const& next) {
  Domain const& domain = proposed.domain;
  if (arguments.json) {
    Json json = {{"domain", arguments.domain},
                 {"rows", table.rows},
                 {"attributes", domain.size()},
                 {"label", domain.raw_label()},
                 {"separator", separator_of(table.form.separator).key},
                 {"header", table.form.columns.empty()},
                 {"missing", table.form.missing},
                 {"left_out", Json::array()},
                 {"protected", columns.names},
                 {"guessed", columns.guessed},
                 {"next", next}};
    for (auto const& [name, reason] : proposed.left_out)
      json["left_out"].push_back({{"column", name}, {"reason", reason}});
    print(json.dump(2) + "\n");
    return;
  }
  std::vector<std::vector<std::string>> rows = {{"attribute", "codes", "missing", "kind", "words"}};
  for (Attribute const& attribute : domain.attributes) {
    auto const column = std::ranges::find(table.columns, attribute.name, &RawTableColumn::name);
    rows.push_back({escaped(attribute.name), with_commas(attribute.code_count()),
                    with_commas(column->missing), kind_of(attribute),
                    has_words(attribute) ? all_words(attribute) : attribute.codes_text()});
  }
  Facts facts;
  facts.add("domain", escaped(arguments.domain, arguments.domain.size()));
  facts.add("rows", with_commas(table.rows));
  std::string classes;
  for (LabelName const& one : domain.labels)
    classes += fmt::format("{}{}: {}", classes.empty() ? "" : ", ", escaped(one.text), one.label);
  facts.add("label", escaped(domain.raw_label()) + (classes.empty() ? "" : "  (" + classes + ")"));
  facts.add("protected", columns.names.empty() ? "none known" : yaml_list(columns.names));
  print(facts.text() + "\n" + aligned(rows, {"kind", "words"}) + "\nNext: " + next + "\n");
}

}  // namespace

ExitCode init_table(InitTableArguments arguments, Console const& console) {
  if (arguments.domain.empty())
    arguments.domain = fs::path(arguments.table).stem().string() + ".domain.yaml";
  std::error_code ec;
  if (fs::equivalent(arguments.domain, arguments.table, ec)) {
    throw usage_error(
        fmt::format("--domain is {}, which is the table itself, expected another file",
                    in_quotes(arguments.domain)));
  }
  if (!arguments.force && fs::exists(fs::symlink_status(arguments.domain, ec))) {
    throw Error(ExitCode::kOutput, fmt::format("{}: exists already; --force replaces it",
                                               escaped(arguments.domain, arguments.domain.size())));
  }
  std::string const text = read_file(arguments.table, kMaxTableBytes);
  RawTable const table = describe_raw_table(text, arguments.table);
  ProposedDomain proposed = propose_domain(table, arguments.label, arguments.drop);
  ProtectedColumns const columns = flag(arguments, proposed.domain, console);
  std::string file = proposal_text(table, proposed.domain, columns.guessed);
  // What is written must do: the table is encoded as `prepare` does it.
  EncodedTable const encoded =
      parse_raw_table(text, arguments.table, parse_domain_yaml(file, arguments.domain));
  std::vector<ProposedConstraint> constraints;
  if (arguments.constraints) constraints = propose_constraints(proposed.domain, encoded.data);
  file += proposed_constraints_text(constraints, proposed.domain);
  NewFolders folders;
  folders.create_for(arguments.domain);
  write_files({{arguments.domain, file}});
  folders.keep();
  tell(table, proposed, columns, console);
  if (arguments.constraints) console.info(proposed_constraints_note(constraints));
  auto const word = [](std::string const& path) {
    return shell_word(path[0] == '-' ? "./" + path : path);
  };
  print_proposal(arguments, table, proposed, columns,
                 fmt::format("fairlane prepare {} --domain {}", word(arguments.table),
                             word(arguments.domain)));
  return ExitCode::kOk;
}

}  // namespace fairlane
