#include "engine/report/html_shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "engine/report/audit_words.h"

namespace fairlane::report {
namespace {

constexpr int kSteps = 5;                  // of the map's colours above nothing
constexpr std::size_t kShownRates = 8;     // a table that is seen at a glance
constexpr std::size_t kShownRankings = 6;  // of pairs of values

/// A subsection for each set with something to show, and one sentence about the others.
std::string by_set(Json const& audit, std::function<std::string(Json const&)> const& content) {
  std::string markup;
  std::vector<std::string> empty;
  for (Json const& set : audit.at("sets")) {
    std::string const part = content(set);
    if (part.empty()) {
      empty.push_back(set_words(set));
    } else {
      markup += element("h3", set_words(set)) + part;
    }
  }
  if (!empty.empty())
    markup += element("p class=\"soft\"", "Nothing to show for " + listed(empty) + ".");
  return markup;
}

/// What stands beside a set's name.
std::string how_bad(Json const& set) {
  if (std::string const severity = severity_words(set); !severity.empty())
    return "severity " + severity;
  return anything_found(set) ? "nobody in the table is affected" : "nobody affected was found";
}

std::string rates_table(Json const& audit, Json const& set, std::string const& caption,
                        std::vector<Json const*> const& rates) {
  std::vector<ShareLine> lines;
  for (Json const* const rate : rates) {
    lines.push_back(exact_line(combination_words(set, rate->at("values")), rate->at("share"),
                               count_words(rate->at("favourable")) + " people"));
  }
  return shares_table(caption, {"value", favourable_words(audit)}, lines, 1.0);
}

std::string rates_of(Json const& audit, Json const& set, Room const& room) {
  std::vector<Json const*> rates;
  for (Json const& rate : list_of(set, "rates")) rates.push_back(&rate);
  if (rates.empty()) return {};
  std::string const caption = fmt::format(
      "How many people of the table would get {} if everybody had this value and nothing else were "
      "changed",
      favourable_words(audit));
  if (rates.size() <= kShownRates) return rates_table(audit, set, caption, rates);
  std::stable_sort(rates.begin(), rates.end(), [](Json const* a, Json const* b) {
    return a->at("share").get<double>() > b->at("share").get<double>();
  });
  std::vector<Json const*> ends(rates.begin(), rates.begin() + kShownRates / 2);
  ends.insert(ends.end(), rates.end() - kShownRates / 2, rates.end());
  std::size_t const all = rates.size();
  rates.resize(std::min(rates.size(), room.rates));
  return rates_table(audit, set,
                     fmt::format("{}: the {} best and the {} worst of {}", caption, kShownRates / 2,
                                 kShownRates / 2, all),
                     ends) +
         folded_on_screen(fmt::format("All {} values", all),
                          rates_table(audit, set, caption, rates) + left_out(all, rates.size()));
}

std::string preferences_table(Json const& audit, Json const& set, std::size_t from,
                              std::size_t to) {
  Json const& preferences = list_of(set, "preferences");
  std::string const better = favourable_words(audit);
  std::string table = table_begin(
      fmt::format("People of the table who get {} with one value and not with the other", better),
      {"better off as", "than as", "#people", "#the other way round"});
  for (std::size_t i = from; i < to; ++i) {
    Json const& one = preferences[i];
    table +=
        wrapped("tr", element("th scope=\"row\"", combination_words(set, one.at("better"))) +
                          element("td", combination_words(set, one.at("worse"))) +
                          wrapped("td class=\"n\"", element("b", count_words(one.at("rows")))) +
                          element("td class=\"n\"", count_words(one.at("reverse_rows"))));
  }
  return wrapped("div class=\"pairs\"", table + "</tbody></table>\n");
}

std::string preferences_of(Json const& audit, Json const& set, Room const& room) {
  std::size_t const all = list_of(set, "preferences").size();
  if (all == 0) return {};
  std::size_t const shown = std::min({all, kShownRankings, room.preferences});
  std::string markup = preferences_table(audit, set, 0, shown);
  std::size_t const most = std::min(all, room.preferences);
  if (most > shown) {
    markup += folded_on_screen(fmt::format("{} more pairs", most - shown),
                               preferences_table(audit, set, shown, most));
  }
  return markup + left_out(all, most);
}

/// The shares of one attribute's values, in the domain's order.
struct MapRow {
  std::string name;
  std::vector<std::pair<std::size_t, Json const*>> values;  // place in the domain, share
};

std::vector<MapRow> map_rows(Json const& audit, Json const& set) {
  std::vector<MapRow> rows;
  std::map<std::string, std::size_t> index;
  std::map<std::pair<std::string, std::string>, std::size_t> place;
  for (Json const& attribute : list_of(audit, "attributes")) {
    auto const name = attribute.at("name").get<std::string>();
    index.emplace(name, rows.size());
    rows.push_back({name, {}});
    std::size_t at = 0;
    for (Json const& value : list_of(attribute, "values"))
      place.emplace(std::pair(name, value.get<std::string>()), at++);
  }
  for (Json const& worst : list_of(set, "worst")) {
    auto const name = worst.at("attribute").get<std::string>();
    auto const [found, is_new] = index.emplace(name, rows.size());
    if (is_new) rows.push_back({name, {}});
    auto const at = place.find({name, worst.at("value").get<std::string>()});
    rows[found->second].values.emplace_back(at == place.end() ? place.size() : at->second, &worst);
  }
  std::erase_if(rows, [](MapRow const& row) { return row.values.empty(); });
  return rows;
}

double largest_share(Json const& audit) {
  double most = 0.0;
  for (Json const& set : audit.at("sets")) {
    for (Json const& worst : list_of(set, "worst"))
      most = std::max(most, worst.at("share").get<double>());
  }
  return most;
}

std::string map_of(Json const& audit, Json const& set, double most, Room const& room) {
  // A map of zeros tells nobody anything.
  bool const is_any = std::ranges::any_of(
      list_of(set, "worst"), [](Json const& one) { return one.at("share").get<double>() > 0.0; });
  if (!is_any) return {};
  std::vector<MapRow> rows = map_rows(audit, set);
  std::size_t const all = rows.size();
  rows.resize(std::min(all, room.attributes));
  std::string table =
      table_begin("Share of the people with a value who are affected, and how many they are",
                  {"attribute", "its values"});
  for (MapRow& row : rows) {
    std::size_t const values = row.values.size();
    row.values.resize(std::min(values, room.values));  // those of the largest shares
    std::stable_sort(row.values.begin(), row.values.end(),
                     [](auto const& a, auto const& b) { return a.first < b.first; });
    std::string tiles;
    for (auto const& [place, one] : row.values) {
      tiles += wrapped(
          fmt::format("li class=\"h{}\"", shade_of(one->at("share").get<double>(), most)),
          element("i", text_of(*one, "value")) + element("b", share_words(one->at("share"))) +
              element("i", fmt::format("{} of {}", count_words(one->at("affected")),
                                       count_words(one->at("rows")))));
    }
    table += wrapped("tr",
                     element("th scope=\"row\"", plain(row.name)) +
                         wrapped("td", wrapped("ul", tiles) + left_out(values, row.values.size())));
  }
  return wrapped("div class=\"map\"",
                 table + "</tbody></table>\n" + map_key("the largest share of this page")) +
         left_out(all, rows.size());
}

std::string rules_of(Json const& set, Room const& room) {
  Json const& rules = list_of(set, "rules");
  std::string items;
  std::size_t const shown = std::min(rules.size(), room.rules);
  for (std::size_t i = 0; i < shown; ++i) {
    items += wrapped("li", element("b", text_of(rules[i], "text", kSentenceBytes)) +
                               element("div", rule_words(rules[i]) + "."));
  }
  return items.empty() ? std::string()
                       : element("p", "Rules that say where the affected people are:") +
                             wrapped("ol class=\"rules\"", items) + left_out(rules.size(), shown);
}

}  // namespace

std::string share_row(ShareLine const& line, double most) {
  std::string said = line.examined ? element("b", line.share) : element("span", line.share);
  said += element("span class=\"soft\"", line.detail);
  std::string cell = wrapped("div class=\"said\"", said);
  if (line.examined) cell += share_bar(line.low, line.middle, line.high, most);
  return wrapped("tr", element("th scope=\"row\"", line.of) + wrapped("td", cell));
}

std::string scale_row(double most) {
  return wrapped("tr",
                 "<th scope=\"row\" class=\"soft\">scale</th>" + wrapped("td", scale_labels(most)));
}

std::string shares_table(std::string_view caption, std::vector<std::string> const& heads,
                         std::vector<ShareLine> const& lines, double most) {
  std::string table = table_begin(caption, heads);
  for (ShareLine const& line : lines) table += share_row(line, most);
  return wrapped("div class=\"shares\"", table + scale_row(most) + "</tbody></table>\n");
}

ShareLine exact_line(std::string of, Json const& share, std::string detail) {
  ShareLine line;
  line.of = std::move(of);
  line.share = share_words(share);
  line.detail = std::move(detail);
  line.examined = true;
  line.low = line.middle = line.high = share.get<double>();
  return line;
}

int shade_of(double share, double most) {
  return share <= 0.0 ? 0
                      : std::clamp(static_cast<int>(std::ceil(share / most * kSteps)), 1, kSteps);
}

std::string map_key(std::string_view largest) {
  std::string key = "none";
  for (int step = 0; step <= kSteps; ++step)
    key += fmt::format("<span class=\"h{}\"></span>", step);
  return wrapped("div class=\"key soft\" aria-hidden=\"true\"", key + std::string(largest));
}

std::string how_much_section(Json const& audit) {
  double most = 0.0;
  for (Json const& set : audit.at("sets")) {
    for (ShareLine const& line : share_lines(set)) most = std::max(most, line.high);
  }
  most = scale_end(most);
  std::string table = table_begin(
      "Share of people whose decision would be another one with another value of what is "
      "protected; a whisker is an interval",
      {"of whom", "share"});
  bool first = true;
  for (Json const& set : audit.at("sets")) {
    table += (first ? "" : "</tbody><tbody>\n") +
             wrapped("tr class=\"set\"", element("th scope=\"rowgroup\"", set_words(set)) +
                                             element("td", how_bad(set)));
    first = false;
    for (ShareLine const& line : share_lines(set)) table += share_row(line, most);
  }
  table += "</tbody><tbody>" + scale_row(most) + "</tbody></table>\n";
  return section("how-much", "How much", wrapped("div class=\"shares\"", table));
}

std::string against_whom_section(Json const& audit, Room const& room) {
  return section("against-whom", "Against whom", by_set(audit, [&](Json const& set) {
                   if (!anything_found(set)) return std::string();
                   return preferences_of(audit, set, room) + rates_of(audit, set, room);
                 }));
}

std::string where_section(Json const& audit, Room const& room) {
  double const most = largest_share(audit);
  return section("where", "Where", by_set(audit, [&](Json const& set) {
                   if (!anything_found(set)) return std::string();
                   return rules_of(set, room) + map_of(audit, set, most, room);
                 }));
}

}  // namespace fairlane::report
