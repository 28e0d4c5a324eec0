#include "apps/text/audit_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "apps/console.h"
#include "apps/text/finding_text.h"
#include "base/error.h"
#include "base/formats/json.h"
#include "base/text.h"
#include "engine/report/audit_words.h"

namespace fairlane {
namespace {

constexpr std::size_t kRules = 3;
constexpr std::size_t kFindings = 3;

std::string text_of(Json const& json, char const* key) {
  auto const text = json.at(key).get<std::string>();
  return escaped(text, text.size());
}

std::string interval_text(Json const& share) {
  if (share.is_null()) return "not examined";
  std::string const middle = fine_percent(share.at("share").get<double>());
  auto const low = share.at("low").get<double>();
  auto const high = share.at("high").get<double>();
  if (low == high) return middle;
  return fmt::format("{} ({} to {})", middle, fine_percent(low), fine_percent(high));
}

std::string shares_table(Json const& sets) {
  std::vector<std::vector<std::string>> rows = {{"protected", "people in the table",
                                                 "plausible people", "all inputs", "severity",
                                                 "profiles found"}};
  for (auto const& set : sets) {
    Json const& own = set.at("rows");
    Json const& severity = set.at("severity");
    Json const& search = set.at("search");
    rows.push_back(
        {text_of(set, "name"),
         fmt::format("{} of {} ({})", with_commas(own.at("affected").get<std::int64_t>()),
                     with_commas(own.at("count").get<std::int64_t>()),
                     fine_percent(own.at("share").get<double>())),
         interval_text(set.at("plausible")), interval_text(set.at("domain")),
         severity.is_null() ? "-" : fmt::format("{:.2f}", severity.at("mean").get<double>()),
         search.is_null() ? "not searched" : with_commas(search.at("groups").get<std::int64_t>())});
  }
  return aligned(rows);
}

std::string rules_text(Json const& set) {
  std::string text;
  for (auto const& rule : set.at("rules")) {
    if (static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) == kRules) break;
    text += fmt::format("  {}: {} of {} rows, {} of all affected\n", text_of(rule, "text"),
                        with_commas(rule.at("affected").get<std::int64_t>()),
                        with_commas(rule.at("rows").get<std::int64_t>()),
                        percent(rule.at("coverage").get<double>()));
  }
  return text.empty() ? text
                      : fmt::format("\nWhere {} matters most:\n{}", text_of(set, "name"), text);
}

std::string findings_text(Json const& audit, Json const& set) {
  std::string text;
  std::size_t shown = 0;
  for (auto const& finding : set.at("findings")) {
    if (shown++ == kFindings) break;
    text += finding_text(
        finding, [&](Json const& outcome) { return report::outcome_words(audit, outcome); });
  }
  return text.empty() ? text
                      : fmt::format("\nFor instance, by {}:\n{}", text_of(set, "name"), text);
}

}  // namespace

std::string audit_text(std::string const& json, std::string const& source) {
  try {
    Json const audit = Json::parse(json);
    Json const& sets = audit.at("sets");
    std::string text = text_of(audit.at("verdict"), "text") + "\n\n" + shares_table(sets);
    for (auto const& set : sets) text += rules_text(set);
    return text + findings_text(audit, sets[sets.size() - 1]);
  } catch (JsonError const& e) {
    throw Error(ExitCode::kData, fmt::format("{}: is no audit of this program: {}",
                                             escaped(source, source.size()), escaped(e.what())));
  }
}

std::string audit_progress_text(AuditProgress const& progress) {
  return fmt::format("{}  {}", escaped(progress.what), seconds_text(progress.seconds));
}

}  // namespace fairlane
