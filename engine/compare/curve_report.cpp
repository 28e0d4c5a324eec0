#include "engine/compare/curve_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "engine/compare/compare_report.h"

namespace fairlane {
namespace {

/// One list of a curve: of[point], divided by the whole where it is a share.
struct CurveList {
  char const* name;
  std::vector<std::int64_t> Curve::*of;
  std::int64_t EnumeratedTotals::*whole = nullptr;
};

constexpr CurveList kLists[] = {
    {"evaluations", &Curve::evaluations},
    {"unique_groups", &Curve::unique_groups},
    {"unique_instances", &Curve::unique_instances},
    {"recall_groups", &Curve::unique_groups, &EnumeratedTotals::groups},
    {"recall_instances", &Curve::unique_instances, &EnumeratedTotals::instances},
};

bool is_known(Comparison const& c, CurveList const& list) {
  return list.whole == nullptr || c.totals.has_value();
}

double share_of(Comparison const& c, CurveList const& list, double count) {
  auto const whole = static_cast<double>((*c.totals).*list.whole);
  return whole > 0.0 ? count / whole : 0.0;
}

/// A list's value at a point: a count, or a share.
Json value_at(Comparison const& c, CurveList const& list, Trial const& trial, std::size_t point) {
  auto const count = static_cast<double>((trial.curve.*list.of)[point]);
  return number_or_null(list.whole == nullptr ? count : share_of(c, list, count));
}

/// Mean over the repeats of a count at each point.
std::vector<double> mean_of(Comparison const& c, std::size_t method,
                            std::vector<std::int64_t> Curve::*of) {
  std::vector<double> means(kCurvePoints);
  for (std::size_t point = 0; point < means.size(); ++point) {
    std::int64_t sum = 0;
    for (std::int64_t r = 0; r < c.repeats; ++r) sum += (c.trial(method, r).curve.*of)[point];
    means[point] = static_cast<double>(sum) / static_cast<double>(c.repeats);
  }
  return means;
}

CurveLine chart_line(Comparison const& c, std::size_t method,
                     std::vector<std::int64_t> Curve::*of) {
  CurveLine line{{0.0}, {0.0}, {0.0}, {0.0}};
  auto const x = mean_of(c, method, &Curve::evaluations);
  auto const y = mean_of(c, method, of);
  for (std::size_t point = 0; point < x.size(); ++point) {
    std::vector<std::int64_t> counts;
    for (std::int64_t r = 0; r < c.repeats; ++r)
      counts.push_back((c.trial(method, r).curve.*of)[point]);
    auto const [low, high] = std::minmax_element(counts.begin(), counts.end());
    line.x.push_back(x[point]);
    line.y.push_back(y[point]);
    line.low.push_back(static_cast<double>(*low));
    line.high.push_back(static_cast<double>(*high));
  }
  return line;
}

}  // namespace

Json curve_json(Comparison const& c, Trial const& trial) {
  Json json = Json::object();
  for (CurveList const& list : kLists) {
    if (!is_known(c, list)) continue;
    Json values = Json::array();
    for (std::size_t point = 0; point < kCurvePoints; ++point)
      values.push_back(value_at(c, list, trial, point));
    json[list.name] = std::move(values);
  }
  return json;
}

Json mean_curve_json(Comparison const& c, std::size_t method) {
  Json json = Json::object();
  for (CurveList const& list : kLists) {
    if (!is_known(c, list)) continue;
    Json values = Json::array();
    for (double const mean : mean_of(c, method, list.of))
      values.push_back(number_or_null(list.whole == nullptr ? mean : share_of(c, list, mean)));
    json[list.name] = std::move(values);
  }
  return json;
}

std::string curves_csv(Comparison const& c) {
  std::string text = "method,seed,point";
  for (CurveList const& list : kLists) {
    if (is_known(c, list)) text += fmt::format(",{}", list.name);
  }
  text += "\n";
  for (std::size_t m = 0; m < c.methods.size(); ++m) {
    for (std::int64_t r = 0; r < c.repeats; ++r) {
      Trial const& trial = c.trial(m, r);
      for (std::size_t point = 0; point < kCurvePoints; ++point) {
        text += fmt::format("{},{},{}", trial.method, trial.seed, point + 1);
        for (CurveList const& list : kLists) {
          if (is_known(c, list)) text += "," + value_at(c, list, trial, point).dump();
        }
        text += "\n";
      }
    }
  }
  return text;
}

CurveChart curve_chart(Comparison const& c) {
  CurveChart chart;
  chart.title = "What methods had found after how many model evaluations";
  chart.caption = fmt::format("Lines: mean of {} seeds; bands: from the least to the greatest{}",
                              c.repeats, repeats_note(c));
  chart.x_title = "model evaluations";
  for (auto const* method : c.methods) chart.series.emplace_back(method->name);
  for (CurveList const& list : kLists) {
    if (list.whole == nullptr) continue;
    bool const of_groups = list.of == &Curve::unique_groups;
    std::string title = of_groups ? "unique groups" : "unique IDIs";
    if (c.totals) title += fmt::format(", of {} in all", (*c.totals).*list.whole);
    CurvePanel& panel = chart.panels.emplace_back(CurvePanel{std::move(title), {}});
    for (std::size_t m = 0; m < c.methods.size(); ++m)
      panel.lines.push_back(chart_line(c, m, list.of));
  }
  return chart;
}

}  // namespace fairlane
