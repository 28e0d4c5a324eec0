#include "engine/recheck/checked_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <optional>
#include <sstream>

#include "base/files.h"
#include "base/text.h"

namespace fairlane {
namespace {

constexpr std::size_t kLongestCells = std::size_t{1} << 34;
constexpr std::int64_t kMostBoxes = std::int64_t{1} << 40;  // of a cell
constexpr std::array<std::string_view, 4> kReasons = {"boxes", "seconds", "undefined", "margin"};

using Verdict = CertifiedCell::Verdict;

/// The whole number that a text is; nullopt where it is none.
std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::vector<std::string_view> cut_at_commas(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    std::size_t const comma = line.find(',');
    words.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return words;
    line.remove_prefix(comma + 1);
  }
}

CheckedCells check_cells_csv(std::string const& dir, Cells const& cells, Domain const& domain,
                             std::span<CertifiedCell const> certified) {
  CheckedCells found;
  std::string const path = dir + "/cells.csv";
  std::string const shown = escaped(path, 4096);
  std::istringstream text(read_file(path, kLongestCells));
  std::string expected = "cell";
  for (Attribute const& attribute : domain.attributes) {
    for (char const* end : {"_low", "_high"}) expected += "," + csv_cell(attribute.name + end);
  }
  std::string line;
  if (!std::getline(text, line) || line != expected + ",verdict,reason,boxes") {
    found.problems.push_back(shown + ":1: the header is not that of the domain's attributes");
    return found;
  }
  for (std::int64_t cell = 0; cell < cells.count(); ++cell) {
    std::string const place = fmt::format("{}:{}", shown, cell + 2);
    if (!std::getline(text, line)) {
      found.problems.push_back(fmt::format("{}: expected a line for cell {}", place, cell));
      return found;
    }
    expected = std::to_string(cell);
    for (AxisRange const& values : cells.values(cell))
      fmt::format_to(std::back_inserter(expected), ",{},{}", values.first, values.last);
    auto const& [verdict, proof] = certified[static_cast<std::size_t>(cell)];
    fmt::format_to(std::back_inserter(expected), ",{},", verdict_word(verdict));
    // A fair cell is empty where no leaf of it may have anybody.
    bool const empty = verdict == Verdict::kFair && proof.find_first_of("mvuekn") == proof.npos;
    found.empty += empty ? 1 : 0;
    auto const rest = line.compare(0, expected.size(), expected) == 0
                          ? cut_at_commas(std::string_view(line).substr(expected.size()))
                          : std::vector<std::string_view>();
    std::int64_t const boxes = rest.size() == 2 ? whole_number(rest[1]).value_or(-1) : 0;
    std::int64_t const fewest = rest.size() == 2 && rest[0] == "seconds" ? 0 : 1;
    bool const known = rest.size() == 2 && boxes >= fewest && boxes <= kMostBoxes &&
                       (verdict == Verdict::kUnknown ? std::ranges::count(kReasons, rest[0]) == 1
                                                     : rest[0] == (empty ? "empty" : ""));
    if (known) {
      found.boxes += static_cast<std::uint64_t>(boxes);
    } else {
      found.problems.push_back(
          fmt::format("{}: expected {}... with its reason and boxes", place, expected));
    }
  }
  if (std::getline(text, line))
    found.problems.push_back(shown + ": has lines after those of the cells");
  return found;
}

}  // namespace fairlane
