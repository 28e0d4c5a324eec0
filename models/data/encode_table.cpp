#include "models/data/encode_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <unordered_map>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "models/data/csv_scanner.h"

namespace fairlane {
namespace {

/// Stands for a missing value until its column is known.
constexpr std::int32_t kMissing = std::numeric_limits<std::int32_t>::min();
constexpr int kNobody = -1;
constexpr int kLabelColumn = -2;
/// How a raw column is read.
/// codes  of the words: categories, and bins as `prepare --decode` writes them
struct RawColumn {
  int slot = kNobody;  // index of the attribute, or one of the above
  std::unordered_map<std::string, std::int32_t> codes;
};

[[noreturn]] void fail_domain(Domain const& domain, std::string const& what) {
  throw Error(ExitCode::kConfig, fmt::format("{}: {}", escaped(domain.source, 4096), what));
}

/// Names that are numbers must be their own codes: the table of codes holds numbers alone.
void check_names(Domain const& domain) {
  for (Attribute const& attribute : domain.attributes) {
    for (std::size_t i = 0; i < attribute.categories.size(); ++i) {
      std::int32_t const code = attribute.code_at(static_cast<std::int64_t>(i));
      std::int32_t number = 0;
      bool const is_code = parse_code(attribute.categories[i], number) == CodeCell::kYes;
      if (!is_code || number == code || !attribute.allows(number)) continue;
      fail_domain(domain, fmt::format("attribute {}: category {} has the code {}, and {} is the "
                                      "code of another one, expected numbers to be their own "
                                      "codes; give `low` or `values`, or leave categories out",
                                      in_quotes(attribute.name), in_quotes(attribute.categories[i]),
                                      code, number));
    }
  }
  LabelName const* const clash = domain.clashing_label();
  if (clash == nullptr || domain.raw_label() != domain.label) return;
  fail_domain(domain, fmt::format("labels gives {} the class {}, and {} is another class, expected "
                                  "the label column to have another name than that of the raw "
                                  "table; `raw: {{label: {}}}` names that one",
                                  in_quotes(clash->text), clash->label, in_quotes(clash->text),
                                  in_quotes(domain.label)));
}

/// Names of the raw columns, from the header or the domain file.
CsvHeader raw_header(CsvScanner& scanner, Domain const& domain) {
  if (domain.raw.columns.empty()) return read_csv_header(scanner);
  if (scanner.at_end() || scanner.no_more_records())
    scanner.fail(1, 1, "the file is empty, expected rows");
  CsvHeader header;
  for (std::string const& name : domain.raw.columns) {
    header.index.emplace(name, header.names.size());
    header.names.push_back(name);
  }
  return header;
}

RawColumn attribute_column(Attribute const& attribute, int slot) {
  RawColumn column;
  column.slot = slot;
  if (attribute.categories.empty() && attribute.bins.empty()) return column;
  for (std::int64_t i = 0; i < attribute.code_count(); ++i) {
    std::int32_t const code = attribute.code_at(i);
    column.codes.emplace(attribute.word(code), code);
  }
  return column;
}

std::vector<RawColumn> match_raw_columns(CsvScanner const& scanner, CsvHeader const& header,
                                         Domain const& domain, EncodedTable& table) {
  std::vector<RawColumn> columns(header.names.size());
  for (int i = 0; i < domain.size(); ++i) {
    Attribute const& attribute = domain.attributes[static_cast<std::size_t>(i)];
    auto const found = header.index.find(attribute.raw_column());
    if (found == header.index.end()) {
      bool const is_one = !separator_hint(scanner, header).empty();
      scanner.fail(
          1, 1,
          fmt::format("has no column {} of the domain {}{}{}", in_quotes(attribute.raw_column()),
                      escaped(domain.source), header_hint(scanner, header, attribute.raw_column()),
                      is_one ? "; `raw: {separator: ...}` there says which" : ""));
    }
    columns[found->second] = attribute_column(attribute, i);
  }
  auto const label = header.index.find(domain.raw_label());
  if (label != header.index.end() && columns[label->second].slot == kNobody) {
    columns[label->second].slot = kLabelColumn;
  } else if (domain.names_label) {
    scanner.fail(
        1, 1,
        fmt::format("has no label column {} of the domain {}{}", in_quotes(domain.raw_label()),
                    escaped(domain.source), header_hint(scanner, header, domain.raw_label())));
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].slot == kNobody) table.left_out.push_back(header.names[i]);
  }
  return columns;
}

bool is_missing(std::string_view text, Domain const& domain) {
  return text.empty() || std::ranges::count(domain.raw.missing, text) > 0;
}

/// "; `raw: {missing: ["?"]}` ..." for a word that often stands for a missing value.
std::string mark_hint(std::string_view text) {
  if (std::ranges::count(kUsualMissing, text) == 0) return {};
  return fmt::format("; `raw: {{missing: [\"{}\"]}}` in the domain file makes it a missing value",
                     text);
}

[[noreturn]] void fail_raw(CsvScanner const& scanner, CsvCell const& cell,
                           Attribute const& attribute, std::string const& expected) {
  scanner.fail(cell, fmt::format("column {} is {}, expected {}", in_quotes(attribute.raw_column()),
                                 in_quotes(cell.text), expected));
}

std::int32_t raw_code(CsvScanner const& scanner, CsvCell const& cell, RawColumn const& column,
                      Attribute const& attribute) {
  bool const has_words = !column.codes.empty();
  if (has_words) {
    auto const found = column.codes.find(std::string(cell.text));
    if (found != column.codes.end()) return found->second;
  }
  if (!attribute.bins.empty()) {
    auto const number = number_in(cell.text);
    if (!number) fail_raw(scanner, cell, attribute, "a number" + mark_hint(cell.text));
    auto const code = attribute.bin_code(*number);
    if (!code) {
      fail_raw(scanner, cell, attribute,
               fmt::format("more than {}, the first edge of its bins, and at most {}, the last",
                           attribute.bins.front(), attribute.bins.back()));
    }
    return *code;
  }
  if (has_words) {
    std::string const hint = did_you_mean(std::string(cell.text), attribute.categories);
    fail_raw(scanner, cell, attribute,
             fmt::format("one of its {} categories in {}{}", attribute.categories.size(),
                         "the domain file", hint.empty() ? mark_hint(cell.text) : hint));
  }
  std::int32_t value = 0;
  CodeCell const kind = parse_code(cell.text, value);
  if (kind != CodeCell::kYes) {
    fail_raw(scanner, cell, attribute,
             kind == CodeCell::kTooLarge
                 ? fmt::format("{}..{} (codes must be exact in float32); `bins` takes larger "
                               "numbers",
                               -kMaxCode, kMaxCode)
             : number_in(cell.text) ? std::string("an integer; `bins` takes other numbers")
                                    : "an integer" + mark_hint(cell.text));
  }
  if (!attribute.allows(value)) fail_raw(scanner, cell, attribute, attribute.codes_text());
  return value;
}

/// Finds the classes of label cells.
class RawLabels {
 public:
  explicit RawLabels(Domain const& domain) : domain_(domain) {
    for (LabelName const& one : domain.labels) classes_.emplace(one.text, one.label);
  }

  std::int32_t read(CsvScanner const& scanner, CsvCell const& cell) const {
    std::string const text(cell.text);
    if (auto const found = classes_.find(text); found != classes_.end()) return found->second;
    std::int32_t value = 0;
    bool const is_code = parse_code(text, value) == CodeCell::kYes;
    if (domain_.labels.empty() && is_code && value >= 0) return value;
    // The same number otherwise written, such as 1.0.
    for (LabelName const& one : domain_.labels) {
      std::int32_t number = 0;
      if (is_code && parse_code(one.text, number) == CodeCell::kYes && number == value)
        return one.label;
    }
    fail(scanner, cell, text);
  }

 private:
  [[noreturn]] void fail(CsvScanner const& scanner, CsvCell const& cell,
                         std::string const& text) const {
    std::vector<std::string> names;
    for (LabelName const& one : domain_.labels) names.push_back(one.text);
    std::string const what =
        fmt::format("column {} is {}", in_quotes(domain_.raw_label()), in_quotes(text));
    if (is_missing(text, domain_)) scanner.fail(cell, what + ", expected a label in every row");
    if (names.empty()) {
      scanner.fail(cell, what +
                             ", expected a class number 0, 1, ... (it is the label; other words "
                             "need `labels: {no: 0, yes: 1}` in the domain file)");
    }
    scanner.fail(cell,
                 fmt::format("{}, expected one of the {} labels of the domain {}{}", what,
                             names.size(), escaped(domain_.source), did_you_mean(text, names)));
  }

  Domain const& domain_;
  std::map<std::string, std::int32_t> classes_;
};

/// Puts the most frequent code in place of an attribute's missing ones, if it has any.
void impute(std::string const& source, Domain const& domain, int attribute, EncodedTable& table) {
  auto const stride = static_cast<std::size_t>(table.data.attributes);
  auto& rows = table.data.rows;
  std::unordered_map<std::int32_t, std::int64_t> counts;
  ImputedColumn imputed{attribute, 0, 0};
  for (auto i = static_cast<std::size_t>(attribute); i < rows.size(); i += stride) {
    if (rows[i] == kMissing) {
      ++imputed.cells;
    } else {
      ++counts[rows[i]];
    }
  }
  if (imputed.cells == 0) return;
  if (counts.empty()) {
    throw data_error(
        escaped(source, 4096),
        fmt::format(
            "column {} has missing values alone, expected one that is most frequent",
            in_quotes(domain.attributes[static_cast<std::size_t>(attribute)].raw_column())));
  }
  std::int64_t most = 0;
  for (auto const& [code, count] : counts) {
    if (count < most || (count == most && code > imputed.code)) continue;
    most = count;
    imputed.code = code;
  }
  for (auto i = static_cast<std::size_t>(attribute); i < rows.size(); i += stride) {
    if (rows[i] == kMissing) rows[i] = imputed.code;
  }
  table.imputed.push_back(imputed);
}

}  // namespace

EncodedTable encode_table(std::string const& path, Domain const& domain) {
  return parse_raw_table(read_file(path, kMaxTableBytes), path, domain);
}

EncodedTable parse_raw_table(std::string_view text, std::string const& source,
                             Domain const& domain) {
  check_names(domain);
  CsvScanner scanner(text, source, domain.raw.separator);
  CsvHeader const header = raw_header(scanner, domain);
  char const* const listed =
      domain.raw.columns.empty() ? "in the header" : "in raw: columns of the domain file";
  EncodedTable table;
  std::vector<RawColumn> const columns = match_raw_columns(scanner, header, domain, table);
  RawLabels const labels(domain);
  table.data.source = source;
  table.data.attributes = domain.size();
  auto const stride = static_cast<std::size_t>(domain.size());
  auto& rows = table.data.rows;
  while (!scanner.no_more_records()) {
    rows.resize(rows.size() + stride);
    std::int32_t* const row = rows.data() + rows.size() - stride;
    for (std::size_t i = 0;; ++i) {
      CsvCell const cell = scanner.next();
      if (i == columns.size() || (cell.last && i + 1 < columns.size()))
        fail_ragged(scanner, cell, i + 1, columns.size(), listed);
      RawColumn const& column = columns[i];
      if (column.slot == kLabelColumn) {
        table.data.labels.push_back(labels.read(scanner, cell));
      } else if (column.slot >= 0) {
        auto const slot = static_cast<std::size_t>(column.slot);
        Attribute const& attribute = domain.attributes[slot];
        bool const missing = is_missing(cell.text, domain);
        if (missing && !attribute.imputes) {
          fail_raw(scanner, cell, attribute,
                   "a value; `missing: mode` on the attribute's line of the domain file puts the "
                   "most frequent one in its place");
        }
        row[slot] = missing ? kMissing : raw_code(scanner, cell, column, attribute);
      }
      if (cell.last) break;
    }
  }
  if (rows.empty()) scanner.fail(scanner.line(), 1, "has a header but no rows");
  for (int i = 0; i < domain.size(); ++i) {
    if (domain.attributes[static_cast<std::size_t>(i)].imputes) impute(source, domain, i, table);
  }
  return table;
}

void format_table(Domain const& domain, Dataset const& data, TextSink const& sink) {
  constexpr std::size_t kBlock = std::size_t{1} << 16;
  auto const stride = static_cast<std::size_t>(data.attributes);
  std::string text;
  for (Attribute const& attribute : domain.attributes)
    text += (text.empty() ? "" : ",") + csv_cell(attribute.name);
  if (!data.labels.empty()) text += "," + csv_cell(domain.label);
  text += '\n';
  char digits[16];  // of an int32, its sign and more
  auto const add = [&](std::int32_t value) {
    auto const end = std::to_chars(std::begin(digits), std::end(digits), value).ptr;
    text.append(digits, static_cast<std::size_t>(end - digits));
  };
  for (std::size_t i = 0; i < static_cast<std::size_t>(data.count()); ++i) {
    for (std::size_t a = 0; a < stride; ++a) {
      if (a > 0) text += ',';
      add(data.rows[i * stride + a]);
    }
    if (!data.labels.empty()) {
      text += ',';
      add(data.labels[i]);
    }
    text += '\n';
    if (text.size() < kBlock) continue;
    sink(text);
    text.clear();
  }
  sink(text);
}

}  // namespace fairlane
