#include "models/data/decode_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "models/data/csv_scanner.h"

namespace fairlane {
namespace {

/// How a command's results name a column that holds an attribute's codes.
struct Affixes {
  std::string_view before;
  std::string_view behind;
};
constexpr Affixes kPairColumn = {"pair_", ""};
constexpr Affixes kAffixes[] = {
    kPairColumn, {"", "_low"}, {"", "_high"}, {"greater_", ""}, {"lesser_", ""}};

/// What a column holds: codes of an attribute, classes, or neither.
struct CodedColumn {
  Attribute const* attribute = nullptr;
  bool is_label = false;
  std::unordered_map<std::int32_t, std::string> words = {};  // as cells, of those met so far
};

/// An attribute's codes under a name that says what they are of.
Attribute const* affixed(std::string const& name, Affixes const& affixes, Domain const& domain) {
  auto const& [before, behind] = affixes;
  if (!name.starts_with(before) || !name.ends_with(behind)) return nullptr;
  if (name.size() < before.size() + behind.size()) return nullptr;
  int const index =
      domain.find(name.substr(before.size(), name.size() - before.size() - behind.size()));
  return index < 0 ? nullptr : &domain.attributes[static_cast<std::size_t>(index)];
}

CodedColumn label_column(std::string const& name, Domain const& domain) {
  return {nullptr, name == "label" || name == "pair_label" || name == domain.label};
}

std::vector<CodedColumn> coded_columns(CsvHeader const& header, Domain const& domain) {
  auto const& names = header.names;
  std::vector<std::string> attributes;
  for (Attribute const& attribute : domain.attributes) attributes.push_back(attribute.name);
  auto const run = std::search(names.begin(), names.end(), attributes.begin(), attributes.end());
  std::vector<CodedColumn> columns(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) columns[i] = label_column(names[i], domain);
  if (run != names.end()) {
    auto i = static_cast<std::size_t>(run - names.begin());
    for (Attribute const& attribute : domain.attributes) columns[i++] = {&attribute};
    // Behind them a counterpart's; pair_score further behind is none of an attribute `score`.
    for (Attribute const* pair = nullptr;
         i < names.size() && (pair = affixed(names[i], kPairColumn, domain)) != nullptr;)
      columns[i++] = {pair};
    return columns;
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    Attribute const* attribute = affixed(names[i], {}, domain);
    for (Affixes const& affixes : kAffixes) {
      if (attribute == nullptr) attribute = affixed(names[i], affixes, domain);
    }
    if (attribute != nullptr) columns[i] = {attribute};
  }
  return columns;
}

std::string word_of(CsvScanner const& scanner, CsvCell const& cell, std::string const& name,
                    CodedColumn& column, Domain const& domain) {
  std::int32_t code = 0;
  bool const is_code = parse_code(cell.text, code) == CodeCell::kYes;
  std::string const what = fmt::format("column {} is {}", in_quotes(name), in_quotes(cell.text));
  if (column.is_label) {
    if (is_code && code >= 0) return csv_cell(domain.label_word(code));
    scanner.fail(cell, what + ", expected a class number 0, 1, ...");
  }
  Attribute const& attribute = *column.attribute;
  if (is_code && attribute.allows(code)) return csv_cell(attribute.word(code));
  scanner.fail(cell, fmt::format("{}, expected a code, {}", what, attribute.codes_text()));
}

}  // namespace

void decode_table(std::string_view text, std::string const& source, Domain const& domain,
                  TextSink const& sink) {
  constexpr std::size_t kBlock = std::size_t{1} << 16;
  CsvScanner scanner(text, source);
  CsvHeader const header = read_csv_header(scanner, RepeatedNames::kAllowed);
  std::vector<CodedColumn> columns = coded_columns(header, domain);
  std::string out;
  for (std::size_t i = 0; i < header.names.size(); ++i)
    out += (i == 0 ? "" : ",") + csv_cell(header.names[i]);
  out += '\n';
  while (!scanner.no_more_records()) {
    for (std::size_t i = 0;; ++i) {
      CsvCell const cell = scanner.next();
      if (i == columns.size() || (cell.last && i + 1 < columns.size()))
        fail_ragged(scanner, cell, i + 1, columns.size());
      CodedColumn& column = columns[i];
      if (i > 0) out += ',';
      std::int32_t code = 0;
      if (column.attribute == nullptr && !column.is_label) {
        out += csv_cell(std::string(cell.text));
      } else if (parse_code(cell.text, code) == CodeCell::kYes && column.words.contains(code)) {
        out += column.words[code];
      } else {
        out += column.words[code] = word_of(scanner, cell, header.names[i], column, domain);
      }
      if (cell.last) break;
    }
    out += '\n';
    if (out.size() < kBlock) continue;
    sink(out);
    out.clear();
  }
  sink(out);
}

}  // namespace fairlane
