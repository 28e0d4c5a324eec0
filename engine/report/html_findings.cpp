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

/// Of `enumerate`: all pairs.
std::string counted_directions(Json const& digest, std::vector<Json const*> const& words) {
  Json const& treatment = list_of(digest.at("summary"), "treatment");
  std::vector<Json const*> found;
  for (Json const& one : treatment) {
    if (one.at("pairs") != 0) found.push_back(&one);
  }
  if (found.empty()) return {};
  std::ranges::stable_sort(found, [](Json const* a, Json const* b) {
    return a->at("pairs").get<double>() > b->at("pairs").get<double>();
  });
  // Codes, in words where values.csv's tiles or the domain tell them.
  auto const word = [&](Json const& one, char const* side) {
    std::string const code = one.at(side).dump();
    std::string const name = text_of(one, "attribute");
    for (Json const* const attribute : words) {
      if (attribute->at("attribute") != one.at("attribute")) continue;
      if (Json const* const text = attribute->at("words").find(code))
        return name + " " + plain(text->get<std::string>());
    }
    return name + " " + code;
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
std::string positive_table(Json const& digest, std::vector<Json const*> const& words,
                           Room const& room) {
  Json const& positive = list_of(digest.at("summary"), "positive");
  if (positive.empty()) return {};
  std::string table = table_begin(
      "How many of all profiles get the positive decision (label 1, or any but the lowest) with "
      "these values",
      {"values", "share"});
  std::size_t shown = 0;
  for (Json const& one : positive) {
    if (shown == room.rates) break;
    ++shown;
    std::vector<std::string> values;
    for (auto const& [name, code] : one.at("values").items()) {
      std::string value = code.dump();
      for (Json const* const attribute : words) {
        if (attribute->at("attribute") != name) continue;
        if (Json const* const text = attribute->at("words").find(value))
          value = plain(text->get<std::string>());
      }
      values.push_back(plain(name) + " " + value);
    }
    auto const rate = one.at("rate").get<double>();
    ShareLine line;
    line.of = listed(values, ", ");
    line.share = share_words(one.at("rate"));
    line.detail = count_words(one.at("positive")) + " profiles";
    line.examined = true;
    line.low = line.middle = line.high = rate;
    table += share_row(line, 1.0);
  }
  table += "<tr><th scope=\"row\" class=\"soft\">scale</th><td>" + scale_labels(1.0) +
           "</td></tr></tbody></table>\n";
  return wrapped("div class=\"shares\"", table) + left_out(positive.size(), shown, "summary.json");
}

std::string tile_markup(Json const& tile, double most) {
  bool const is_share = tile.contains("of");
  auto const count = tile.at("count").get<double>();
  double const of = is_share ? tile.at("of").get<double>() : 0.0;
  double const value = is_share ? (of > 0.0 ? count / of : 0.0) : count;
  std::string const number = is_share ? fine_percent(value) : count_words(tile.at("count"));
  std::string markup = element("i", text_of(tile, "value")) + element("b", number);
  if (is_share)
    markup += element(
        "i", fmt::format("{} of {}", count_words(tile.at("count")), count_words(tile.at("of"))));
  return wrapped(fmt::format("li class=\"h{}\"", shade_of(value, most)), markup);
}

double tile_value(Json const& tile) {
  auto const count = tile.at("count").get<double>();
  if (!tile.contains("of")) return count;
  auto const of = tile.at("of").get<double>();
  return of > 0.0 ? count / of : 0.0;
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
  std::vector<Json const*> words;
  for (Json const& one : list_of(digest, "value_words")) words.push_back(&one);
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
