#include "engine/report/model_card.h"

#include <fmt/format.h>

#include "engine/report/audit_words.h"
#include "engine/report/policy_words.h"

namespace fairlane::report {

std::string markdown_text(std::string_view text) {
  constexpr std::string_view kMarks = "\\`*_{}[]|~#$";
  std::string out;
  for (char const c : text) {
    if (std::string_view const entity = entity_of(c); !entity.empty()) {
      out += entity;
    } else if (c == '@') {
      out += "&#64;";  // else a code host takes it for somebody's name
    } else {
      if (kMarks.find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  }
  return out;
}

std::string markdown_shares(Json const& audit) {
  std::string table =
      "| protected | people in the table | plausible people | all possible inputs |\n"
      "|---|---|---|---|\n";
  for (Json const& set : audit.at("sets")) {
    table += "| " + markdown_text(set_words(set));
    for (ShareLine const& line : share_lines(set)) {
      table += " | " + markdown_text(line.share);
      if (!line.detail.empty()) table += " (" + markdown_text(line.detail) + ")";
    }
    table += " |\n";
  }
  return table;
}

std::string model_card(Json const& audit) {
  std::string card = "## Fairness\n\n";
  card += fmt::format(
      "{}. {}\n\n", verdict_words(audit),
      markdown_text(plain(audit.at("verdict").at("text").get<std::string>(), std::string::npos)));
  if (std::string const policy = policy_words(audit); !policy.empty())
    card += markdown_text(policy) + "\n\n";
  card +=
      "Share of people whose decision would be another one with another value of what is "
      "protected and everything else unchanged:\n\n" +
      markdown_shares(audit) + "\n";
  for (Json const& set : audit.at("sets")) {
    for (Json const& rule : list_of(set, "rules")) {
      card += fmt::format("- {}: where {}, {}.\n", markdown_text(set_words(set)),
                          markdown_text(text_of(rule, "text", kSentenceBytes)), rule_words(rule));
    }
  }
  card += "\n### Limits\n\n";
  for (Json const& set : audit.at("sets")) {
    for (std::string const& limit : limits_of(set))
      card += fmt::format("- {}: {}\n", markdown_text(set_words(set)), markdown_text(limit));
  }
  for (std::string const& assumed : texts_of(list_of(audit, "assumed"), kSentenceBytes))
    card += fmt::format("- assumed: {}\n", markdown_text(assumed));
  card += "\n### Method\n\n";
  for (auto const& [name, value] : facts_of(audit)) {
    if (name != "time") card += fmt::format("- {}: {}\n", name, markdown_text(value));
  }
  return card;
}

}  // namespace fairlane::report
