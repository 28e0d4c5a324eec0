#include "engine/digest/cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "engine/digest/findings.h"
#include "models/data/csv_scanner.h"

namespace fairlane::digest {
namespace {

constexpr std::size_t kKeptCells = 100;  // of each verdict
constexpr std::size_t kKeptExamples = 10;

/// A table of numbers and words that this program has written, line by line.
class TableLines {
 public:
  explicit TableLines(std::string path) : path_(std::move(path)), file_(open_input(path_)) {
    next_line();
    CsvScanner scanner(line_, path_);
    names_ = read_csv_header(scanner, RepeatedNames::kAllowed).names;
  }
  std::vector<std::string> const& names() const { return names_; }
  std::vector<std::string_view> const& cells() const { return cells_; }
  bool next() {
    if (!next_line()) return false;
    cells_.clear();
    std::string_view rest = line_;
    for (std::size_t comma = 0; comma != std::string_view::npos;) {
      comma = rest.find(',');
      cells_.push_back(rest.substr(0, comma));
      if (comma != std::string_view::npos) rest.remove_prefix(comma + 1);
    }
    if (cells_.size() != names_.size()) fail("has another number of cells than the header");
    return true;
  }
  template <class T>
  T number(std::size_t at) const {
    T value{};
    std::string_view const text = cells_.at(at);
    auto const [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || stop != text.data() + text.size())
      fail(fmt::format("{} is no number", in_quotes(text)));
    return value;
  }
  [[noreturn]] void fail(std::string const& what) const {
    throw data_error(fmt::format("{}:{}", escaped(path_, path_.size()), number_), what);
  }

 private:
  bool next_line() {
    line_.clear();
    std::array<char, 4096> part{};
    ++number_;
    while (std::fgets(part.data(), static_cast<int>(part.size()), file_.get()) != nullptr) {
      line_ += part.data();
      if (line_.ends_with('\n')) {
        line_.pop_back();
        return true;
      }
    }
    if (std::ferror(file_.get()) != 0)
      throw Error(ExitCode::kNoInput, escaped(path_, path_.size()) + ": cannot be read");
    return !line_.empty();
  }

  std::string path_;
  InputFile file_;
  std::string line_;
  std::int64_t number_ = 0;
  std::vector<std::string> names_;
  std::vector<std::string_view> cells_;
};

/// ranges  [attributes] first and last code
struct KeptCell {
  std::int64_t cell = 0;
  std::vector<std::pair<std::int32_t, std::int32_t>> ranges;
  std::string verdict;
  std::string reason;
  std::int64_t boxes = 0;
};

std::string range_words(Attribute const& attribute, std::pair<std::int32_t, std::int32_t> range) {
  std::string const low = attribute.word(range.first);
  return range.first == range.second
             ? fmt::format("{} {}", attribute.name, low)
             : fmt::format("{} {} to {}", attribute.name, low, attribute.word(range.second));
}

/// What is under one of the verdicts, in the order of the page.
constexpr std::array<std::string_view, 3> kVerdictOrder = {"sat", "unknown", "unsat"};

Json kept_cells(std::string const& path, Domain const& domain, std::int64_t& count) {
  TableLines lines(path);
  std::size_t const n = domain.attributes.size();
  if (lines.names().size() != 2 * n + 4) lines.fail("has not the columns of this domain's cells");
  std::vector<std::pair<std::int32_t, std::int32_t>> whole(n);
  std::map<std::string, std::vector<KeptCell>, std::less<>> kept;
  for (count = 0; lines.next(); ++count) {
    KeptCell cell;
    cell.cell = lines.number<std::int64_t>(0);
    for (std::size_t a = 0; a < n; ++a) {
      cell.ranges.emplace_back(lines.number<std::int32_t>(2 * a + 1),
                               lines.number<std::int32_t>(2 * a + 2));
      auto& [low, high] = whole[a];
      low = count == 0 ? cell.ranges[a].first : std::min(low, cell.ranges[a].first);
      high = count == 0 ? cell.ranges[a].second : std::max(high, cell.ranges[a].second);
    }
    auto& same = kept[std::string(lines.cells()[2 * n + 1])];
    if (same.size() == kKeptCells) continue;
    cell.verdict = lines.cells()[2 * n + 1];
    cell.reason = lines.cells()[2 * n + 2];
    cell.boxes = lines.number<std::int64_t>(2 * n + 3);
    same.push_back(std::move(cell));
  }
  Json shown = Json::array();
  for (std::string_view const verdict : kVerdictOrder) {
    auto const found = kept.find(verdict);
    if (found == kept.end()) continue;
    for (KeptCell const& cell : found->second) {
      std::vector<std::string> where;
      for (std::size_t a = 0; a < n; ++a) {
        if (cell.ranges[a] != whole[a])
          where.push_back(range_words(domain.attributes[a], cell.ranges[a]));
      }
      shown.push_back({{"cell", cell.cell},
                       {"where", fmt::format("{}", fmt::join(where, ", "))},
                       {"verdict", cell.verdict},
                       {"reason", cell.reason},
                       {"boxes", cell.boxes}});
    }
  }
  return shown;
}

Json kept_examples(std::string const& path, Domain const& domain) {
  TableLines lines(path);
  std::size_t const n = domain.attributes.size();
  std::vector<std::string> const& names = lines.names();
  auto const label = std::ranges::find(names.rbegin(), names.rend(), "label");
  if (names.size() < n + 8 || label == names.rend())
    lines.fail("has not the columns of this domain's examples");
  auto const label_at = static_cast<std::size_t>(names.rend() - label) - 1;
  Json pairs = Json::array();
  while (pairs.size() < kKeptExamples && lines.next()) {
    std::vector<std::int32_t> row;
    for (std::size_t a = 0; a < n; ++a) row.push_back(lines.number<std::int32_t>(a + 1));
    std::vector<std::int32_t> other = row;
    constexpr std::size_t kPrefix = 5;  // pair_
    for (std::size_t at = n + 1; at < label_at; ++at) {
      int const attribute = domain.find(names[at].substr(std::min(kPrefix, names[at].size())));
      if (attribute < 0)
        lines.fail(fmt::format("{} is no column of this domain's examples", in_quotes(names[at])));
      other[static_cast<std::size_t>(attribute)] = lines.number<std::int32_t>(at);
    }
    Json pair = pair_json(domain, row, other, lines.number<std::int32_t>(label_at),
                          lines.number<std::int32_t>(label_at + 1));
    pair["decision"]["score"] = lines.number<double>(label_at + 2);
    pair["other"]["score"] = lines.number<double>(label_at + 3);
    pair["cell"] = lines.number<std::int64_t>(0);
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

}  // namespace

Json digest_cells(ResultsPlace const& place, Domain const& domain) {
  std::int64_t count = 0;
  Json shown = kept_cells(place.files + "/cells.csv", domain, count);
  return {{"count", count},
          {"shown", std::move(shown)},
          {"pairs", kept_examples(place.files + "/counterexamples.csv", domain)}};
}

Json digest_trace(std::string const& path) {
  TableLines lines(path);
  if (lines.names().size() < 4 || lines.names()[2] != "found" || lines.names()[3] != "iterations")
    lines.fail("has other columns than those of a trace");
  std::int64_t seeds = 0;
  std::map<std::int64_t, std::int64_t> by_tests;
  while (lines.next()) {
    ++seeds;
    if (lines.number<int>(2) != 0) ++by_tests[lines.number<std::int64_t>(3)];
  }
  Json tests = Json::array();
  std::int64_t found = 0;
  for (auto const& [number, count] : by_tests) {
    found += count;
    tests.push_back({{"tests", number}, {"seeds", count}});
  }
  return {{"count", seeds}, {"found", found}, {"by_tests", std::move(tests)}};
}

}  // namespace fairlane::digest
