#include "engine/report/results_html.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "engine/report/audit_words.h"
#include "engine/report/html.h"
#include "engine/report/html_findings.h"
#include "engine/report/html_parts.h"
#include "engine/report/html_shares.h"
#include "engine/report/html_tables.h"
#include "engine/report/results_words.h"

namespace fairlane {
namespace report {
namespace {

/// A part of a result's page.
struct ResultPart {
  std::string id;
  std::string title;
  std::string markup;
};

std::string shares_markup(Json const& digest) {
  std::vector<ShareLine> const lines = shares_of(digest);
  std::string markup;
  if (!lines.empty()) {
    double most = 0.0;
    for (ShareLine const& line : lines) most = std::max(most, line.high);
    markup = shares_table("Shares; a whisker is an interval", {"of what", "share"}, lines,
                          scale_end(most));
  }
  return markup + html_terms(counts_of(digest));
}

/// The configuration as JSON, which is YAML, too.
std::string configuration_markup(Json const& manifest) {
  Json const* const config = manifest.find("config");
  Json const& shown = config == nullptr ? manifest : *config;
  return folded_on_screen("The configuration as resolved",
                          "<pre><code>" + html_text(shown.dump(2)) + "</code></pre>\n");
}

std::string repeat_markup(Json const& digest) {
  return html_terms(origins_of(digest)) +
         element("p", digest.at("command") == "audit"
                          ? "Paths are relative to the directory of the results, but in the "
                            "commands to that in which the audit was made."
                          : "Paths are relative to the directory of the results.") +
         "<pre><code>" + html_text(command_of(digest)) + "</code></pre>\n" +
         configuration_markup(digest.at("manifest"));
}

/// level  of the headings within a part
std::vector<ResultPart> parts_of(Json const& digest, int level, Room const& room) {
  std::string const command = digest.at("command").get<std::string>();
  std::vector<ResultPart> parts;
  auto const add = [&](char const* id, char const* title, std::string markup) {
    if (!markup.empty()) parts.push_back({id, title, std::move(markup)});
  };
  bool const has_people = command == "run" || command == "enumerate";
  add("how-much", "How much",
      shares_markup(digest) + (command == "enumerate" ? severity_markup(digest) : std::string()));
  if (command == "compare") {
    add("methods", "Methods side by side", methods_markup(digest));
    add("curves", "Progress", curves_markup(digest));
  }
  if (command == "retrain") add("models", "Before and after", retrained_markup(digest, room));
  if (has_people) {
    add("against-whom", "Against whom", directions_markup(digest, room));
    add("where", "Where", places_markup(digest, room));
  }
  if (command == "verify") add("where", "Cells", cells_markup(digest, room));
  if (command == "sweep") add("cells", "Cells", sweep_markup(digest, room));
  add("people", "Pairs side by side", pairs_markup(digest, level, room));
  add("progress", "Progress", seeds_markup(digest, room));
  add("limits", "Limits of this result",
      html_list(limits_of_results(digest), room.lines, "the results"));
  add("reproduce", "How to repeat it", repeat_markup(digest));
  return parts;
}

std::string verdict_markup(std::string const& over, std::string const& title,
                           std::string const& text) {
  return wrapped("header",
                 wrapped("div class=\"verdict\"", element("p class=\"over\"", over) +
                                                      element("h1", title) + element("p", text)));
}

std::string footer_markup() {
  return element("footer",
                 "Made by fairlane report from the files of the results, which have every number "
                 "of this page.");
}

std::string page_of_one(Json const& digest, Room const& room) {
  constexpr int kWithinSection = 3;
  std::string const command = digest.at("command").get<std::string>();
  ResultVerdict const verdict = verdict_of(digest);
  Json const* const config = digest.at("manifest").find("config");
  std::string const model = config == nullptr ? "a plan" : text_of(*config, "model");
  std::vector<std::pair<std::string, std::string>> links;
  std::string sections;
  for (ResultPart const& part : parts_of(digest, kWithinSection, room)) {
    links.emplace_back(part.id, part.title);
    sections += section(part.id, part.title, part.markup);
  }
  links.emplace_back("words", "Words");
  return page_begin(fmt::format("{}: {} of {}", verdict.title, command, model)) +
         verdict_markup(fmt::format("fairlane {}, {}", command, model), verdict.title,
                        verdict.text) +
         navigation(links) + "<main id=\"main\">\n" + sections +
         section("words", "Words", html_terms(results_glossary(command))) + "</main>\n" +
         footer_markup() + "</body>\n</html>\n";
}

/// "out/age (run)".
std::string name_words(Json const& digest) {
  return fmt::format("{} ({})", text_of(digest, "name"), digest.at("command").get<std::string>());
}

/// What several results' page says of one of them. parts: empty where there is no room for it
struct ResultWords {
  std::string name;
  ResultVerdict verdict;
  std::string protects;  // what is protected, "-" where the results do not say
  std::vector<ShareLine> shares;
  std::vector<ResultPart> parts;
};

ResultWords words_of_result(Json const& digest, bool is_shown, Room const& room) {
  constexpr int kWithinResult = 4;
  try {
    Json const* const names = digest.at("summary").find("protected");
    ResultWords words = {name_words(digest),
                         verdict_of(digest),
                         names == nullptr ? "-" : protected_words(digest),
                         shares_of(digest),
                         {}};
    if (is_shown) words.parts = parts_of(digest, kWithinResult, room);
    // An audit has several sets and shares: that which its verdict speaks of stands for it.
    if (digest.at("command") == "audit") words.shares = {verdict_share(digest.at("summary"))};
    return words;
  } catch (JsonError const& e) {
    throw no_result(digest.at("name").get<std::string>(), e);
  }
}

std::string overview_row(ResultWords const& result, std::string const& id) {
  std::string const share =
      result.shares.empty()
          ? "-"
          : fmt::format("{} of {}", result.shares.front().share, result.shares.front().of);
  return wrapped("tr", wrapped("th scope=\"row\"",
                               fmt::format("<a href=\"#{}\">{}</a>", id, html_text(result.name))) +
                           element("td", result.protects) + element("td", result.verdict.title) +
                           element("td", share));
}

std::string page_of_several(std::vector<Json> const& digests, Room const& room) {
  std::size_t const shown = std::min(digests.size(), room.results);
  std::vector<std::pair<std::string, std::string>> links = {{"overview", "Overview"}};
  std::string overview =
      table_begin("All results and what each says", {"results", "protected", "verdict", "share"});
  std::string sections;
  std::size_t differ = 0;
  for (std::size_t i = 0; i < digests.size(); ++i) {
    ResultWords const result = words_of_result(digests[i], i < shown, room);
    if (result.verdict.title == "Decisions differ") ++differ;
    if (i >= shown) continue;
    std::string const id = fmt::format("result-{}", i + 1);
    links.emplace_back(id, text_of(digests[i], "name"));
    overview += overview_row(result, id);
    std::string markup = element("p", result.verdict.title + ". " + result.verdict.text);
    for (ResultPart const& part : result.parts) {
      markup +=
          wrapped(fmt::format("h3 id=\"{}-{}\"", id, part.id), html_text(part.title)) + part.markup;
    }
    sections += section(id, result.name, markup);
  }
  overview += "</tbody></table>\n" + left_out(digests.size(), shown, "the other directories");
  links.emplace_back("words", "Words");
  std::string const title =
      differ > 0 ? fmt::format("Decisions differ in {} of {} results", differ, digests.size())
                 : fmt::format("{} results, in none of which decisions differ", digests.size());
  return page_begin(title) +
         verdict_markup("fairlane report", title,
                        "Each result has its own verdict below, and says what it does not know.") +
         navigation(links) + "<main id=\"main\">\n" + section("overview", "Overview", overview) +
         sections + section("words", "Words", html_terms(results_glossary(""))) + "</main>\n" +
         footer_markup() + "</body>\n</html>\n";
}

}  // namespace
}  // namespace report

std::string page_of_results(ResultsPlace const& place) {
  using namespace report;
  std::string why;
  try {
    return results_html({results_digest(place)});
  } catch (Error const& e) {
    why = e.what();
  } catch (JsonError const& e) {
    why = e.what();
  }
  return page_begin("No report") +
         wrapped("header", element("p class=\"over\"", "fairlane") + element("h1", "No report")) +
         wrapped("main id=\"main\"",
                 element("p", "The results are whole, but their page could not be made: " +
                                  plain(why, kSentenceBytes))) +
         "</body>\n</html>\n";
}

std::string results_html(std::vector<Json> const& digests) {
  if (digests.size() == 1 && digests.front().at("command") == "audit")
    return report_html(digests.front().at("summary"));
  return report::fitted([&](report::Room const& room) {
    return digests.size() == 1 ? report::page_of_one(digests.front(), room)
                               : report::page_of_several(digests, room);
  });
}

}  // namespace fairlane
