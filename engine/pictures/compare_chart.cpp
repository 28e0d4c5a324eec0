#include "engine/pictures/compare_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/pictures/svg.h"

namespace fairlane {
namespace {

// Pixels.
constexpr double kNames = 130.0;  // width of the series' names
constexpr double kPlot = 300.0;   // width of a panel's plot
constexpr double kGap = 40.0;     // between two panels
constexpr double kTop = 64.0;
constexpr double kLine = 28.0;  // height of a series' line
constexpr double kBottom = 40.0;
constexpr double kDot = 2.5;  // radius

std::string panel_svg(ChartPanel const& panel, double left) {
  double most = 0.0;
  for (auto const& trials : panel.points) {
    for (double const value : trials) most = std::max(most, value);
  }
  if (most <= 0.0) most = 1.0;
  double const scale = kPlot / most;
  auto const lines = static_cast<double>(panel.points.size());
  double const bottom = kTop + kLine * lines;
  std::string svg = svg_text(left, kTop - 12.0, "start", panel.title);
  double const step = tick_step(most);
  for (int i = 0; step * i <= most * (1.0 + 1e-9); ++i) {
    double const x = left + step * i * scale;
    svg += svg_line(x, kTop, x, bottom, "grid");
    svg += svg_text(x, bottom + 16.0, "middle", fmt::format("{:g}", step * i));
  }
  for (std::size_t s = 0; s < panel.points.size(); ++s) {
    double const y = kTop + kLine * (static_cast<double>(s) + 0.5);
    auto const& trials = panel.points[s];
    double sum = 0.0;
    for (double const value : trials) sum += value;
    auto const n = static_cast<double>(trials.size());
    double const mean = sum / n;
    double squares = 0.0;
    for (double const value : trials) {
      double const off = value - mean;
      squares += off * off;
      svg += fmt::format("<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"{}\" class=\"trial\"/>\n",
                         left + value * scale, y + 7.0, kDot);
    }
    double const sd = trials.size() > 1 ? std::sqrt(squares / (n - 1.0)) : 0.0;
    svg += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"10\" class=\"mean\"/>\n", left,
        y - 9.0, mean * scale);
    double const from = std::max(0.0, mean - sd);
    svg += svg_line(left + from * scale, y - 4.0, left + (mean + sd) * scale, y - 4.0, "sd");
  }
  return svg;
}

}  // namespace

std::string compare_svg(CompareChart const& chart) {
  auto const panels = static_cast<double>(chart.panels.size());
  double const width = kNames + panels * (kPlot + kGap);
  double const height = kTop + kLine * static_cast<double>(chart.series.size()) + kBottom;
  std::string svg =
      svg_begin(width, height, chart.title, chart.caption,
                ".mean{fill:#7aa6c2}.sd{stroke:#222;stroke-width:2}.trial{fill:#c4501b}");
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    double const y = kTop + kLine * (static_cast<double>(s) + 0.5);
    svg += svg_text(kNames - 10.0, y + 4.0, "end", chart.series[s]);
  }
  double left = kNames;
  for (ChartPanel const& panel : chart.panels) {
    svg += panel_svg(panel, left);
    left += kPlot + kGap;
  }
  return svg + "</svg>\n";
}

}  // namespace fairlane
