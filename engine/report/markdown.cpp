#include "engine/report/markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/report/audit_words.h"
#include "engine/report/model_card.h"
#include "engine/report/policy_words.h"

namespace fairlane {
namespace report {
namespace {

constexpr std::size_t kShownLines = 5;     // of each list: the page has all
constexpr std::size_t kShownPersons = 10;  // of each set

std::string fold(std::string const& summary, std::string const& text) {
  return fmt::format("<details>\n<summary>{}</summary>\n\n{}\n</details>\n\n", summary, text);
}

/// A block of code, in a fence that no line of it ends.
std::string fenced(char const* kind, std::string const& text) {
  std::string fence = "```";
  while (text.find(fence) != std::string::npos) fence += '`';
  return fmt::format("{}{}\n{}{}\n", fence, kind, text, fence);
}

std::string more(std::size_t all, std::size_t shown) {
  if (all <= shown) return {};
  return fmt::format("- {} more in audit.json\n", all - shown);
}

std::string whom(Json const& audit, Json const& set) {
  std::string text;
  Json const& preferences = list_of(set, "preferences");
  std::size_t const shown = std::min(preferences.size(), kShownLines);
  for (std::size_t i = 0; i < shown; ++i) {
    Json const& one = preferences[i];
    text += fmt::format(
        "- **{}** over **{}**: {} people get {} as the one and not as the other, {} "
        "the other way round\n",
        markdown_text(combination_words(set, one.at("better"))),
        markdown_text(combination_words(set, one.at("worse"))), count_words(one.at("rows")),
        markdown_text(favourable_words(audit)), count_words(one.at("reverse_rows")));
  }
  return text + more(preferences.size(), shown);
}

std::string where(Json const& set) {
  std::string text;
  for (Json const& rule : list_of(set, "rules"))
    text += fmt::format("- where **{}**: {}\n",
                        markdown_text(text_of(rule, "text", kSentenceBytes)), rule_words(rule));
  std::vector<Json> worst;
  for (Json const& one : list_of(set, "worst")) {
    if (one.at("share").get<double>() > 0.0) worst.push_back(one);
  }
  std::size_t const shown = std::min(worst.size(), kShownLines);
  for (std::size_t i = 0; i < shown; ++i) {
    Json const& one = worst[i];
    text += fmt::format("- {} {}: {} of {} people are affected ({})\n",
                        markdown_text(text_of(one, "attribute")),
                        markdown_text(text_of(one, "value")), count_words(one.at("affected")),
                        count_words(one.at("rows")), share_words(one.at("share")));
  }
  return text + more(worst.size(), shown);
}

std::string person(Json const& audit, Json const& finding) {
  std::vector<std::string> changes;
  std::vector<std::string> same;
  std::set<std::string> changed;
  for (Json const& change : finding.at("changed")) {
    changed.insert(change.at("attribute").get<std::string>());
    changes.push_back(fmt::format("**{} {} → {}**", markdown_text(text_of(change, "attribute")),
                                  markdown_text(text_of(change, "from")),
                                  markdown_text(text_of(change, "to"))));
  }
  for (auto const& [name, word] : finding.at("words").items()) {
    if (!changed.contains(name))
      same.push_back(markdown_text(plain(name) + " " + plain(word.get<std::string>())));
  }
  Json const* const severity = present(finding, "severity");
  return fmt::format("| {} | {} | {} | {} → {} | {} |\n", source_words(finding), listed(changes),
                     listed(same), markdown_text(scored_words(audit, finding.at("decision"))),
                     markdown_text(scored_words(audit, finding.at("other"))),
                     severity == nullptr ? "" : number_words(*severity));
}

std::string people(Json const& audit, Json const& set) {
  Json const& findings = list_of(set, "findings");
  if (findings.empty()) return {};
  std::size_t const shown = std::min(findings.size(), kShownPersons);
  std::string table =
      "| who | changed | the same | decision (score) | severity |\n|---|---|---|---|---|\n";
  for (std::size_t i = 0; i < shown; ++i) table += person(audit, findings[i]);
  return fold(fmt::format("{} {}, as is and as would be", shown, shown == 1 ? "person" : "people"),
              table);
}

std::string set_text(Json const& audit, Json const& set) {
  std::string text = "## " + markdown_text(set_words(set)) + "\n\n";
  if (std::string const severity = severity_words(set); !severity.empty())
    text += "Severity: " + severity + ".\n\n";
  if (std::string const lines = whom(audit, set); !lines.empty())
    text += "Against whom:\n\n" + lines + "\n";
  if (std::string const lines = where(set); !lines.empty()) text += "Where:\n\n" + lines + "\n";
  text += people(audit, set);
  if (Json const* const search = present(set, "search")) {
    text += fmt::format("Beyond the table, {}; all of them are written by\n\n{}\n",
                        markdown_text(search_words(*search)),
                        fenced("sh", text_of(*search, "command", std::string::npos) + "\n"));
  }
  std::string limits;
  for (std::string const& limit : limits_of(set)) limits += "- " + markdown_text(limit) + "\n";
  return limits.empty() ? text : text + "Limits:\n\n" + limits + "\n";
}

}  // namespace
}  // namespace report

std::string report_markdown(Json const& audit) {
  using namespace report;
  std::string text = fmt::format(
      "# {}\n\n{}\n\n", verdict_words(audit),
      markdown_text(plain(audit.at("verdict").at("text").get<std::string>(), std::string::npos)));
  if (std::string const policy = policy_words(audit); !policy.empty())
    text += fmt::format("**{}**\n\n", markdown_text(policy));
  text +=
      "Share of people whose decision would be another one with another value of what is "
      "protected and everything else unchanged:\n\n" +
      markdown_shares(audit) + "\n";
  for (Json const& set : audit.at("sets")) text += set_text(audit, set);
  if (Json const& assumed = list_of(audit, "assumed"); !assumed.empty()) {
    text += "## What was assumed\n\n";
    for (std::string const& line : texts_of(assumed, kSentenceBytes))
      text += "- " + markdown_text(line) + "\n";
    text += "\n";
  }
  text += "## How to repeat it\n\n";
  for (auto const& [name, value] : facts_of(audit))
    text += fmt::format("- {}: {}\n", name, markdown_text(value));
  std::string const commands = reproduce_words(audit);
  if (!commands.empty()) text += "\n" + fenced("sh", commands);
  text += "\n";
  std::string words;
  for (auto const& [term, meaning] : glossary())
    words += fmt::format("- **{}**: {}\n", term, meaning);
  return text + fold("Words", words) +
         fold("A section for a model card", fenced("markdown", model_card(audit)));
}

}  // namespace fairlane
