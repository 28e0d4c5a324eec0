#include "models/data/csv_scanner.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "models/data/domain.h"

namespace fairlane {
namespace {

constexpr std::size_t kMaxRecordBytes =
    std::size_t{1} << 20;  // an unclosed quote would run to the end of the file
constexpr std::size_t kMaxColumns = std::size_t{1} << 16;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

Separator const& separator_of(char character) {
  auto const found = std::find_if(std::begin(kSeparators), std::end(kSeparators),
                                  [&](Separator const& one) { return one.character == character; });
  if (found == std::end(kSeparators))
    throw Error(ExitCode::kBug, fmt::format("{} is no separator", int{character}));
  return *found;
}

CsvScanner::CsvScanner(std::string_view text, std::string const& source, char separator)
    : text_(text), source_(escaped(source, 4096)), separator_(separator) {
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
    fail(1, lone + 1, "the line ends in CR alone, expected LF or CRLF; save the table with these");
}

void CsvScanner::fail(std::int64_t line, std::size_t column, std::string const& what) const {
  throw Error(ExitCode::kData, fmt::format("{}:{}:{}: {}", source_, line, column, what));
}

bool CsvScanner::no_more_records() {
  std::size_t probe = at_;
  while (probe < text_.size() && (text_[probe] == '\n' || text_[probe] == '\r')) ++probe;
  if (probe >= text_.size()) return true;
  if (probe != at_) fail(line_, 1, "the line is empty, expected a row");
  return false;
}

CsvCell CsvScanner::next() {
  if (at_ == line_start_) record_start_ = at_;
  if (separator_ == kBlanks) skip_blanks();
  CsvCell cell;
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

void CsvScanner::skip_blanks() {
  while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
}

void CsvScanner::read_plain(CsvCell& cell) {
  char const separator = separator_;
  char const* const first = text_.data() + at_;
  char const* const end = text_.data() + text_.size();
  char const* p = first;
  if (separator == kBlanks) {
    while (p != end && !is_blank(*p) && *p != '\n') ++p;
  } else {
    while (p != end && *p != separator && *p != '\n') ++p;
  }
  at_ = static_cast<std::size_t>(p - text_.data());
  char const* begin = first;
  if (p != begin && p[-1] == '\r' && (p == end || *p == '\n')) --p;
  while (begin != p && is_blank(*begin)) ++begin;
  while (p != begin && is_blank(p[-1])) --p;
  cell.text = std::string_view(begin, static_cast<std::size_t>(p - begin));
}

void CsvScanner::read_quoted(CsvCell& cell) {
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
  if (at_ >= text_.size() || text_[at_] == '\n' || text_[at_] == separator_) return;
  if (separator_ == kBlanks && is_blank(text_[at_])) return;
  fail(line_, at_ - line_start_ + 1,
       fmt::format("{} after a closing quote, expected {}", in_quotes(text_.substr(at_, 1)),
                   separator_of(separator_).name));
}

std::string_view CsvScanner::undouble(std::string_view text) {
  buffer_.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    buffer_ += text[i];
    if (text[i] == '"') ++i;
  }
  return buffer_;
}

void CsvScanner::finish(CsvCell& cell) {
  if (separator_ == kBlanks) {  // those at the end of a line part nothing
    skip_blanks();
    if (at_ + 1 < text_.size() && text_[at_] == '\r' && text_[at_ + 1] == '\n') ++at_;
    if (at_ < text_.size() && text_[at_] != '\n') return;
  }
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

CodeCell parse_code(std::string_view text, std::int32_t& value) {
  std::size_t i = 0;
  bool const negative = !text.empty() && text[0] == '-';
  if (negative) ++i;
  std::size_t const first = i;
  std::int64_t magnitude = 0;
  for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
    magnitude =
        std::min<std::int64_t>(magnitude * 10 + (text[i] - '0'), std::int64_t{kMaxCode} + 1);
  }
  if (i == first) return CodeCell::kNo;
  if (i < text.size()) {
    if (text[i] != '.' || i + 1 == text.size()) return CodeCell::kNo;
    for (++i; i < text.size(); ++i) {
      if (text[i] != '0') return CodeCell::kNo;
    }
  }
  if (magnitude > kMaxCode) return CodeCell::kTooLarge;
  value = static_cast<std::int32_t>(negative ? -magnitude : magnitude);
  return CodeCell::kYes;
}

std::optional<double> number_in(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  double value = 0.0;
  auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool const whole = failure == std::errc() && end == text.data() + text.size();
  return whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

CsvHeader read_csv_header(CsvScanner& scanner, RepeatedNames repeated) {
  if (scanner.at_end() || scanner.no_more_records()) {
    scanner.fail(1, 1, "the file is empty, expected a header row");
  }
  CsvHeader header;
  CsvCell cell;
  do {
    cell = scanner.next();
    if (header.names.size() == kMaxColumns)
      scanner.fail(cell, fmt::format("more than {} columns", kMaxColumns));
    std::string name(cell.text);
    // pandas writes an index column without a name.
    if (!name.empty() && !header.index.emplace(name, header.names.size()).second &&
        repeated == RepeatedNames::kRefused) {
      std::int32_t ignored = 0;
      scanner.fail(cell, fmt::format("column {} occurs twice{}", in_quotes(name),
                                     parse_code(name, ignored) != CodeCell::kNo
                                         ? ", and is a number; is the header row missing?"
                                         : ""));
    }
    header.names.push_back(std::move(name));
  } while (!cell.last);
  return header;
}

std::string separator_hint(CsvScanner const& scanner, CsvHeader const& header) {
  if (header.names.size() != 1) return {};
  for (Separator const& other : kSeparators) {
    if (other.character == kBlanks || other.character == scanner.separator()) continue;
    if (header.names[0].find(other.character) == std::string::npos) continue;
    return fmt::format("; the separator seems to be {}, expected {}",
                       in_quotes(std::string(1, other.character)),
                       separator_of(scanner.separator()).name);
  }
  return {};
}

std::string header_hint(CsvScanner const& scanner, CsvHeader const& header,
                        std::string const& wanted) {
  std::string const suggestion = did_you_mean(wanted, header.names);
  if (!suggestion.empty()) return suggestion;
  if (std::string hint = separator_hint(scanner, header); !hint.empty()) return hint;
  std::int32_t ignored = 0;
  bool const all_numbers = std::all_of(
      header.names.begin(), header.names.end(),
      [&](std::string const& name) { return parse_code(name, ignored) != CodeCell::kNo; });
  return all_numbers ? "; the first line holds only numbers, is the header row missing?" : "";
}

void fail_ragged(CsvScanner const& scanner, CsvCell const& cell, std::size_t cells,
                 std::size_t expected, char const* where) {
  scanner.fail(cell, fmt::format("the row has {} cell{}, expected {} as {}",
                                 cells > expected ? fmt::format("more than {}", expected)
                                                  : fmt::format("{}", cells),
                                 cells == 1 ? "" : "s", expected, where));
}

}  // namespace fairlane
