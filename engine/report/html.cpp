#include "engine/report/html.h"

#include <fmt/format.h>

#include "engine/report/audit_words.h"
#include "engine/report/html_parts.h"
#include "engine/report/html_people.h"
#include "engine/report/html_shares.h"
#include "engine/report/model_card.h"
#include "engine/report/policy_words.h"

namespace fairlane {
namespace report {
namespace {

std::string verdict(Json const& audit) {
  std::string markup =
      element("p class=\"over\"", fmt::format("Fairness of {} on {}", text_of(audit, "model"),
                                              text_of(audit, "table"))) +
      element("h1", verdict_words(audit)) +
      element("p", plain(audit.at("verdict").at("text").get<std::string>(), std::string::npos));
  if (std::string const policy = policy_words(audit); !policy.empty())
    markup += element("p class=\"limit\"", policy);
  return wrapped("header", wrapped("div class=\"verdict\"", markup));
}

std::string search_section(Json const& audit) {
  std::string items;
  std::vector<std::string> none;
  for (Json const& set : audit.at("sets")) {
    Json const* const search = present(set, "search");
    if (search == nullptr) {
      none.push_back(set_words(set));
      continue;
    }
    items += wrapped("li", html_text(set_words(set) + ": " + search_words(*search) +
                                     "; all of them are written by ") +
                               element("code", text_of(*search, "command", std::string::npos)));
  }
  std::string markup = element(
      "p",
      "A search goes where findings are, also to inputs that are no row of the table and resemble "
      "nobody: its counts are no shares of people.");
  if (!items.empty()) markup += wrapped("ul", items);
  if (!none.empty())
    markup += element("p class=\"soft\"", "Not examined for " + listed(none) + ".");
  return section("search", "What the search found beyond the table", markup);
}

std::string limits_section(Json const& audit, Room const& room) {
  std::string markup;
  for (Json const& set : audit.at("sets")) {
    std::vector<std::string> const limits = limits_of(set);
    markup += element("h3", set_words(set));
    markup += limits.empty() ? element("p", "Everything above was examined.")
                             : html_list(limits, room.lines);
  }
  if (Json const& assumed = list_of(audit, "assumed"); !assumed.empty())
    markup += element("h3", "What was assumed") +
              html_list(texts_of(assumed, kSentenceBytes), room.lines);
  return section("limits", "Limits of this result", markup);
}

std::string reproduce_section(Json const& audit) {
  std::string const commands = reproduce_words(audit);
  std::string markup = html_terms(facts_of(audit));
  if (!commands.empty()) markup += "<pre><code>" + html_text(commands) + "</code></pre>\n";
  markup += folded("A section for a model card, in Markdown",
                   "<pre><code>" + html_text(model_card(audit)) + "</code></pre>\n");
  return section("reproduce", "How to repeat it", markup);
}

std::string page(Json const& audit, Room const& room) {
  return page_begin(fmt::format("{}: audit of {}", verdict_words(audit), text_of(audit, "model"))) +
         verdict(audit) +
         navigation({{"how-much", "How much"},
                     {"against-whom", "Against whom"},
                     {"where", "Where"},
                     {"people", "People"},
                     {"search", "Beyond the table"},
                     {"limits", "Limits"},
                     {"reproduce", "How to repeat it"},
                     {"words", "Words"}}) +
         "<main id=\"main\">\n" + how_much_section(audit) + against_whom_section(audit, room) +
         where_section(audit, room) + people_section(audit, room) + search_section(audit) +
         limits_section(audit, room) + reproduce_section(audit) +
         section("words", "Words", html_terms(glossary())) + "</main>\n" +
         element("footer", fmt::format("Written by fairlane {} from audit.json, which has every "
                                       "number of this page.",
                                       text_of(audit, "version"))) +
         "</body>\n</html>\n";
}

}  // namespace
}  // namespace report

std::string report_html(Json const& audit) {
  return report::fitted([&](report::Room const& room) { return report::page(audit, room); });
}

}  // namespace fairlane
