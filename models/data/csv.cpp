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

namespace fairlane {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 32;
constexpr std::size_t kMaxRecordBytes =
    std::size_t{1} << 20;  // an unclosed quote would run to the end of the file
constexpr std::size_t kMaxColumns = std::size_t{1} << 16;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// One cell: its text without quotes and blanks around it, and where it begins.
struct Cell {
  std::string_view text;
  std::int64_t line = 0;
  std::size_t column = 0;
  bool quoted = false;
  bool last = false;  // of its record
};

// Cuts a text into cells, one after the other, and keeps count of lines.
class Scanner {
 public:
  Scanner(std::string_view text, std::string const& source)
      : text_(text), source_(escaped(source, 4096)) {
    if (text_.substr(0, kByteOrderMark.size()) == kByteOrderMark)
      at_ = line_start_ = kByteOrderMark.size();
    if (auto const nul = text_.find('\0'); nul != std::string_view::npos) {
      auto const before = text_.substr(0, nul);
      auto const line = 1 + std::count(before.begin(), before.end(), '\n');
      auto const newline = before.rfind('\n');
      fail(line, newline == std::string_view::npos ? nul + 1 : nul - newline,
           "NUL byte, expected text; is the file UTF-16? Save it as UTF-8");
    }
    auto const lone = text_.find('\r');
    if (lone < text_.size() - 1 && text_.find('\n') == std::string_view::npos)
      fail(1, lone + 1,
           "the line ends in CR alone, expected LF or CRLF; save the table with these");
  }

  [[noreturn]] void fail(std::int64_t line, std::size_t column, std::string const& what) const {
    throw Error(ExitCode::kData, fmt::format("{}:{}:{}: {}", source_, line, column, what));
  }
  [[noreturn]] void fail(Cell const& cell, std::string const& what) const {
    fail(cell.line, cell.column, what);
  }

  std::int64_t line() const { return line_; }
  bool at_end() const { return at_ >= text_.size(); }

  // True when nothing but blank lines follows; a blank line before more data is an error.
  bool no_more_records() {
    std::size_t probe = at_;
    while (probe < text_.size() && (text_[probe] == '\n' || text_[probe] == '\r')) ++probe;
    if (probe >= text_.size()) return true;
    if (probe != at_) fail(line_, 1, "the line is empty, expected a row");
    return false;
  }

  Cell next() {
    if (at_ == line_start_) record_start_ = at_;
    Cell cell;
    cell.line = line_;
    cell.column = at_ - line_start_ + 1;
    if (at_ < text_.size() && text_[at_] == '"') {
      read_quoted(cell);
    } else {
      read_plain(cell);
    }
    if (at_ - record_start_ > kMaxRecordBytes) {
      fail(cell,
           fmt::format("the row is longer than {} bytes; is a quote not closed?", kMaxRecordBytes));
    }
    finish(cell);
    return cell;
  }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t'; }

  void read_plain(Cell& cell) {
    char const* const first = text_.data() + at_;
    char const* const end = text_.data() + text_.size();
    char const* p = first;
    while (p != end && *p != ',' && *p != '\n') ++p;
    at_ = static_cast<std::size_t>(p - text_.data());
    char const* begin = first;
    if (p != begin && p[-1] == '\r' && (p == end || *p == '\n')) --p;
    while (begin != p && is_blank(*begin)) ++begin;
    while (p != begin && is_blank(p[-1])) --p;
    cell.text = std::string_view(begin, static_cast<std::size_t>(p - begin));
  }

  void read_quoted(Cell& cell) {
    cell.quoted = true;
    std::size_t const begin = ++at_;
    bool doubled = false;
    while (true) {
      std::size_t const quote = text_.find('"', at_);
      if (quote == std::string_view::npos) fail(cell, "the quote is not closed");
      if (quote + 1 < text_.size() && text_[quote + 1] == '"') {
        doubled = true;
        at_ = quote + 2;
        continue;
      }
      cell.text = text_.substr(begin, quote - begin);
      at_ = quote + 1;
      break;
    }
    for (std::size_t i = begin; i < begin + cell.text.size(); ++i) {
      if (text_[i] == '\n') {
        ++line_;
        line_start_ = i + 1;
      }
    }
    if (doubled) cell.text = undouble(cell.text);
    if (at_ + 1 < text_.size() && text_[at_] == '\r' && text_[at_ + 1] == '\n') ++at_;
    if (at_ + 1 == text_.size() && text_[at_] == '\r') ++at_;
    if (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '\n') {
      fail(line_, at_ - line_start_ + 1,
           fmt::format("{} after a closing quote, expected a comma",
                       in_quotes(text_.substr(at_, 1))));
    }
  }

  // The text stays valid until the next doubled cell.
  std::string_view undouble(std::string_view text) {
    buffer_.clear();
    for (std::size_t i = 0; i < text.size(); ++i) {
      buffer_ += text[i];
      if (text[i] == '"') ++i;
    }
    return buffer_;
  }

  void finish(Cell& cell) {
    if (at_ >= text_.size()) {
      cell.last = true;
      return;
    }
    cell.last = text_[at_] == '\n';
    ++at_;
    if (cell.last) {
      ++line_;
      line_start_ = at_;
    }
  }

  std::string_view text_;
  std::string source_;
  std::string buffer_;
  std::size_t at_ = 0;
  std::size_t line_start_ = 0;
  std::size_t record_start_ = 0;
  std::int64_t line_ = 1;
};

enum class Integer { kYes, kNo, kTooLarge };

// Reads "-3" or "3.0"; a value that float32 cannot hold exactly is too large.
Integer parse_code(std::string_view text, std::int32_t& value) {
  std::size_t i = 0;
  bool const negative = !text.empty() && text[0] == '-';
  if (negative) ++i;
  std::size_t const first = i;
  std::int64_t magnitude = 0;
  for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
    magnitude =
        std::min<std::int64_t>(magnitude * 10 + (text[i] - '0'), std::int64_t{kMaxCode} + 1);
  }
  if (i == first) return Integer::kNo;
  if (i < text.size()) {
    if (text[i] != '.' || i + 1 == text.size()) return Integer::kNo;
    for (++i; i < text.size(); ++i) {
      if (text[i] != '0') return Integer::kNo;
    }
  }
  if (magnitude > kMaxCode) return Integer::kTooLarge;
  value = static_cast<std::int32_t>(negative ? -magnitude : magnitude);
  return Integer::kYes;
}

// Names of the columns, and where each first stands.
struct Header {
  std::vector<std::string> names;
  std::unordered_map<std::string, std::size_t> index;
};

Header read_header(Scanner& scanner) {
  if (scanner.at_end() || scanner.no_more_records()) {
    scanner.fail(1, 1, "the file is empty, expected a header row");
  }
  Header header;
  Cell cell;
  do {
    cell = scanner.next();
    if (header.names.size() == kMaxColumns)
      scanner.fail(cell, fmt::format("more than {} columns", kMaxColumns));
    std::string name(cell.text);
    // pandas writes an index column without a name.
    if (!name.empty() && !header.index.emplace(name, header.names.size()).second) {
      std::int32_t ignored = 0;
      scanner.fail(cell, fmt::format("column {} occurs twice{}", in_quotes(name),
                                     parse_code(name, ignored) != Integer::kNo
                                         ? ", and is a number; is the header row missing?"
                                         : ""));
    }
    header.names.push_back(std::move(name));
  } while (!cell.last);
  return header;
}

// Of a single column: which separator its name has, if any.
std::string separator_hint(Header const& header) {
  if (header.names.size() != 1) return {};
  for (char const separator : {';', '\t', '|'}) {
    if (header.names[0].find(separator) != std::string::npos) {
      return fmt::format("; the separator seems to be {}, expected a comma",
                         in_quotes(std::string(1, separator)));
    }
  }
  return {};
}

// What could be wrong with a header that lacks a column.
std::string header_hint(Header const& header, std::string const& wanted) {
  std::string const suggestion = did_you_mean(wanted, header.names);
  if (!suggestion.empty()) return suggestion;
  if (std::string hint = separator_hint(header); !hint.empty()) return hint;
  std::int32_t ignored = 0;
  bool const all_numbers = std::all_of(
      header.names.begin(), header.names.end(),
      [&](std::string const& name) { return parse_code(name, ignored) != Integer::kNo; });
  return all_numbers ? "; the first line holds only numbers, is the header row missing?" : "";
}

// How one column of the file is read.
struct Column {
  static constexpr int kIgnored = -1;
  static constexpr int kLabel = -2;
  int slot = kIgnored;  // index of the attribute, or one of the above
  std::unordered_map<std::string_view, std::int32_t> codes;  // of the category names
  bool ambiguous = false;  // some category name is a number that is not its own code
};

/// The domain file names a label column that a table lacks, though it has columns of no attribute.
[[noreturn]] void fail_label(Scanner const& scanner, std::vector<std::string> const& others,
                             Domain const& domain) {
  constexpr std::size_t kShown = 5;
  std::string hint = did_you_mean(domain.label, others);
  bool const lists = hint.empty();
  for (std::size_t i = 0; lists && i < std::min(kShown, others.size()); ++i)
    hint += (i == 0 ? "; the columns of no attribute are " : ", ") + in_quotes(others[i]);
  scanner.fail(1, 1,
               fmt::format("has no label column {} of the domain {}, expected it beside the "
                           "attributes, or no `label` in the domain{}",
                           in_quotes(domain.label), escaped(domain.source), hint));
}

std::vector<Column> match_columns(Scanner const& scanner, Header const& header,
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
      if (parse_code(name, number) != Integer::kNo && number != code) column.ambiguous = true;
    }
  }
  if (missing > 0) {
    std::string const others =
        missing > 1 ? fmt::format(" and {} more attributes", missing - 1) : "";
    scanner.fail(1, 1,
                 fmt::format("has no column {}{} of the domain {}{}", in_quotes(first_missing),
                             others, escaped(domain.source), header_hint(header, first_missing)));
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

[[noreturn]] void fail_cell(Scanner const& scanner, Cell const& cell, std::string const& name,
                            Attribute const* attribute, Integer kind) {
  std::string const what = fmt::format("column {} is {}", in_quotes(name), in_quotes(cell.text));
  if (kind == Integer::kTooLarge) {
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

std::int32_t read_code(Scanner const& scanner, Cell const& cell, Column const& column,
                       Attribute const& attribute) {
  std::int32_t value = 0;
  Integer const kind = parse_code(cell.text, value);
  if (kind == Integer::kYes && !column.ambiguous) return value;
  auto const found = column.codes.find(cell.text);
  if (found == column.codes.end()) {
    if (kind == Integer::kYes) return value;
    fail_cell(scanner, cell, attribute.name, &attribute, kind);
  }
  if (kind == Integer::kYes && value != found->second) {
    scanner.fail(
        cell, fmt::format(
                  "column {} is {}, which is a code and also the category name of code {}; rename "
                  "the category",
                  in_quotes(attribute.name), in_quotes(cell.text), found->second));
  }
  return found->second;
}

// The class of a cell that the domain's labels name, as it stands or as the same number.
std::int32_t read_named_label(Scanner const& scanner, Cell const& cell, Domain const& domain) {
  std::int32_t number = 0;
  bool const is_number = parse_code(cell.text, number) == Integer::kYes;
  std::vector<std::string> names;
  std::optional<std::int32_t> same_number;
  for (LabelName const& one : domain.labels) {
    if (one.text == cell.text) return one.label;
    std::int32_t named = 0;
    if (is_number && parse_code(one.text, named) == Integer::kYes && named == number)
      same_number = one.label;
    names.push_back(one.text);
  }
  if (same_number) return *same_number;
  scanner.fail(cell,
               fmt::format("column {} is {}, expected one of the {} labels of the domain {}{}",
                           in_quotes(domain.label), in_quotes(cell.text), names.size(),
                           escaped(domain.source), did_you_mean(std::string(cell.text), names)));
}

std::int32_t read_label(Scanner const& scanner, Cell const& cell, Domain const& domain) {
  if (!domain.labels.empty()) return read_named_label(scanner, cell, domain);
  std::int32_t value = 0;
  Integer const kind = parse_code(cell.text, value);
  if (kind != Integer::kYes || value < 0) fail_cell(scanner, cell, domain.label, nullptr, kind);
  return value;
}

[[noreturn]] void fail_ragged(Scanner const& scanner, Cell const& cell, std::size_t cells,
                              std::size_t expected) {
  scanner.fail(cell, fmt::format("the row has {} cell{}, expected {} as in the header",
                                 cells > expected ? fmt::format("more than {}", expected)
                                                  : fmt::format("{}", cells),
                                 cells == 1 ? "" : "s", expected));
}

}  // namespace

Dataset read_csv(std::string const& path, Domain const& domain, Labels labels) {
  return parse_csv(read_file(path, kMaxFileBytes), path, domain, labels);
}

Dataset parse_csv(std::string_view text, std::string const& source, Domain const& domain,
                  Labels labels) {
  Scanner scanner(text, source);
  Header const header = read_header(scanner);
  std::vector<Column> const columns = match_columns(scanner, header, domain, labels);
  bool const has_label = std::any_of(columns.begin(), columns.end(),
                                     [](Column const& c) { return c.slot == Column::kLabel; });

  Dataset data;
  data.source = source;
  data.attributes = domain.size();
  auto const stride = static_cast<std::size_t>(domain.size());
  while (!scanner.no_more_records()) {
    data.lines.push_back(scanner.line());
    data.rows.resize(data.rows.size() + stride);
    std::int32_t* const row = data.rows.data() + data.rows.size() - stride;
    for (std::size_t i = 0;; ++i) {
      Cell const cell = scanner.next();
      if (i == columns.size()) fail_ragged(scanner, cell, i + 1, columns.size());
      Column const& column = columns[i];
      // A row that is too short has a better message than the empty cell of a blank line.
      if (cell.last && i + 1 < columns.size()) fail_ragged(scanner, cell, i + 1, columns.size());
      if (column.slot >= 0) {
        auto const slot = static_cast<std::size_t>(column.slot);
        row[slot] = read_code(scanner, cell, column, domain.attributes[slot]);
      } else if (has_label && column.slot == Column::kLabel) {
        data.labels.push_back(read_label(scanner, cell, domain));
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
  std::string const text = read_file(path, kMaxFileBytes);
  Scanner scanner(text, path);
  Header header = read_header(scanner);
  if (std::string const hint = separator_hint(header); !hint.empty())
    scanner.fail(1, 1, fmt::format("has the single column {}{}", in_quotes(header.names[0]), hint));
  Table table;
  table.source = path;
  table.columns.resize(header.names.size());
  for (std::size_t i = 0; i < header.names.size(); ++i) table.columns[i].name = header.names[i];
  std::vector<Seen> seen(header.names.size());
  while (!scanner.no_more_records()) {
    ++table.count;
    for (std::size_t i = 0;; ++i) {
      Cell const cell = scanner.next();
      if (i == header.names.size() || (cell.last && i + 1 < header.names.size())) {
        fail_ragged(scanner, cell, i + 1, header.names.size());
      }
      TableColumn& column = table.columns[i];
      std::int32_t value = 0;
      if (column.integer && parse_code(cell.text, value) != Integer::kYes) column.integer = false;
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
