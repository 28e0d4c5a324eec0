#include "apps/text/finding_text.h"

#include <fmt/format.h>

#include "base/text.h"
#include "engine/digest/top_findings.h"
#include "engine/plausibility/plausibility_json.h"

namespace fairlane {
namespace {

std::string change_text(Json const& json, char const* key) {
  auto const text = json.at(key).get<std::string>();
  return escaped(text, text.size());
}

/// "severity 0.412; implausibility 95.2 (distance 0.083, surprise 14.20)", for a severity that is
/// unknown the difference of the pair's scores; empty where nothing is known.
std::string figures_text(Json const& finding) {
  std::string text;
  if (Json const* const severity = finding.find("severity"))
    text = fmt::format("severity {:.3f}", severity->get<double>());
  if (Json const* const difference = finding.find("pair_difference"))
    text = fmt::format("difference of the pair {:.3f}", difference->get<double>());
  if (Json const* const json = finding.find("plausibility")) {
    Plausibility const one = plausibility_of(*json);
    text += fmt::format("{}implausibility {:.1f} (distance {:.3f}, surprise {:.2f})",
                        text.empty() ? "" : "; ", one.implausibility(), one.distance, one.surprise);
  }
  return text;
}

/// knows_severity  whether findings have it, not only the difference of a pair
char const* title_of(std::string const& sort, bool knows_severity) {
  switch (find_word<FindingOrder>(sort)->value) {
    case FindingOrder::kFile:
      return "first findings";
    case FindingOrder::kSeverity:
      return knows_severity ? "most severe findings" : "findings with the widest pairs";
    case FindingOrder::kPlausibility:
      return "most plausible findings";
    case FindingOrder::kDiversity:
      return knows_severity ? "severe, plausible and different findings"
                            : "findings with wide pairs, plausible and different";
  }
  return "";
}

}  // namespace

std::string finding_text(Json const& finding,
                         std::function<std::string(Json const&)> const& outcome) {
  Json const* const changed = finding.find("changed");  // absent where nothing tells of a pair
  std::string person;
  for (auto const& [name, word] : finding.at("words").items()) {
    bool is_changed = false;
    for (std::size_t i = 0; changed != nullptr && i < changed->size(); ++i)
      is_changed = is_changed || changed->at(i).at("attribute").get<std::string>() == name;
    if (!is_changed)
      person += fmt::format("{}{} {}", person.empty() ? "" : ", ", escaped(name),
                            escaped(word.get<std::string>()));
  }
  Json const* const line = finding.find("line");
  std::string text = fmt::format("- {}{}\n", person,
                                 line == nullptr || line->is_null()
                                     ? ""
                                     : fmt::format("  (line {})", line->get<std::int64_t>()));
  if (changed == nullptr) return text;
  std::string own;
  std::string other;
  for (Json const& change : *changed) {
    own += fmt::format("{}{} {}", own.empty() ? "" : ", ", change_text(change, "attribute"),
                       change_text(change, "from"));
    other += fmt::format("{}{} {}", other.empty() ? "" : ", ", change_text(change, "attribute"),
                         change_text(change, "to"));
  }
  return text + fmt::format("    {}: {};  {}: {}\n", own, escaped(outcome(finding.at("decision"))),
                            other, escaped(outcome(finding.at("other"))));
}

std::string top_text(Json const& top) {
  auto const decision = [](Json const& one) {
    return "decision " + one.at("word").get<std::string>();
  };
  std::string text;
  for (Json const& finding : top.at("findings")) {
    if (text.empty()) {
      text = fmt::format("\n{}:\n",
                         title_of(top.at("sort").get<std::string>(), finding.contains("severity")));
    }
    text += finding_text(finding, decision);
    std::string const figures = figures_text(finding);
    if (!figures.empty()) text += "    " + figures + "\n";
  }
  return text.empty() ? "\nno findings\n" : text;
}

}  // namespace fairlane
