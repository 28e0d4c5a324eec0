// CSV with a header row, as RFC 4180 has it, into integer codes.
#include "models/data/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "models/data/csv_scanner.h"

namespace fairlane {
namespace {

// How one column of the file is read.
struct Column {
  static constexpr int kIgnored = -1;
  static constexpr int kLabel = -2;
  int slot = kIgnored;  // index of the attribute, or one of the above
  std::unordered_map<std::string_view, std::int32_t> codes;  // of the category names
  bool ambiguous = false;  // some category name is a number that is not its own code
};

/// The domain file names a label column that a table lacks, though it has columns of no attribute.
[[noreturn]] void fail_label(CsvScanner const& scanner, std::vector<std::string> const& others,
                             Domain const& domain) {
  constexpr std::size_t kShown = 5;
  std::string hint = did_you_mean(domain.label, others);
  if (domain.raw_label() != domain.label && std::ranges::count(others, domain.raw_label()) > 0)
    hint = "; this seems to be the raw table, which `fairlane prepare` encodes";
  bool const lists = hint.empty();
  for (std::size_t i = 0; lists && i < std::min(kShown, others.size()); ++i)
    hint += (i == 0 ? "; the columns of no attribute are " : ", ") + in_quotes(others[i]);
  scanner.fail(1, 1,
               fmt::format("has no label column {} of the domain {}, expected it beside the "
                           "attributes, or no `label` in the domain{}",
                           in_quotes(domain.label), escaped(domain.source), hint));
}

std::vector<Column> match_columns(CsvScanner const& scanner, CsvHeader const& header,
                                  Domain const& domain, Labels labels) {
  std::vector<Column> columns(header.names.size());
  std::size_t missing = 0;
  std::string first_missing;
  for (int i = 0; i < domain.size(); ++i) {
    Attribute const& attribute = domain.attributes[static_cast<std::size_t>(i)];
    auto const found = header.index.find(attribute.name);
    if (found == header.index.end()) {
      if (missing++ == 0) first_missing = attribute.name;
      continue;
    }
    Column& column = columns[found->second];
    column.slot = i;
    std::int64_t number_of_name = 0;
    for (auto const& name : attribute.categories) {
      std::int32_t const code = attribute.code_at(number_of_name++);
      column.codes.emplace(name, code);
      std::int32_t number = 0;
      if (parse_code(name, number) != CodeCell::kNo && number != code) column.ambiguous = true;
    }
  }
  if (missing > 0) {
    std::string const others =
        missing > 1 ? fmt::format(" and {} more attributes", missing - 1) : "";
    scanner.fail(
        1, 1,
        fmt::format("has no column {}{} of the domain {}{}", in_quotes(first_missing), others,
                    escaped(domain.source), header_hint(scanner, header, first_missing)));
  }
  if (auto const found = header.index.find(domain.label); found != header.index.end()) {
    Column& column = columns[found->second];
    if (column.slot == Column::kIgnored) column.slot = Column::kLabel;
  } else if (labels == Labels::kWanted && domain.names_label) {
    std::vector<std::string> others;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].slot == Column::kIgnored && !header.names[i].empty())
        others.push_back(header.names[i]);
    }
    if (!others.empty()) fail_label(scanner, others, domain);
  }
  return columns;
}

[[noreturn]] void fail_cell(CsvScanner const& scanner, CsvCell const& cell, std::string const& name,
                            Attribute const* attribute, CodeCell kind) {
  std::string const what = fmt::format("column {} is {}", in_quotes(name), in_quotes(cell.text));
  if (kind == CodeCell::kTooLarge) {
    scanner.fail(cell, fmt::format("{}, expected {}..{} (codes must be exact in float32)", what,
                                   -kMaxCode, kMaxCode));
  }
  if (attribute == nullptr)
    scanner.fail(cell, what +
                           ", expected a class number 0, 1, ... (it is the label; other words need "
                           "`labels: {no: 0, yes: 1}` in the domain file)");
  if (attribute->categories.empty()) scanner.fail(cell, what + ", expected an integer");
  scanner.fail(cell, fmt::format("{}, expected an integer or one of its {} category names{}", what,
                                 attribute->categories.size(),
                                 did_you_mean(std::string(cell.text), attribute->categories)));
}

std::int32_t read_code(CsvScanner const& scanner, CsvCell const& cell, Column const& column,
                       Attribute const& attribute) {
  std::int32_t value = 0;
  CodeCell const kind = parse_code(cell.text, value);
  if (kind == CodeCell::kYes && !column.ambiguous) return value;
  auto const found = column.codes.find(cell.text);
  if (found == column.codes.end()) {
    if (kind == CodeCell::kYes) return value;
    fail_cell(scanner, cell, attribute.name, &attribute, kind);
  }
  if (kind == CodeCell::kYes && value != found->second) {
    scanner.fail(
        cell, fmt::format(
                  "column {} is {}, which is a code and also the category name of code {}; rename "
                  "the category",
                  in_quotes(attribute.name), in_quotes(cell.text), found->second));
  }
  return found->second;
}

// Finds the classes of the label column's cells. Where the domain's labels name them, they are words
// of a raw table, as they stand or as the same number, or classes of one that is prepared.
class LabelReader {
 public:
  explicit LabelReader(Domain const& domain)
      : domain_(domain),
        words_(domain.raw_label() == domain.label),
        classes_(!words_ || domain.clashing_label() == nullptr) {}

  std::int32_t read(CsvScanner const& scanner, CsvCell const& cell) {
    std::int32_t number = 0;
    CodeCell const kind = parse_code(cell.text, number);
    if (domain_.labels.empty()) {
      if (kind != CodeCell::kYes || number < 0)
        fail_cell(scanner, cell, domain_.label, nullptr, kind);
      return number;
    }
    bool const is_class = classes_ && kind == CodeCell::kYes && domain_.has_class(number);
    auto const word = words_ ? class_of(cell.text, kind, number) : std::nullopt;
    if (!word && !is_class) fail(scanner, cell);
    // A cell that can be but one of the two says what the table's others are.
    if (!is_class) classes_ = false;
    if (!word) words_ = false;
    return word.value_or(number);
  }

 private:
  std::optional<std::int32_t> class_of(std::string_view text, CodeCell kind,
                                       std::int32_t number) const {
    std::optional<std::int32_t> same_number;
    for (LabelName const& one : domain_.labels) {
      if (one.text == text) return one.label;
      std::int32_t named = 0;
      if (kind == CodeCell::kYes && parse_code(one.text, named) == CodeCell::kYes &&
          named == number)
        same_number = one.label;
    }
    return same_number;
  }

  [[noreturn]] void fail(CsvScanner const& scanner, CsvCell const& cell) const {
    std::vector<std::string> names;
    for (LabelName const& one : domain_.labels) names.push_back(one.text);
    scanner.fail(cell,
                 fmt::format("column {} is {}, expected one of the {} labels of the domain {}{}",
                             in_quotes(domain_.label), in_quotes(cell.text), names.size(),
                             escaped(domain_.source), did_you_mean(std::string(cell.text), names)));
  }

  Domain const& domain_;
  bool words_;    // cells may be words of a raw table
  bool classes_;  // cells may be classes
};

}  // namespace

Dataset read_csv(std::string const& path, Domain const& domain, Labels labels) {
  return parse_csv(read_file(path, kMaxTableBytes), path, domain, labels);
}

Dataset parse_csv(std::string_view text, std::string const& source, Domain const& domain,
                  Labels labels) {
  CsvScanner scanner(text, source);
  CsvHeader const header = read_csv_header(scanner);
  std::vector<Column> const columns = match_columns(scanner, header, domain, labels);
  bool const has_label = std::any_of(columns.begin(), columns.end(),
                                     [](Column const& c) { return c.slot == Column::kLabel; });

  LabelReader labels_read(domain);
  Dataset data;
  data.source = source;
  data.attributes = domain.size();
  auto const stride = static_cast<std::size_t>(domain.size());
  while (!scanner.no_more_records()) {
    data.lines.push_back(scanner.line());
    data.rows.resize(data.rows.size() + stride);
    std::int32_t* const row = data.rows.data() + data.rows.size() - stride;
    for (std::size_t i = 0;; ++i) {
      CsvCell const cell = scanner.next();
      if (i == columns.size()) fail_ragged(scanner, cell, i + 1, columns.size());
      Column const& column = columns[i];
      // A row that is too short has a better message than the empty cell of a blank line.
      if (cell.last && i + 1 < columns.size()) fail_ragged(scanner, cell, i + 1, columns.size());
      if (column.slot >= 0) {
        auto const slot = static_cast<std::size_t>(column.slot);
        row[slot] = read_code(scanner, cell, column, domain.attributes[slot]);
      } else if (has_label && column.slot == Column::kLabel) {
        data.labels.push_back(labels_read.read(scanner, cell));
      }
      if (cell.last) break;
    }
  }
  if (data.lines.empty()) scanner.fail(scanner.line(), 1, "has a header but no rows");
  return data;
}

Table describe_csv(std::string const& path) {
  // What is known of a column so far.
  struct Seen {
    std::unordered_set<std::int32_t> codes;
    std::unordered_set<std::string> texts;
    std::int64_t sum = 0;
    double mean = 0.0;     // so far, in Welford's recurrence
    double squares = 0.0;  // sum of squared differences from it
  };
  std::string const text = read_file(path, kMaxTableBytes);
  CsvScanner scanner(text, path);
  CsvHeader header = read_csv_header(scanner);
  if (std::string const hint = separator_hint(scanner, header); !hint.empty())
    scanner.fail(1, 1, fmt::format("has the single column {}{}", in_quotes(header.names[0]), hint));
  Table table;
  table.source = path;
  table.columns.resize(header.names.size());
  for (std::size_t i = 0; i < header.names.size(); ++i) table.columns[i].name = header.names[i];
  std::vector<Seen> seen(header.names.size());
  while (!scanner.no_more_records()) {
    ++table.count;
    for (std::size_t i = 0;; ++i) {
      CsvCell const cell = scanner.next();
      if (i == header.names.size() || (cell.last && i + 1 < header.names.size())) {
        fail_ragged(scanner, cell, i + 1, header.names.size());
      }
      TableColumn& column = table.columns[i];
      std::int32_t value = 0;
      if (column.integer && parse_code(cell.text, value) != CodeCell::kYes) column.integer = false;
      if (column.integer) {
        bool const first = seen[i].codes.empty();
        seen[i].codes.insert(value);
        column.low = first ? value : std::min(column.low, value);
        column.high = first ? value : std::max(column.high, value);
        seen[i].sum += value;
        double const difference = value - seen[i].mean;
        seen[i].mean += difference / static_cast<double>(table.count);
        seen[i].squares += difference * (value - seen[i].mean);
      }
      if (seen[i].texts.insert(std::string(cell.text)).second &&
          column.categories.size() < kMaxListed) {
        column.categories.emplace_back(cell.text);
      }
      if (cell.last) break;
    }
  }
  if (table.count == 0) scanner.fail(scanner.line(), 1, "has a header but no rows");
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    TableColumn& column = table.columns[i];
    column.distinct =
        static_cast<std::int64_t>(column.integer ? seen[i].codes.size() : seen[i].texts.size());
    if (column.integer) {
      column.categories.clear();
      column.mean = static_cast<double>(seen[i].sum) / static_cast<double>(table.count);
      column.std = std::sqrt(seen[i].squares / static_cast<double>(table.count));
      if (seen[i].codes.size() > kMaxListed) continue;
      column.values.assign(seen[i].codes.begin(), seen[i].codes.end());
      std::sort(column.values.begin(), column.values.end());
    } else {
      column.low = column.high = 0;
    }
  }
  return table;
}

}  // namespace fairlane
