#include "engine/recheck/checked_against.h"

#include <fmt/format.h>

#include <map>

#include "base/files.h"
#include "base/sha256.h"
#include "base/text.h"
#include "engine/verify/against.h"

namespace fairlane {
namespace {

constexpr std::size_t kLongestList = std::size_t{1} << 34;

/// The key of the summary that counts a cell.
char const* counted_as(std::string_view before, std::string_view after) {
  if (before == "unknown" || after == "unknown") return "unknown_in_one";
  if (before == after) return after == "unsat" ? "stayed_fair" : "stayed_unfair";
  return after == "unsat" ? "became_fair" : "became_unfair";
}

}  // namespace

std::vector<std::string> against_problems(std::string const& dir, std::string const& earlier,
                                          TestSubject const& subject, Cells const& cells,
                                          Json const& query, Json const& against,
                                          std::span<CertifiedCell const> now) {
  std::vector<std::string> problems;
  auto const expect = [&](bool holds, std::string const& what) {
    if (!holds) problems.push_back(what);
  };
  std::string const digest = sha256_file(earlier + "/cells.csv");
  expect(query.value("against", "") == digest,
         fmt::format("{}/cells.csv: has SHA-256 {}, but {}/manifest.json records {}: it is of "
                     "another verification",
                     escaped(earlier, 4096), digest, escaped(dir, 4096),
                     escaped(query.value("against", "none"))));
  EarlierVerdicts const before = read_earlier(earlier, subject, cells, query);
  std::map<std::string, std::int64_t> counts = {{"became_fair", 0},
                                                {"became_unfair", 0},
                                                {"stayed_fair", 0},
                                                {"stayed_unfair", 0},
                                                {"unknown_in_one", 0}};
  std::string changed = "cell,before,after\n";
  for (std::size_t cell = 0; cell < now.size(); ++cell) {
    std::string const was = kVerdictWords[static_cast<std::size_t>(before.verdicts[cell])];
    std::string const is = verdict_word(now[cell].verdict);
    ++counts.at(counted_as(was, is));
    if (was != is) changed += fmt::format("{},{},{}\n", cell, was, is);
  }
  expect(read_file(dir + "/against.csv", kLongestList) == changed,
         fmt::format("{}/against.csv: does not list the cells whose verdicts differ",
                     escaped(dir, 4096)));
  for (auto const& [name, count] : counts) {
    auto const stated = against.at(name).get<std::int64_t>();
    expect(stated == count, fmt::format("{}/summary.json: against.{} is {}, expected {}",
                                        escaped(dir, 4096), name, stated, count));
  }
  expect(against.at("model_sha256").get<std::string>() == before.model_sha256,
         fmt::format("{}/summary.json: against.model_sha256 is not that of {}", escaped(dir, 4096),
                     escaped(earlier, 4096)));
  return problems;
}

}  // namespace fairlane
