#include "engine/compare/compare_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/formats/json.h"
#include "engine/compare/curve_report.h"
#include "engine/compare/mann_whitney.h"
#include "engine/record/findings.h"

namespace fairlane {
namespace {

double ratio(double part, double whole) { return whole > 0.0 ? part / whole : 0.0; }

template <std::int64_t FindingCounts::*kCount>
double found(Comparison const&, Trial const& trial) {
  return static_cast<double>(trial.found.*kCount);
}

template <std::int64_t SearchCounts::*kCount>
double searched(Comparison const&, Trial const& trial) {
  return static_cast<double>(trial.search.*kCount);
}

double success_rate(Comparison const& c, Trial const& t) {
  return ratio(found<&FindingCounts::unique_instances>(c, t),
               found<&FindingCounts::unique_generated>(c, t));
}

double evaluations_per_instance(Comparison const& c, Trial const& t) {
  double const instances = found<&FindingCounts::unique_instances>(c, t);
  double const evaluations = searched<&SearchCounts::model_evaluations>(c, t);
  return instances > 0.0 ? evaluations / instances : std::numeric_limits<double>::infinity();
}

/// Infinite where nothing was found.
double first_at(double spent) {
  return spent < 0.0 ? std::numeric_limits<double>::infinity() : spent;
}

constexpr Measure kMeasures[] = {
    {"unique_groups", found<&FindingCounts::unique_groups>},
    {"unique_instances", found<&FindingCounts::unique_instances>},
    {"unique_generated", found<&FindingCounts::unique_generated>},
    {"success_rate", success_rate},
    {"iterations", searched<&SearchCounts::iterations>},
    {"model_evaluations", searched<&SearchCounts::model_evaluations>},
    {"evaluations_per_instance", evaluations_per_instance},
    {"first_evaluations",
     [](Comparison const&, Trial const& t) {
       return first_at(static_cast<double>(t.curve.first_evaluations));
     }},
    {"value_coverage", [](Comparison const&, Trial const& t) { return t.value_coverage; }},
    {"mean_distance", [](Comparison const&, Trial const& t) { return t.mean_distance; }},
    {"recall_instances",
     [](Comparison const& c, Trial const& t) {
       return ratio(static_cast<double>(t.found.unique_instances),
                    static_cast<double>(c.totals->instances));
     },
     true},
    {"recall_groups",
     [](Comparison const& c, Trial const& t) {
       return ratio(static_cast<double>(t.found.unique_groups),
                    static_cast<double>(c.totals->groups));
     },
     true},
    {"search_seconds", [](Comparison const&, Trial const& t) { return t.search_seconds; }, false,
     true},
    {"first_seconds", [](Comparison const&, Trial const& t) { return first_at(t.first_seconds); },
     false, true},
};

/// What a measure says about one method: what is not a finite number is unknown.
struct Column {
  double mean, sd, min, max;
  double p, p_holm, a12;  // against the reference
};
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

std::vector<double> values_of(Comparison const& c, Measure const& measure, std::size_t method) {
  std::vector<double> values;
  for (std::int64_t r = 0; r < c.repeats; ++r) values.push_back(measure.of(c, c.trial(method, r)));
  return values;
}

Column described(std::vector<double> const& values) {
  auto const n = static_cast<double>(values.size());
  double sum = 0.0;
  for (double const v : values) sum += v;
  double const mean = sum / n;
  double squares = 0.0;
  for (double const v : values) squares += (v - mean) * (v - mean);
  auto const [min, max] = std::minmax_element(values.begin(), values.end());
  return {mean,     values.size() > 1 ? std::sqrt(squares / (n - 1.0)) : kUnknown,
          *min,     *max,
          kUnknown, kUnknown,
          kUnknown};
}

/// A measure of all methods. Times are described, but not tested.
std::vector<Column> columns_of(Comparison const& c, Measure const& measure) {
  std::vector<Column> columns;
  auto const reference = values_of(c, measure, c.reference);
  std::vector<double> p;
  for (std::size_t m = 0; m < c.methods.size(); ++m) {
    auto const values = values_of(c, measure, m);
    columns.push_back(described(values));
    if (m == c.reference || measure.timed || c.repeats < 2) continue;
    columns.back().a12 = a12(values, reference);
    columns.back().p = mann_whitney(values, reference);
    p.push_back(columns.back().p);
  }
  auto const corrected = holm(p);
  std::size_t next = 0;
  for (auto& column : columns) {
    if (!std::isnan(column.p)) column.p_holm = corrected[next++];
  }
  return columns;
}

bool is_reported(Comparison const& c, Measure const& measure) {
  return !measure.needs_totals || c.totals.has_value();
}

std::string cell(double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; }

Json column_json(Column const& column) {
  Json json = {{"mean", number_or_null(column.mean)},
               {"sd", number_or_null(column.sd)},
               {"min", number_or_null(column.min)},
               {"max", number_or_null(column.max)}};
  if (!std::isnan(column.p)) {
    json["p"] = number_or_null(column.p);
    json["p_holm"] = number_or_null(column.p_holm);
    json["a12"] = number_or_null(column.a12);
  }
  return json;
}

std::int64_t ran_out(Comparison const& c, std::size_t method) {
  std::int64_t count = 0;
  for (std::int64_t r = 0; r < c.repeats; ++r) count += c.trial(method, r).ended_by.empty() ? 1 : 0;
  return count;
}

Json budget_json(BudgetConfig const& budget) {
  Json json = Json::object();
  if (budget.evaluations) json["evaluations"] = *budget.evaluations;
  if (budget.iterations) json["iterations"] = *budget.iterations;
  if (budget.seconds) json["seconds"] = *budget.seconds;
  return json;
}

}  // namespace

std::span<Measure const> measures() { return kMeasures; }

Json number_or_null(double value) {
  constexpr double kMostWhole = 1e15;
  if (!std::isfinite(value)) return nullptr;
  if (value == std::floor(value) && std::fabs(value) < kMostWhole)
    return static_cast<std::int64_t>(value);
  return value;
}

std::int64_t missing_repeats(Comparison const& c) {
  std::size_t const tests = c.methods.size() - 1;
  auto const needed = static_cast<std::int64_t>(least_sample(tests, kSignificance));
  return tests > 0 && c.repeats < needed ? needed : 0;
}

double least_p_holm(Comparison const& c) {
  auto const tests = static_cast<double>(c.methods.size() - 1);
  return std::min(1.0, tests * least_p(static_cast<std::size_t>(c.repeats)));
}

std::string compare_json(Comparison const& c) {
  Json json;
  json["protected"] = Json::array();
  for (std::int32_t const a : c.subject.selected())
    json["protected"].push_back(c.subject.domain().attributes[static_cast<std::size_t>(a)].name);
  json["variants"] = c.subject.variants();
  json["budget"] = budget_json(c.config.budget);
  json["repeats"] = c.repeats;
  json["curve_points"] = kCurvePoints;
  json["reference"] = c.methods[c.reference]->name;
  if (auto const needed = missing_repeats(c); needed > 0)
    json["too_few_repeats"] = {
        {"significance", kSignificance}, {"least_p", least_p_holm(c)}, {"needed", needed}};
  Json timing = Json::object();
  json["methods"] = Json::array();
  for (std::size_t m = 0; m < c.methods.size(); ++m) {
    MethodSpec const& method = *c.methods[m];
    json["methods"].push_back({{"method", method.name},
                               {"paper", method.paper},
                               {"algorithm", method.algorithm},
                               {"deviation", method.deviation},
                               {"ran_out_of_inputs", ran_out(c, m)},
                               {"curve", mean_curve_json(c, m)}});
  }
  for (Measure const& measure : measures()) {
    if (!is_reported(c, measure)) continue;
    auto const columns = columns_of(c, measure);
    for (std::size_t m = 0; m < columns.size(); ++m) {
      if (measure.timed) {
        timing[c.methods[m]->name][measure.name] = column_json(columns[m]);
      } else {
        json["methods"][m]["measures"][measure.name] = column_json(columns[m]);
      }
    }
  }
  json["trials"] = Json::array();
  for (std::size_t m = 0; m < c.methods.size(); ++m) {
    for (std::int64_t r = 0; r < c.repeats; ++r) {
      Trial const& trial = c.trial(m, r);
      Json row = {{"method", trial.method},
                  {"seed", trial.seed},
                  {"rounds", trial.rounds},
                  {"ended_by", trial.ended_by.empty() ? Json(nullptr) : Json(trial.ended_by)},
                  {"global_seeds", trial.search.global_seeds},
                  {"global_found", trial.search.global_found},
                  {"undefined", trial.found.undefined}};
      if (trial.found.infeasible > 0)
        row[c.subject.limits_findings() ? "left_out" : "infeasible"] = trial.found.infeasible;
      for (Measure const& measure : measures()) {
        if (is_reported(c, measure) && !measure.timed)
          row[measure.name] = number_or_null(measure.of(c, trial));
      }
      row["curve"] = curve_json(c, trial);
      json["trials"].push_back(std::move(row));
    }
  }
  json["timing"] = {{"methods", std::move(timing)}, {"total_seconds", c.total_seconds}};
  return json.dump(2) + "\n";
}

std::string trials_csv(Comparison const& c) {
  std::string text = "method,seed,rounds,ended_by,global_seeds,global_found";
  for (Measure const& measure : measures()) {
    if (is_reported(c, measure)) text += fmt::format(",{}", measure.name);
  }
  text += ",cluster_seconds\n";
  for (std::size_t m = 0; m < c.methods.size(); ++m) {
    for (std::int64_t r = 0; r < c.repeats; ++r) {
      Trial const& trial = c.trial(m, r);
      text += fmt::format("{},{},{},{},{},{}", trial.method, trial.seed, trial.rounds,
                          trial.ended_by, trial.search.global_seeds, trial.search.global_found);
      for (Measure const& measure : measures()) {
        if (is_reported(c, measure)) text += "," + cell(measure.of(c, trial));
      }
      text += fmt::format(",{}\n", trial.cluster_seconds);
    }
  }
  return text;
}

std::string compare_summary_csv(Comparison const& c) {
  std::string head = "method,repeats,ran_out_of_inputs";
  std::vector<std::string> rows;
  for (std::size_t m = 0; m < c.methods.size(); ++m)
    rows.push_back(fmt::format("{},{},{}", c.methods[m]->name, c.repeats, ran_out(c, m)));
  for (Measure const& measure : measures()) {
    if (!is_reported(c, measure)) continue;
    auto const columns = columns_of(c, measure);
    for (char const* what : {"mean", "sd", "min", "max"})
      head += fmt::format(",{}_{}", measure.name, what);
    if (!measure.timed) {
      for (char const* what : {"p", "p_holm", "a12"})
        head += fmt::format(",{}_{}", measure.name, what);
    }
    for (std::size_t m = 0; m < columns.size(); ++m) {
      Column const& k = columns[m];
      for (double const value : {k.mean, k.sd, k.min, k.max}) rows[m] += "," + cell(value);
      if (measure.timed) continue;
      for (double const value : {k.p, k.p_holm, k.a12}) rows[m] += "," + cell(value);
    }
  }
  std::string text = head + "\n";
  for (auto const& row : rows) text += row + "\n";
  return text;
}

std::string repeats_note(Comparison const& c) {
  return missing_repeats(c) > 0 ? "; too few for any difference to be significant" : "";
}

CompareChart compare_chart(Comparison const& c) {
  CompareChart chart;
  chart.title = "Methods compared with one equal budget";
  chart.caption = fmt::format(
      "Bars: mean of {} seeds; lines: one standard deviation either way; dots: each seed{}",
      c.repeats, repeats_note(c));
  for (auto const* method : c.methods) chart.series.emplace_back(method->name);
  auto const add = [&](char const* what, std::int64_t FindingCounts::*count) {
    constexpr double kPer = 1000.0;  // model evaluations
    ChartPanel panel{fmt::format("{} per 1,000 model evaluations", what), {}};
    for (std::size_t m = 0; m < c.methods.size(); ++m) {
      auto& points = panel.points.emplace_back();
      for (std::int64_t r = 0; r < c.repeats; ++r) {
        Trial const& trial = c.trial(m, r);
        points.push_back(ratio(kPer * static_cast<double>(trial.found.*count),
                               static_cast<double>(trial.search.model_evaluations)));
      }
    }
    chart.panels.push_back(std::move(panel));
  };
  add("unique groups", &FindingCounts::unique_groups);
  add("unique IDIs", &FindingCounts::unique_instances);
  return chart;
}

}  // namespace fairlane
