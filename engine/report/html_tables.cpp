#include "engine/report/html_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "engine/pictures/svg.h"
#include "engine/report/command_words.h"
#include "engine/report/html_shares.h"
#include "engine/report/results_words.h"

namespace fairlane::report {
namespace {

/// A table that is moved sideways where it is wider than the page. It is a group and no region, as
/// landmarks of a page need names of their own.
std::string wide(std::string_view name, std::string const& table) {
  return wrapped(fmt::format("div class=\"wide\" role=\"group\" tabindex=\"0\" aria-label=\"{}\"",
                             html_text(name)),
                 table + "</tbody></table>\n");
}

std::string row_markup(std::string const& head, std::vector<std::string> const& cells,
                       std::size_t texts = 0) {
  std::string markup = element("th scope=\"row\"", head);
  for (std::size_t i = 0; i < cells.size(); ++i)
    markup += element(i < texts ? "td" : "td class=\"n\"", cells[i]);
  return wrapped("tr", markup);
}

std::string short_number(double value) {
  if (std::fabs(value) >= 1000.0) return with_commas(std::llround(value));
  return fmt::format("{:.4g}", value);
}

/// A column for each bin, on a scale up to the highest; a table beside it has the numbers.
std::string columns_markup(std::string const& caption, std::string const& bin,
                           std::string const& count,
                           std::vector<std::pair<std::string, double>> const& bins) {
  constexpr double kWidth = 640.0;
  constexpr double kHeight = 120.0;
  double most = 0.0;
  for (auto const& [name, value] : bins) most = std::max(most, value);
  if (bins.empty() || most <= 0.0) return {};
  double const step = kWidth / static_cast<double>(bins.size());
  std::string svg = fmt::format(
      "<svg class=\"chart\" viewBox=\"0 0 {:.0f} {:.0f}\" preserveAspectRatio=\"none\" "
      "aria-hidden=\"true\" focusable=\"false\">",
      kWidth, kHeight);
  svg += svg_line(0.0, kHeight - 0.5, kWidth, kHeight - 0.5, "grid");
  for (std::size_t i = 0; i < bins.size(); ++i) {
    double const height = (kHeight - 4.0) * bins[i].second / most;
    svg += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" class=\"fill\"/>",
        static_cast<double>(i) * step + 1.0, kHeight - height, step - 2.0, height);
  }
  svg += "</svg>";
  std::string table = table_begin(caption, {bin, "#" + count});
  for (auto const& [name, value] : bins) table += row_markup(name, {short_number(value)});
  return wrapped("figure", element("figcaption", caption) + svg +
                               wrapped("div class=\"scale\"",
                                       wrapped("span", html_text(bins.front().first)) +
                                           wrapped("span", html_text(bins.back().first)))) +
         folded_on_screen("The numbers as a table", table + "</tbody></table>\n");
}

std::string mean_words(Json const& method, std::string const& measure) {
  return fmt::format("{} ± {}", short_number(share_at(method, "measures." + measure + ".mean")),
                     short_number(share_at(method, "measures." + measure + ".sd")));
}

std::vector<double> numbers_of(Json const& array) {
  std::vector<double> numbers;
  for (Json const& number : array) numbers.push_back(number.get<double>());
  return numbers;
}

constexpr double kCurveWidth = 240.0;
constexpr double kCurveHeight = 120.0;

std::string curve_picture(std::vector<double> const& x, std::vector<double> const& y, double most_x,
                          double most_y) {
  std::string points = fmt::format("0,{:.1f}", kCurveHeight);
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    points += fmt::format(" {:.1f},{:.1f}", kCurveWidth * x[i] / most_x,
                          kCurveHeight * (1.0 - y[i] / most_y));
  }
  std::string svg = fmt::format(
      "<svg class=\"curve\" viewBox=\"-2 -2 {:.0f} {:.0f}\" aria-hidden=\"true\" "
      "focusable=\"false\">",
      kCurveWidth + 4.0, kCurveHeight + 4.0);
  for (double const at : {0.0, 0.5, 1.0})
    svg += svg_line(0.0, kCurveHeight * at, kCurveWidth, kCurveHeight * at, "grid");
  return svg + "<polyline class=\"line\" points=\"" + points + "\"/></svg>";
}

std::string share_or_dash(Json const& share) {
  return present(share, "share") == nullptr ? "not measured" : share_words(share.at("share"));
}

std::string metric_words(Json const& side, char const* name) {
  Json const* const value = present(side.at("test"), name);
  return value == nullptr || side.at("test").at("rows") == 0 ? "-" : share_words(*value);
}

std::string candidates_table(Json const& summary, Room const& room) {
  std::string table = table_begin("Candidates: what each came to",
                                  {"candidate", "outcome", "#round", "#consistency", "#rows added",
                                   "#affected", "#accuracy, validation", "#accuracy, held out"});
  std::size_t number = 0;
  Json const& candidates = list_of(summary, "candidates");
  for (Json const& one : candidates) {
    if (number == room.cells) break;
    bool const is_taken = summary.at("taken") == number;
    ++number;
    auto const accuracy = [&](char const* rows) {
      return one.at(rows).at("rows") == 0 ? "-" : share_words(one.at(rows).at("accuracy"));
    };
    table += row_markup(std::to_string(number),
                        {is_taken                          ? "taken"
                         : one.at("is_pareto").get<bool>() ? "no other is as fair and as accurate"
                                                           : "",
                         std::to_string(one.at("round").get<std::int64_t>() + 1),
                         fmt::format("{:g}", one.at("consistency").get<double>()),
                         count_words(one.at("added_rows")), share_or_dash(one.at("domain_share")),
                         accuracy("validation"), accuracy("test")},
                        1);
  }
  return wide("Candidates", table) + left_out(candidates.size(), number, "summary.json");
}

}  // namespace

std::string methods_markup(Json const& digest) {
  Json const& summary = digest.at("summary");
  double most = 0.0;
  for (Json const& method : summary.at("methods"))
    most = std::max(most, share_at(method, "measures.unique_groups.max"));
  std::string bars = table_begin(
      "Profiles found with the same budget: mean over the seeds, with "
      "the least and the most as a whisker",
      {"method", "profiles"});
  std::string table = table_begin(
      "All measures: mean ± standard deviation over the seeds; p and A12 are of the profiles, "
      "against the reference",
      {"method", "#profiles", "#inputs", "#share of tried inputs", "#evaluations per finding",
       "#evaluations until the first", "#p", "#A12"});
  for (Json const& method : summary.at("methods")) {
    double const mean = share_at(method, "measures.unique_groups.mean");
    double const low = share_at(method, "measures.unique_groups.min");
    double const high = share_at(method, "measures.unique_groups.max");
    ShareLine line = share_line(text_of(method, "method"), low, mean, high,
                                fmt::format("{} to {}", short_number(low), short_number(high)));
    line.share = short_number(mean);
    bars += share_row(line, std::max(most, 1.0));
    auto const tested = [&](char const* path) {
      Json const* const number = number_in_json(method, path);
      return number == nullptr ? std::string("-") : fmt::format("{:.3g}", number->get<double>());
    };
    table += row_markup(
        text_of(method, "method"),
        {mean_words(method, "unique_groups"), mean_words(method, "unique_instances"),
         fine_percent(share_at(method, "measures.success_rate.mean")),
         mean_words(method, "evaluations_per_instance"), mean_words(method, "first_evaluations"),
         tested("measures.unique_groups.p_holm"), tested("measures.unique_groups.a12")});
  }
  return wrapped("div class=\"shares\"", bars + "</tbody></table>\n") + wide("Methods", table);
}

std::string curves_markup(Json const& digest) {
  Json const& methods = digest.at("summary").at("methods");
  double most_x = 0.0;
  double most_y = 0.0;
  char const* axis = "evaluations";
  for (Json const& method : methods) {
    Json const* const curve = present(method, "curve");
    if (curve == nullptr) return {};
    if (!curve->contains(axis))
      axis = curve->items().front().first == "seconds" ? "seconds" : "iterations";
    if (!curve->contains(axis)) return {};
    for (double const x : numbers_of(curve->at(axis))) most_x = std::max(most_x, x);
    for (double const y : numbers_of(curve->at("unique_groups"))) most_y = std::max(most_y, y);
  }
  if (most_x <= 0.0 || most_y <= 0.0) return {};
  std::string figures;
  for (Json const& method : methods) {
    std::vector<double> const x = numbers_of(method.at("curve").at(axis));
    std::vector<double> const y = numbers_of(method.at("curve").at("unique_groups"));
    if (x.empty() || x.size() != y.size()) continue;
    std::size_t const half = y.size() / 2;
    figures +=
        wrapped("figure",
                element("figcaption", fmt::format("{}: {} profiles after {} {}, {} after {}",
                                                  text_of(method, "method"), short_number(y[half]),
                                                  short_number(x[half]), axis,
                                                  short_number(y.back()), short_number(x.back()))) +
                    curve_picture(x, y, most_x, most_y));
  }
  return element("p", fmt::format("Mean of the profiles found so far, over the seeds; all pictures "
                                  "have one scale, up to {} profiles and {} {}.",
                                  short_number(most_y), short_number(most_x), axis)) +
         wrapped("div class=\"curves\"", figures);
}

std::string cells_markup(Json const& digest, Room const& room) {
  Json const* const cells = present(digest, "cells");
  if (cells == nullptr) return element("p class=\"soft\"", "The results do not tell.");
  std::string table =
      table_begin("Cells, those with an example first; where a cell differs from the others",
                  {"cell", "verdict", "where", "#boxes"});
  Json const& shown = cells->at("shown");
  std::size_t const most = std::min(shown.size(), room.cells);
  for (std::size_t i = 0; i < most; ++i) {
    Json const& cell = shown[i];
    std::string verdict = text_of(cell, "verdict");
    if (std::string const reason = text_of(cell, "reason"); !reason.empty())
      verdict += " (" + reason + ")";
    std::string const where = text_of(cell, "where", kSentenceBytes);
    table += row_markup(
        count_words(cell.at("cell")),
        {verdict, where.empty() ? "all that was examined" : where, count_words(cell.at("boxes"))},
        2);
  }
  return wide("Cells", table) + left_out(cells->at("count").get<std::size_t>(), most, "cells.csv");
}

std::string retrained_markup(Json const& digest, Room const& room) {
  Json const& summary = digest.at("summary");
  if (summary.contains("exported")) return {};
  Json const& before = summary.at("before");
  Json const* const after = present(summary, "after");
  std::string table = table_begin(
      "The original and the model that was taken, on the same rows and "
      "the same domain",
      {"measure", "#before", "#after"});
  auto const add = [&](std::string const& title, auto const& cell) {
    table += row_markup(title, {cell(before), after == nullptr ? "-" : cell(*after)});
  };
  add("affected, of all inputs",
      [](Json const& side) { return share_or_dash(side.at("fairness").at("joint")); });
  for (auto const& [list, words] :
       {std::pair("subsets", " alone"), {"others", " (not aimed at)"}}) {
    Json const& sets = list_of(before.at("fairness"), list);
    for (std::size_t i = 0; i < sets.size(); ++i) {
      add(fmt::format("by {}{}", listed(texts_of(sets[i].at("protected"))), words),
          [&, key = list](Json const& side) {
            Json const& share = side.at("fairness").at(key)[i].at("share");
            return share.is_object() ? share_or_dash(share) : share_words(share);
          });
    }
  }
  if (present(before.at("fairness"), "margin") != nullptr)
    add("profiles that margin finds",
        [](Json const& side) { return count_at(side, "fairness.margin.unique_groups"); });
  for (auto const& [title, name] : {std::pair("accuracy, held out", "accuracy"),
                                    {"F1, held out", "f1"},
                                    {"AUC, held out", "auc"}})
    add(title, [key = name](Json const& side) { return metric_words(side, key); });
  return wide("Before and after", table) + candidates_table(summary, room);
}

std::string sweep_markup(Json const& digest, Room const& room) {
  Json const& cells = digest.at("summary").at("cells");
  std::string table = table_begin(
      "Cells of the sweep", {"cell", "what", "protected", "method", "state", "#seed", "#profiles",
                             "#inputs", "#share of all inputs", "#sat / unsat / unknown"});
  std::size_t shown = 0;
  for (Json const& cell : cells) {
    if (shown == room.cells) break;
    ++shown;
    Json const& figures = list_of(cell, "figures");
    Json const figure = figures.empty() ? Json::object() : figures[0];
    bool const is_count = number_in_json(figure, "groups") != nullptr;
    auto const or_dash = [&](char const* name) {
      return number_in_json(figure, name) == nullptr ? std::string("-") : count_at(figure, name);
    };
    Json const* share = number_in_json(figure, "domain_share");
    if (share == nullptr && is_count) share = number_in_json(figure, "success_rate");
    std::string what =
        listed(texts_of(cell.at("subjects")), ", ") + ", " + text_of(cell, "command");
    if (std::string const settings = text_of(cell, "settings"); !settings.empty())
      what += ", " + settings;
    std::string state = text_of(cell, "state");
    if (std::string const error = text_of(cell, "error"); !error.empty()) state += ": " + error;
    std::string const seed = present(cell, "seed") == nullptr ? "-" : cell.at("seed").dump();
    std::string method = text_of(cell, "method");
    if (figures.size() > 1) method = fmt::format("{} methods", figures.size());
    table += row_markup(
        text_of(cell, "cell").substr(0, 8),
        {what, text_of(cell, "protected"), method.empty() ? "-" : method, state, seed,
         or_dash("unique_groups"), or_dash("unique_instances"),
         share == nullptr ? "-" : share_words(*share),
         number_in_json(figure, "cells_sat") == nullptr
             ? "-"
             : fmt::format("{} / {} / {}", count_at(figure, "cells_sat"),
                           count_at(figure, "cells_unsat"), count_at(figure, "cells_unknown"))},
        4);
  }
  return wide("Cells of the sweep", table) + left_out(cells.size(), shown, "sweep.csv");
}

std::string seeds_markup(Json const& digest, Room const& room) {
  Json const* const seeds = present(digest, "seeds");
  if (seeds == nullptr) return {};
  std::vector<std::pair<std::string, double>> bins;
  double sum = 0.0;
  for (Json const& one : seeds->at("by_tests")) {
    if (bins.size() == room.cells) break;
    sum += one.at("seeds").get<double>();
    bins.emplace_back(fmt::format("after {} tests", count_words(one.at("tests"))), sum);
  }
  return columns_markup(
      fmt::format("Seeds that had led to a finding, of {}", count_words(seeds->at("count"))),
      "tests", "seeds", bins);
}

std::string severity_markup(Json const& digest) {
  std::vector<std::pair<std::string, double>> bins;
  for (Json const& bin : list_of(digest.at("summary"), "severity_histogram"))
    bins.emplace_back(fmt::format("from {:.2f}", bin.at("from").get<double>()),
                      bin.at("groups").get<double>());
  return columns_markup("Affected profiles by severity: how far the outputs are apart", "severity",
                        "profiles", bins);
}

}  // namespace fairlane::report
