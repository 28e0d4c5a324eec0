#include "engine/report/html_people.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/report/audit_words.h"

namespace fairlane::report {
namespace {

std::string three_cells(std::string_view row, std::string const& head, std::string const& first,
                        std::string const& second) {
  return wrapped(row,
                 wrapped("th scope=\"row\"", head) + element("td", first) + wrapped("td", second));
}

}  // namespace

std::string person_card(Json const& results, Json const& finding, PersonTitle const& title,
                        Room const& room) {
  std::map<std::string, Json const*> changed;
  for (Json const& change : finding.at("changed"))
    changed.emplace(change.at("attribute").get<std::string>(), &change);
  std::string table =
      table_begin(title.name + " as is and as would be", {"attribute", "as is", "as would be"});
  std::size_t same = 0;
  for (auto const& [name, word] : finding.at("words").items()) {
    auto const change = changed.find(name);
    std::string const head = html_text(plain(name));
    if (change != changed.end()) {
      table += three_cells("tr class=\"changed\"", head + "<small>changed</small>",
                           text_of(*change->second, "from"),
                           "→ " + html_text(text_of(*change->second, "to")));
    } else if (same++ < room.attributes) {
      std::string const text = plain(word.get<std::string>());
      table += three_cells("tr class=\"same\"", head, text, html_text(text));
    }
  }
  table +=
      three_cells("tr class=\"outcome\"", "decision", scored_words(results, finding.at("decision")),
                  html_text(scored_words(results, finding.at("other")))) +
      "</tbody></table>\n";
  std::string about = left_out(same, std::min(same, room.attributes), title.file);
  if (Json const* const severity = present(finding, "severity"))
    about += element("p", fmt::format("Severity {}.", number_words(*severity)));
  if (Json const* const difference = present(finding, "pair_difference"))
    about += element("p", fmt::format("Difference of the pair {}.", number_words(*difference)));
  if (std::string const ordinary = ordinary_words(finding); !ordinary.empty())
    about += element("p class=\"soft\"", "How ordinary: " + ordinary + ".");
  if (!title.source.empty()) table = element("p class=\"soft\"", title.source) + table;
  return wrapped("article class=\"person\"",
                 element(fmt::format("h{}", title.level), title.name) + table + about);
}

std::string people_section(Json const& audit, Room const& room) {
  std::string markup;
  std::vector<std::string> none;
  bool first = true;
  for (Json const& set : audit.at("sets")) {
    Json const& findings = list_of(set, "findings");
    if (findings.empty()) {
      none.push_back(set_words(set));
      continue;
    }
    std::size_t const shown = std::min(findings.size(), room.people);
    std::string cards;
    for (std::size_t i = 0; i < shown; ++i) {
      PersonTitle const title{fmt::format("Person {}", i + 1), source_words(findings[i])};
      cards += person_card(audit, findings[i], title, room);
    }
    cards = wrapped("div class=\"people\"", cards) + left_out(findings.size(), shown);
    markup += element("h3", set_words(set));
    markup += first ? cards
                    : folded(fmt::format("{} {}", shown, shown == 1 ? "person" : "people"), cards);
    first = false;
  }
  if (!markup.empty()) {
    markup =
        element("p",
                "Each of them gets one decision as is, and another one as would be, with "
                "nothing changed but what is marked. The number behind a decision is its score.") +
        markup;
  }
  if (!none.empty())
    markup += element("p class=\"soft\"", "Nobody was found for " + listed(none) + ".");
  return section("people", "People side by side", markup);
}

}  // namespace fairlane::report
