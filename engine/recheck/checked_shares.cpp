#include "engine/recheck/checked_shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "engine/count/binomial_interval.h"

namespace fairlane {
namespace {

constexpr double kRounding = 1e-9;         // of shares, more than sums of counts are rounded by
constexpr double kConfidence = 0.9999999;  // a disagreement is an error
constexpr std::int64_t kDrawsForOne = 64;  // where few groups exist

}  // namespace

void GroupTeller::add(std::vector<std::int32_t> const& entries, GroupTally& tally) const {
  GroupBox point;
  for (std::int32_t const entry : entries) point.push_back({entry, entry});
  if (domain_.excess(entries) > 0 || existence_.possible(point, variants_).empty()) return;
  ++tally.groups;
  tally.not_fair += groups_.are_fair(point, variants_, &existence_) ? 0 : 1;
}

GroupTally GroupTeller::count(std::int64_t first, std::int64_t last) const {
  GroupBox const whole = domain_.whole();
  GroupTally tally;
  std::vector<std::int32_t> entries(whole.size());
  for (std::int64_t number = first; number < last; ++number) {
    std::int64_t rest = number;
    for (std::size_t a = whole.size(); a-- > 0;) {
      entries[a] = whole[a].first + static_cast<std::int32_t>(rest % whole[a].size());
      rest /= whole[a].size();
    }
    add(entries, tally);
  }
  return tally;
}

GroupTally GroupTeller::draw(std::uint64_t seed, std::int64_t count) const {
  GroupBox const whole = domain_.whole();
  std::mt19937_64 random(seed);
  GroupTally tally;
  std::vector<std::int32_t> entries(whole.size());
  for (std::int64_t tries = 0; tally.groups < count && tries < kDrawsForOne * count; ++tries) {
    // Axes have at most 2^22 entries: of 64 bits, the remainder is as good as uniform.
    for (std::size_t a = 0; a < whole.size(); ++a) {
      auto const size = static_cast<std::uint64_t>(whole[a].size());
      entries[a] = whole[a].first + static_cast<std::int32_t>(random() % size);
    }
    add(entries, tally);
  }
  return tally;
}

std::vector<std::string> share_problems(Json const& shares, double all, GroupTally const& tally,
                                        bool counted) {
  std::vector<std::string> problems;
  auto const expect = [&](bool holds, std::string const& what) {
    if (!holds) problems.push_back(what);
  };
  auto const groups = shares.at("groups").get<double>();
  auto const fair = shares.at("fair").get<double>();
  auto const unfair = shares.at("unfair").get<double>();
  auto const undecided = shares.at("undecided").get<double>();
  double const most = counted ? static_cast<double>(tally.groups) : all;
  double const least = counted ? most : 0.0;
  expect(
      groups >= least * (1.0 - kRounding) && groups <= most * (1.0 + kRounding),
      fmt::format("shares.groups is {}, expected {}{}", groups, counted ? "" : "at most ", most));
  for (double const share : {fair, unfair, undecided}) {
    expect(share >= -kRounding && share <= 1.0 + kRounding,
           fmt::format("shares has {}, expected 0 to 1", share));
  }
  double const sum = fair + unfair + undecided;
  expect(groups == 0.0 || std::abs(sum - 1.0) <= kRounding,
         fmt::format("shares are {} in all, expected 1", sum));
  auto const& sample = shares.at("sample");
  auto const sampled = sample.at("unfair").get<double>();
  expect(sample.at("low").get<double>() <= sampled && sampled <= sample.at("high").get<double>(),
         fmt::format("shares.sample.unfair is {}, expected low to high", sampled));
  if (tally.groups == 0) return problems;
  std::optional<double> const confidence =
      counted ? std::nullopt : std::optional<double>(kConfidence);
  auto const [low, high] = interval_of({tally.not_fair, tally.not_fair}, tally.groups, confidence);
  std::string const by = counted ? "all its groups say" : "groups drawn anew say";
  expect(unfair <= high + kRounding,
         fmt::format("shares.unfair is {}, but {} that at most {} are unfair", unfair, by, high));
  expect(fair <= 1.0 - low + kRounding,
         fmt::format("shares.fair is {}, but {} that at most {} are fair", fair, by, 1.0 - low));
  return problems;
}

}  // namespace fairlane
