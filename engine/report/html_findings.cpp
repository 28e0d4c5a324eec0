#include "engine/report/html_findings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/number_text.h"
#include "engine/report/audit_words.h"
#include "engine/report/html_people.h"
#include "engine/report/html_shares.h"
#include "engine/report/results_words.h"

namespace fairlane::report {
namespace {

constexpr std::size_t kShownDirections = 12;

struct DirectionRow {
  std::string worse;
  std::string better;
  std::string decisions;
  Json count;
};

std::string directions_table(std::string const& caption, char const* count,
                             std::vector<DirectionRow> const& rows, std::size_t all) {
  std::string table = table_begin(
      caption, {"lower label as", "higher label as", "decisions", std::string("#") + count});
  for (DirectionRow const& row : rows) {
    table += wrapped("tr", element("th scope=\"row\"", row.worse) + element("td", row.better) +
                               element("td", row.decisions) +
                               wrapped("td class=\"n\"", element("b", count_words(row.count))));
  }
  return wrapped("div class=\"pairs\"", table + "</tbody></table>\n") +
         left_out(all, rows.size(), "the results");
}

/// Of `run`: as instances.csv has the pairs.
std::string found_directions(Json const& digest) {
  Json const* const findings = present(digest, "findings");
  Json const& directions =
      findings == nullptr ? list_of(digest, "") : list_of(*findings, "directions");
  if (directions.empty()) return {};
  std::vector<DirectionRow> rows;
  for (Json const& one : directions) {
    if (rows.size() == kShownDirections) break;
    rows.push_back({text_of(one, "lower"), text_of(one, "higher"),
                    fmt::format("{}, {}", outcome_words(digest, one.at("lower_decision")),
                                outcome_words(digest, one.at("higher_decision"))),
                    one.at("count")});
  }
  return directions_table(
      "Pairs of people who differ in nothing else and get two decisions, as the results name them: "
      "of each finding the first such pair",
      "findings", rows, findings->at("all_directions").get<std::size_t>());
}

/// "age 18-29"; a code that no word is known for stands as it is. words: value_words of a digest
std::string value_words(Json const& words, std::string const& attribute, Json const& code) {
  std::string const number = code.dump();
  for (Json const& one : words) {
    if (one.at("attribute") != attribute) continue;
    if (Json const* const word = one.at("words").find(number))
      return plain(attribute) + " " + plain(word->get<std::string>());
  }
  return plain(attribute) + " " + number;
}

/// Of `enumerate`: all pairs.
std::string counted_directions(Json const& digest, Json const& words) {
  Json const& treatment = list_of(digest.at("summary"), "treatment");
  std::vector<Json const*> found;
  for (Json const& one : treatment) {
    if (one.at("pairs") != 0) found.push_back(&one);
  }
  if (found.empty()) return {};
  std::ranges::stable_sort(found, [](Json const* a, Json const* b) {
    return a->at("pairs").get<double>() > b->at("pairs").get<double>();
  });
  auto const word = [&](Json const& one, char const* side) {
    return value_words(words, one.at("attribute").get<std::string>(), one.at(side));
  };
  std::vector<DirectionRow> rows;
  for (Json const* const one : found) {
    if (rows.size() == kShownDirections) break;
    rows.push_back({word(*one, "lesser"), word(*one, "greater"), "the lower, the higher label",
                    one->at("pairs")});
  }
  return directions_table(
      "Pairs of people who differ in nothing else and get two decisions, all "
      "of them",
      "pairs", rows, found.size());
}

/// Of `enumerate`: how often each combination of protected values gets another label than the
/// lowest.
std::string positive_table(Json const& digest, Json const& words, Room const& room) {
  Json const& positive = list_of(digest.at("summary"), "positive");
  if (positive.empty()) return {};
  std::vector<ShareLine> lines;
  for (Json const& one : positive) {
    if (lines.size() == room.rates) break;
    std::vector<std::string> values;
    for (auto const& [name, code] : one.at("values").items())
      values.push_back(value_words(words, name, code));
    lines.push_back(exact_line(listed(values, ", "), one.at("rate"),
                               count_words(one.at("positive")) + " profiles"));
  }
  return shares_table(
             "How many of all profiles get the positive decision (label 1, or any but the lowest) "
             "with these values",
             {"values", "share"}, lines, 1.0) +
         left_out(positive.size(), lines.size(), "summary.json");
}

double tile_value(Json const& tile) {
  auto const count = tile.at("count").get<double>();
  if (!tile.contains("of")) return count;
  auto const of = tile.at("of").get<double>();
  return of > 0.0 ? count / of : 0.0;
}

std::string tile_markup(Json const& tile, double most) {
  bool const is_share = tile.contains("of");
  double const value = tile_value(tile);
  std::string const number = is_share ? fine_percent(value) : count_words(tile.at("count"));
  std::string markup = element("i", text_of(tile, "value")) + element("b", number);
  if (is_share)
    markup += element(
        "i", fmt::format("{} of {}", count_words(tile.at("count")), count_words(tile.at("of"))));
  return wrapped(fmt::format("li class=\"h{}\"", shade_of(value, most)), markup);
}

std::string tile_map(Json const& values, std::string const& caption, char const* largest,
                     Room const& room) {
  double most = 0.0;
  for (Json const& attribute : values) {
    for (Json const& tile : attribute.at("tiles")) most = std::max(most, tile_value(tile));
  }
  if (most <= 0.0) return {};
  std::string table = table_begin(caption, {"attribute", "its values"});
  std::size_t const shown = std::min(values.size(), room.attributes);
  for (std::size_t i = 0; i < shown; ++i) {
    std::string tiles;
    Json const& all = values[i].at("tiles");
    std::size_t const room_for = std::min(all.size(), room.values);
    for (std::size_t t = 0; t < room_for; ++t) tiles += tile_markup(all[t], most);
    table += wrapped("tr", element("th scope=\"row\"", text_of(values[i], "attribute")) +
                               wrapped("td", wrapped("ul", tiles) +
                                                 left_out(all.size(), room_for, "the results")));
  }
  return wrapped("div class=\"map\"", table + "</tbody></table>\n" + map_key(largest)) +
         left_out(values.size(), shown, "the results");
}

}  // namespace

std::string directions_markup(Json const& digest, Room const& room) {
  Json const& words = list_of(digest, "value_words");
  bool const is_counted = digest.at("command") == "enumerate";
  std::string const markup =
      is_counted ? counted_directions(digest, words) + positive_table(digest, words, room)
                 : found_directions(digest);
  return markup.empty() ? element("p class=\"soft\"", "The results do not tell.") : markup;
}

std::string places_markup(Json const& digest, Room const& room) {
  std::string markup;
  if (Json const* const values = present(digest, "values")) {
    bool const is_share = !values->empty() && (*values)[0].at("tiles")[0].contains("of");
    markup = is_share ? tile_map(*values,
                                 "Share of the profiles with a value that are affected, and how "
                                 "many they are",
                                 "the largest share of this map", room)
                      : tile_map(*values, "How many affected profiles have each value",
                                 "the most profiles of this map", room);
  } else if (Json const* const findings = present(digest, "findings")) {
    markup = tile_map(findings->at("values"),
                      fmt::format("How many of the {} findings have each value",
                                  count_words(findings->at("count"))),
                      "the most findings of this map", room);
    if (!markup.empty() && digest.at("command") == "run")
      markup += element("p class=\"soft\"",
                        "A search goes where findings are: a value with many of them is not "
                        "affected more often for that.");
  } else {
    return element("p class=\"soft\"", "The results have no findings that could be placed.");
  }
  return markup.empty() ? element("p class=\"soft\"", "Nobody was found.") : markup;
}

std::string pairs_markup(Json const& digest, int level, Room const& room) {
  bool const is_proof = digest.at("command") == "verify";
  Json const* const source = present(digest, is_proof ? "cells" : "findings");
  Json const& pairs = source == nullptr ? list_of(digest, "") : list_of(*source, "pairs");
  if (pairs.empty()) return {};
  std::size_t const shown = std::min(pairs.size(), room.people);
  std::string cards;
  for (std::size_t i = 0; i < shown; ++i) {
    PersonTitle const title{
        fmt::format("Pair {}", i + 1),
        is_proof ? fmt::format("the example of cell {}", count_words(pairs[i].at("cell"))) : "",
        level, "the results"};
    cards += person_card(digest, pairs[i], title, room);
  }
  return element("p", is_proof ? "Each gets one decision as is, and another one as would be, with "
                                 "nothing changed but what is marked. The number behind a decision "
                                 "is the model's output before its activation."
                               : "The pairs of the findings with the widest gap between the two "
                                 "scores, one of each profile: one decision as is, another one as "
                                 "would be, with nothing changed but what is marked.") +
         wrapped("div class=\"people\"", cards);
}

}  // namespace fairlane::report
