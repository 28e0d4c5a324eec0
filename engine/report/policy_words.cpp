#include "engine/report/policy_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/report/audit_words.h"

namespace fairlane::report {
namespace {

/// Where a share lies.
struct Range {
  double low = 0.0;
  double high = 1.0;
};

std::int64_t undefined_of(Json const& measured) {
  Json const* const undefined = present(measured, "undefined");
  return undefined == nullptr ? 0 : undefined->get<std::int64_t>();
}

/// Rows whose outputs are undefined may be affected or not.
Range range_of(Json const& measured) {
  if (Json const* const low = present(measured, "low"))
    return {low->get<double>(), measured.at("high").get<double>()};
  auto const share = measured.at("share").get<double>();
  std::int64_t const undefined = undefined_of(measured);
  if (undefined == 0) return {share, share};
  std::int64_t const possible = measured.at("affected").get<std::int64_t>() + undefined;
  return {share, static_cast<double>(possible) / measured.at("count").get<double>()};
}

/// The sets of which the limit says one thing, that of the greatest share first.
std::vector<Json const*> sets_that(Json const& audit, LimitState state) {
  Json const& policy = audit.at("policy");
  auto const of = policy.at("share").get<std::string>();
  auto const above = policy.at("above").get<double>();
  std::vector<Json const*> sets;
  for (Json const& set : audit.at("sets")) {
    if (limit_state(set, of, above) == state) sets.push_back(&set);
  }
  std::ranges::stable_sort(sets, std::ranges::greater(), [&](Json const* set) {
    Json const* const measured = present(*set, of);
    return measured == nullptr ? 0.0 : measured->at("share").get<double>();
  });
  return sets;
}

}  // namespace

LimitState limit_state(Json const& set, std::string_view of, double above) {
  Json const* const measured = present(set, of);
  if (measured == nullptr) return LimitState::kUnexamined;
  Range const range = range_of(*measured);
  if (range.low > above) return LimitState::kExceeded;
  return range.high <= above ? LimitState::kKept : LimitState::kUndecided;
}

std::string policy_share_words(std::string_view share) {
  if (share == "rows") return "people in the table";
  return share == "plausible" ? "plausible people" : "all possible inputs";
}

std::string measured_words(Json const& set, std::string_view of) {
  Json const& measured = set.at(of);
  std::string const middle = share_words(measured.at("share"));
  if (Json const* const low = present(measured, "low")) {
    Json const& high = measured.at("high");
    return *low == high
               ? middle
               : fmt::format("{} ({} to {})", middle, share_words(*low), share_words(high));
  }
  if (undefined_of(measured) == 0) return middle;
  return fmt::format("{} (and {} of the {} may be)", middle, count_words(measured.at("undefined")),
                     count_words(measured.at("count")));
}

std::string policy_words(Json const& audit) {
  Json const* const policy = present(audit, "policy");
  if (policy == nullptr) return {};
  std::string const limit = fmt::format("{} of {}", share_words(policy->at("above")),
                                        policy_share_words(policy->at("share").get<std::string>()));
  Json const* const met = present(*policy, "met");
  if (met == nullptr) return fmt::format("Whether the limit of {} is kept is undecided.", limit);
  if (!met->get<bool>()) return fmt::format("The limit of {} is kept.", limit);
  std::vector<std::string> sets;
  for (Json const* const set : sets_that(audit, LimitState::kExceeded))
    sets.push_back(set_words(*set));
  return fmt::format("The limit of {} is exceeded{}.", limit,
                     sets.empty() ? "" : " by " + listed(sets));
}

std::string exceeded_words(Json const& audit) {
  std::vector<Json const*> const sets = sets_that(audit, LimitState::kExceeded);
  if (sets.empty()) return {};
  Json const& policy = audit.at("policy");
  auto const of = policy.at("share").get<std::string>();
  std::string text = fmt::format("{} of {} are affected by {}, above the limit of {}",
                                 measured_words(*sets.front(), of), policy_share_words(of),
                                 set_words(*sets.front()), share_words(policy.at("above")));
  if (sets.size() == 2) text += "; 1 more set is above it";
  if (sets.size() > 2) text += fmt::format("; {} more sets are above it", sets.size() - 1);
  return text;
}

}  // namespace fairlane::report
