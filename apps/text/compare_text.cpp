#include "apps/text/compare_text.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <map>

#include "apps/console.h"
#include "base/error.h"
#include "base/formats/json.h"
#include "base/text.h"

namespace fairlane {
namespace {

using Shown = std::function<std::string(double)>;

constexpr char const* kNothing = "-";

std::string count_text(double value) {
  return with_commas(static_cast<std::int64_t>(std::llround(value)));
}
std::string share_text(double value) { return fmt::format("{:.1f} %", value * 100.0); }
std::string evaluations_text(double value) { return fmt::format("{:.2f}", value); }
std::string distance_text(double value) { return fmt::format("{:.3f}", value); }

/// A column of the table: a measure, and whether its test is shown beside it.
struct MethodColumn {
  char const* measure;
  char const* head;
  Shown shown;
  bool tested = false;
};

std::vector<MethodColumn> const& columns() {
  static std::vector<MethodColumn> const kColumns = {
      {"unique_groups", "groups", count_text, true},
      {"unique_instances", "IDIs", count_text, true},
      {"success_rate", "of tried inputs", share_text},
      {"evaluations_per_instance", "evaluations/IDI", evaluations_text},
      {"first_evaluations", "first IDI at", count_text},
      {"value_coverage", "coverage", share_text},
      {"mean_distance", "distance", distance_text},
      {"recall_groups", "recall", share_text}};
  return kColumns;
}

std::string p_text(double p) {
  constexpr double kLeastShown = 0.001;
  return p < kLeastShown ? "<0.001" : fmt::format("{:.3f}", p);
}

/// "1,234 +- 56".
std::string spread_text(Json const& measure, Shown const& shown) {
  if (measure.at("mean").is_null()) return kNothing;
  std::string const mean = shown(measure.at("mean").get<double>());
  if (measure.at("sd").is_null()) return mean;
  return mean + " +- " + shown(measure.at("sd").get<double>());
}

std::vector<std::string> row_of(Json const& method, Json const& head, Json const& timing) {
  std::string const name = method.at("method").get<std::string>();
  std::vector<std::string> row = {escaped(name)};
  auto const& measures = method.at("measures");
  for (MethodColumn const& column : columns()) {
    if (!head.contains(column.measure)) continue;
    auto const& measure = measures.at(column.measure);
    row.push_back(spread_text(measure, column.shown));
    if (!column.tested) continue;
    bool const has_test = measure.contains("p_holm");
    row.push_back(has_test ? p_text(measure.at("p_holm").get<double>()) : kNothing);
    row.push_back(has_test ? fmt::format("{:.2f}", measure.at("a12").get<double>()) : kNothing);
  }
  auto const& seconds = timing.at("methods").at(name).at("search_seconds");
  row.push_back(spread_text(seconds, [](double s) { return fmt::format("{:.3f}", s); }) + " s");
  return row;
}

std::string budget_text(Json const& json) {
  std::vector<std::string> limits;
  auto const& budget = json.at("budget");
  if (budget.contains("evaluations")) {
    limits.push_back(
        fmt::format("{} model evaluations", count_text(budget.at("evaluations").get<double>())));
  }
  if (budget.contains("iterations")) {
    limits.push_back(
        fmt::format("{} tests and steps", count_text(budget.at("iterations").get<double>())));
  }
  if (budget.contains("seconds"))
    limits.push_back(seconds_text(budget.at("seconds").get<double>()) + " of search");
  return fmt::format("{} for each method and each of {} seeds", fmt::join(limits, " or "),
                     json.at("repeats").get<std::int64_t>());
}

std::string text_of(Json const& json) {
  Facts facts;
  std::vector<std::string> names;
  for (auto const& name : json.at("protected")) names.push_back(escaped(name.get<std::string>()));
  facts.add("protected", fmt::format("{}  ({} combinations)", fmt::join(names, ", "),
                                     with_commas(json.at("variants").get<std::int64_t>())));
  facts.add("budget", budget_text(json));
  auto const& methods = json.at("methods");
  auto const& first = methods.at(0).at("measures");
  std::vector<std::string> heads = {"method"};
  for (MethodColumn const& column : columns()) {
    if (!first.contains(column.measure)) continue;
    heads.emplace_back(column.head);
    if (column.tested) heads.insert(heads.end(), {"p", "A12"});
  }
  heads.emplace_back("search");
  std::vector<std::vector<std::string>> rows = {heads};
  for (auto const& method : methods) rows.push_back(row_of(method, first, json.at("timing")));

  Facts notes;
  notes.add("+-", "standard deviation over the seeds");
  notes.add("first IDI at", "model evaluations until the first was found; -: a seed found none");
  if (methods.size() > 1) {
    notes.add("p, A12",
              fmt::format("against {}: Mann-Whitney, corrected by Holm; probability of the greater "
                          "value",
                          escaped(json.at("reference").get<std::string>())));
  }
  if (json.contains("too_few_repeats")) {
    auto const& few = json.at("too_few_repeats");
    notes.add(
        "too few repeats",
        fmt::format("with {} no p can be {} or below (the least is {}), however much the methods "
                    "differ: expected {} or more (--repeats)",
                    json.at("repeats").get<std::int64_t>(), few.at("significance").get<double>(),
                    p_text(few.at("least_p").get<double>()), few.at("needed").get<std::int64_t>()));
  }
  for (auto const& method : methods) {
    auto const count = method.at("ran_out_of_inputs").get<std::int64_t>();
    if (count == 0) continue;
    notes.add("less than the budget",
              fmt::format("{} ran out of inputs with {} seeds",
                          escaped(method.at("method").get<std::string>()), count));
  }
  return facts.text() + "\n" + aligned(rows) + "\n" + notes.text();
}

}  // namespace

std::string compare_text(std::string const& json, std::string const& source) {
  try {
    return text_of(Json::parse(json));
  } catch (JsonError const& e) {
    throw Error(ExitCode::kData, fmt::format("{}: is no comparison of this program: {}",
                                             escaped(source), escaped(e.what())));
  }
}

std::vector<std::string> untested_methods(std::string const& json) {
  Json const comparison = Json::parse(json);
  std::map<std::string, std::int64_t> tested;
  for (auto const& trial : comparison.at("trials")) {
    tested[trial.at("method").get<std::string>()] +=
        trial.at("unique_generated").get<std::int64_t>() -
        trial.at("undefined").get<std::int64_t>();
  }
  std::vector<std::string> methods;
  for (auto const& method : comparison.at("methods")) {
    auto const name = method.at("method").get<std::string>();
    if (tested[name] == 0) methods.push_back(name);
  }
  return methods;
}

std::string compare_progress_text(CompareProgress const& progress) {
  return fmt::format("trial {} of {}  {}, seed {}  {} left", progress.done + 1, progress.total,
                     progress.method, progress.seed,
                     progress.seconds_left > 0.0 ? seconds_text(progress.seconds_left) : "?");
}

}  // namespace fairlane
