#include "engine/verify/against.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "engine/check/check.h"
#include "engine/results/manifest.h"

namespace fairlane {
namespace {

constexpr std::size_t kLongestJson = std::size_t{1} << 26;
constexpr std::size_t kLongestCsv = std::size_t{1} << 34;

/// The parts of a query that two models have to be asked alike.
void compare_queries(std::string const& dir, Json const& earlier, Json const& now) {
  for (char const* key :
       {"ranges", "from_data", "rows", "semantics", "relaxed", "where", "constraints"}) {
    auto const text = [key](Json const& query) {
      Json const* const value = query.find(key);
      return value == nullptr ? std::string("none") : value->dump();
    };
    if (text(earlier) == text(now)) continue;
    throw Error(ExitCode::kUsage,
                fmt::format("--against {}: its {} is {}, expected {} as here", in_quotes(dir, 4096),
                            key, escaped(text(earlier)), escaped(text(now))));
  }
}

}  // namespace

EarlierVerdicts read_earlier(std::string const& dir, TestSubject const& subject, Cells const& cells,
                             Json const& query) {
  check_finished(dir);
  RecordedRun const recorded = read_manifest(dir);
  if (recorded.command != "verify") {
    throw Error(
        ExitCode::kUsage,
        fmt::format("--against {}: was written by `fairlane {}`, expected `fairlane verify`",
                    in_quotes(dir, 4096), recorded.command));
  }
  try {
    compare_queries(dir, Json::parse(read_file(dir + "/manifest.json", kLongestJson)).at("verify"),
                    query);
  } catch (JsonError const& e) {
    throw Error(ExitCode::kData,
                fmt::format("{}/manifest.json: {}", escaped(dir, 4096), escaped(e.what())));
  }
  std::vector<ProtectedAttribute> const& tested = recorded.config.protected_attributes;
  bool same = tested.size() == subject.selected().size();
  for (std::size_t s = 0; same && s < tested.size(); ++s) {
    auto const a = static_cast<std::size_t>(subject.selected()[s]);
    same = tested[s].name == subject.domain().attributes[a].name &&
           tested[s].values == subject.values()[s];
  }
  if (!same) {
    throw Error(ExitCode::kUsage, fmt::format("--against {}: its attributes under test are others",
                                              in_quotes(dir, 4096)));
  }
  EarlierVerdicts earlier;
  earlier.model_sha256 = recorded.model_sha256;
  std::string const path = dir + "/cells.csv";
  std::istringstream text(read_file(path, kLongestCsv));
  std::string line;
  std::getline(text, line);
  for (std::int64_t cell = 0; cell < cells.count(); ++cell) {
    std::string expected = std::to_string(cell);
    for (AxisRange const& values : cells.values(cell))
      fmt::format_to(std::back_inserter(expected), ",{},{}", values.first, values.last);
    expected += ',';
    if (!std::getline(text, line) || line.compare(0, expected.size(), expected) != 0) {
      throw Error(ExitCode::kUsage, fmt::format("{}:{}: is not cell {} of this query, {}; expected "
                                                "the same cells (--cells)",
                                                escaped(path, 4096), cell + 2, cell, expected));
    }
    std::string const word =
        line.substr(expected.size(), line.find(',', expected.size()) - expected.size());
    auto const known = std::ranges::find(kVerdictWords, word);
    if (known == kVerdictWords.end()) {
      throw Error(ExitCode::kData, fmt::format("{}:{}: {} is no verdict", escaped(path, 4096),
                                               cell + 2, in_quotes(word)));
    }
    earlier.verdicts.push_back(static_cast<CellVerdict>(known - kVerdictWords.begin()));
  }
  if (std::getline(text, line)) {
    throw Error(ExitCode::kUsage, fmt::format("{}: has more cells than the {} of this query",
                                              escaped(path, 4096), cells.count()));
  }
  return earlier;
}

std::string against_csv(EarlierVerdicts const& earlier, std::vector<CellState> const& now) {
  std::string text = "cell,before,after\n";
  for (std::size_t cell = 0; cell < now.size(); ++cell) {
    char const* const before = kVerdictWords[static_cast<std::size_t>(earlier.verdicts[cell])];
    char const* const after = kVerdictWords[static_cast<std::size_t>(now[cell].verdict)];
    if (std::string_view(before) != after)
      fmt::format_to(std::back_inserter(text), "{},{},{}\n", cell, before, after);
  }
  return text;
}

Json against_json(EarlierVerdicts const& earlier, std::vector<CellState> const& now) {
  std::int64_t became_fair = 0;
  std::int64_t became_unfair = 0;
  std::int64_t stayed_fair = 0;
  std::int64_t stayed_unfair = 0;
  for (std::size_t cell = 0; cell < now.size(); ++cell) {
    CellVerdict const before = earlier.verdicts[cell];
    CellVerdict const after = now[cell].verdict;
    bool const was_fair = before == CellVerdict::kFair;
    bool const was_unfair = before == CellVerdict::kUnfair;
    bool const is_fair = after == CellVerdict::kFair;
    bool const is_unfair = after == CellVerdict::kUnfair;
    became_fair += was_unfair && is_fair ? 1 : 0;
    became_unfair += was_fair && is_unfair ? 1 : 0;
    stayed_fair += was_fair && is_fair ? 1 : 0;
    stayed_unfair += was_unfair && is_unfair ? 1 : 0;
  }
  auto const all = static_cast<std::int64_t>(now.size());
  return {{"model_sha256", earlier.model_sha256},
          {"became_fair", became_fair},
          {"became_unfair", became_unfair},
          {"stayed_fair", stayed_fair},
          {"stayed_unfair", stayed_unfair},
          {"unknown_in_one", all - became_fair - became_unfair - stayed_fair - stayed_unfair}};
}

}  // namespace fairlane
