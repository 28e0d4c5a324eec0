// Cuts tables into cells: CSV as RFC 4180 has it, with one of several separators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace fairlane {

/// Longest file that is read.
inline constexpr std::size_t kMaxTableBytes = std::size_t{1} << 32;

/// What stands between cells, as domain files and messages spell it.
struct Separator {
  char character = ',';
  char const* key;   // in a domain file
  char const* name;  // "a comma"
};
/// Cells stand between runs of blanks and tabs.
inline constexpr char kBlanks = ' ';
inline constexpr Separator kSeparators[] = {{',', ",", "a comma"},
                                            {';', ";", "a semicolon"},
                                            {'\t', "tab", "a tab"},
                                            {'|', "|", "a bar"},
                                            {kBlanks, "blanks", "a blank"}};
/// The row of a separator.
Separator const& separator_of(char character);

/// One cell: its text without quotes and blanks around it, and where it begins.
struct CsvCell {
  std::string_view text;
  std::int64_t line = 0;
  std::size_t column = 0;
  bool quoted = false;
  bool last = false;  // of its record
};

/// Cuts a text into cells, one after the other, and keeps count of lines.
class CsvScanner {
 public:
  /// source: names the text in messages. Throws Error(kData) for a NUL byte, and where lines end
  /// in CR alone.
  CsvScanner(std::string_view text, std::string const& source, char separator = ',');

  /// Error(kData) "source:line:column: what".
  [[noreturn]] void fail(std::int64_t line, std::size_t column, std::string const& what) const;
  [[noreturn]] void fail(CsvCell const& cell, std::string const& what) const {
    fail(cell.line, cell.column, what);
  }

  std::int64_t line() const { return line_; }
  bool at_end() const { return at_ >= text_.size(); }
  char separator() const { return separator_; }

  /// True when nothing but blank lines follows; a blank line before more data is an error.
  bool no_more_records();

  /// The text of a cell with doubled quotes stays valid until the next such cell.
  CsvCell next();

 private:
  bool is_blank(char c) const { return c == ' ' || (c == '\t' && separator_ != '\t'); }
  void skip_blanks();
  void read_plain(CsvCell& cell);
  void read_quoted(CsvCell& cell);
  std::string_view undouble(std::string_view text);
  void finish(CsvCell& cell);

  std::string_view text_;
  std::string source_;
  char separator_;
  std::string buffer_;
  std::size_t at_ = 0;
  std::size_t line_start_ = 0;
  std::size_t record_start_ = 0;
  std::int64_t line_ = 1;
};

/// Whether a cell is an integer code.
enum class CodeCell { kYes, kNo, kTooLarge };
/// Reads "-3" or "3.0"; a value that float32 cannot hold exactly is too large.
CodeCell parse_code(std::string_view text, std::int32_t& value);
/// A cell's finite number, "+3" and "1e3" too; nothing where it is something else.
std::optional<double> number_in(std::string_view text);

/// Names of the columns, and where each first stands.
struct CsvHeader {
  std::vector<std::string> names;
  std::unordered_map<std::string, std::size_t> index;
};
/// Whether two columns may have one name; index then has the first.
enum class RepeatedNames { kRefused, kAllowed };
/// Reads the first record. Throws Error(kData).
CsvHeader read_csv_header(CsvScanner& scanner, RepeatedNames repeated = RepeatedNames::kRefused);

/// Of a single column: which other separator its name has, if any; for messages.
std::string separator_hint(CsvScanner const& scanner, CsvHeader const& header);
/// What could be wrong with a header that lacks a column.
std::string header_hint(CsvScanner const& scanner, CsvHeader const& header,
                        std::string const& wanted);

/// A row has too few cells, `cells` of them, or too many. where: what has `expected` columns.
[[noreturn]] void fail_ragged(CsvScanner const& scanner, CsvCell const& cell, std::size_t cells,
                              std::size_t expected, char const* where = "in the header");

}  // namespace fairlane
