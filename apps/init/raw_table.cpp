#include "apps/init/raw_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "base/text.h"
#include "models/data/csv.h"
#include "models/data/csv_scanner.h"

namespace fairlane {
namespace {

constexpr std::size_t kFirstRows = 100;                    // that a separator must cut alike
constexpr std::size_t kFirstCells = std::size_t{1} << 20;  // and no more cells than these
constexpr std::size_t kRowsBelow = 1000;  // among which a cell of the first row may occur again

using Row = std::vector<std::string>;

/// The first rows, cut by a separator.
std::vector<Row> first_rows(std::string_view text, std::string const& source, char separator,
                            std::size_t most) {
  CsvScanner scanner(text, source, separator);
  std::vector<Row> rows;
  std::size_t cells = 0;
  while (rows.size() < most && cells < kFirstCells && !scanner.no_more_records()) {
    Row& row = rows.emplace_back();
    for (bool last = false; !last;) {
      CsvCell const cell = scanner.next();
      row.emplace_back(cell.text);
      last = cell.last;
    }
    cells += row.size();
  }
  return rows;
}

/// Into how many cells a separator cuts each of the first rows; 1 where that differs.
std::size_t width_by(std::string_view text, std::string const& source, char separator) {
  try {
    auto const rows = first_rows(text, source, separator, kFirstRows);
    if (rows.empty()) return 1;
    bool const alike = std::ranges::all_of(
        rows, [&](Row const& row) { return row.size() == rows.front().size(); });
    return alike ? rows.front().size() : 1;
  } catch (Error const&) {
    return 1;  // a quote stands where this separator has none
  }
}

char find_separator(std::string_view text, std::string const& source) {
  char best = ',';
  std::size_t most = 1;
  for (Separator const& one : kSeparators) {
    if (one.character == kBlanks && most > 1) continue;
    std::size_t const width = width_by(text, source, one.character);
    if (width <= most) continue;
    most = width;
    best = one.character;
  }
  return best;
}

bool has_header(std::vector<Row> const& rows) {
  for (std::size_t i = 0; i < rows.front().size(); ++i) {
    std::string const& cell = rows.front()[i];
    if (cell.empty()) continue;  // an index column
    if (number_in(cell)) return false;
    for (std::size_t r = 1; r < rows.size(); ++r) {
      if (i < rows[r].size() && rows[r][i] == cell) return false;
    }
  }
  return true;
}

/// Domain files are UTF-8, and hold the table's words.
void check_utf8(CsvScanner const& scanner, std::string_view text) {
  std::int64_t line = 1;
  std::size_t line_start = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t const length =
        static_cast<unsigned char>(text[at]) < 0x80 ? 1 : utf8_length(text.substr(at));
    if (length == 0) {
      scanner.fail(line, at - line_start + 1,
                   fmt::format("byte {} is not UTF-8, expected a table in UTF-8; iconv -f latin1 "
                               "-t utf-8 turns others into it",
                               in_quotes(text.substr(at, 1))));
    }
    if (text[at] == '\n') {
      ++line;
      line_start = at + 1;
    }
    at += length;
  }
}

/// Collects a column's cells.
class ColumnDescriber {
 public:
  explicit ColumnDescriber(std::string name) { column_.name = std::move(name); }

  void add(std::string_view text, std::vector<std::string>& marks) {
    if (text.empty() || std::ranges::count(kUsualMissing, text) > 0) {
      ++column_.missing;
      if (!text.empty() && std::ranges::count(marks, text) == 0) marks.emplace_back(text);
      return;
    }
    std::int32_t code = 0;
    if (column_.numeric) {
      auto const number = number_in(text);
      column_.numeric = number.has_value();
      if (number) column_.numbers.push_back(*number);
    }
    column_.integer = column_.integer && parse_code(text, code) == CodeCell::kYes;
    if (counts_.size() <= kMaxListed) ++counts_[std::string(text)];
  }

  RawTableColumn finish() {
    column_.integer = column_.integer && column_.numeric && !column_.numbers.empty();
    column_.distinct = static_cast<std::int64_t>(counts_.size());
    if (column_.numeric) {
      std::ranges::sort(column_.numbers);
      column_.distinct = 0;
      for (std::size_t i = 0; i < column_.numbers.size(); ++i)
        column_.distinct += i == 0 || column_.numbers[i] != column_.numbers[i - 1] ? 1 : 0;
    } else {
      column_.numbers.clear();
    }
    if (counts_.size() <= kMaxListed) column_.words.assign(counts_.begin(), counts_.end());
    std::ranges::sort(column_.words, [](auto const& a, auto const& b) {
      return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    return std::move(column_);
  }

 private:
  RawTableColumn column_;
  std::unordered_map<std::string, std::int64_t> counts_;  // of up to kMaxListed cells and one
};

}  // namespace

RawTable describe_raw_table(std::string_view text, std::string const& source) {
  check_utf8(CsvScanner(text, source), text);
  RawTable table;
  table.source = source;
  table.form.separator = find_separator(text, source);
  auto const head = first_rows(text, source, table.form.separator, kRowsBelow);
  CsvScanner scanner(text, source, table.form.separator);
  if (head.empty()) scanner.fail(1, 1, "the file is empty, expected a table");
  std::vector<std::string> names;
  bool const with_header = has_header(head);
  if (with_header) {
    names = read_csv_header(scanner).names;
  } else {
    for (std::size_t i = 0; i < head.front().size(); ++i)
      names.push_back(fmt::format("c{}", i + 1));
    table.form.columns = names;
  }
  std::vector<ColumnDescriber> columns;
  for (std::string const& name : names) columns.emplace_back(name);
  while (!scanner.no_more_records()) {
    ++table.rows;
    for (std::size_t i = 0;; ++i) {
      CsvCell const cell = scanner.next();
      if (i == names.size() || (cell.last && i + 1 < names.size()))
        fail_ragged(scanner, cell, i + 1, names.size(),
                    with_header ? "in the header" : "in the first row");
      columns[i].add(cell.text, table.form.missing);
      if (cell.last) break;
    }
  }
  if (table.rows == 0) scanner.fail(scanner.line(), 1, "has a header but no rows");
  for (ColumnDescriber& column : columns) table.columns.push_back(column.finish());
  return table;
}

}  // namespace fairlane
