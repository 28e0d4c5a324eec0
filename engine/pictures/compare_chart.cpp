#include "engine/pictures/compare_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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
constexpr int kTicks = 4;     // about so many

/// A text inside an element.
std::string xml_text(std::string const& text) {
  std::string out;
  for (char const c : text) out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : std::string(1, c);
  return out;
}

/// A round step for about kTicks ticks up to `most`: 1, 2 or 5 times a power of ten.
double tick_step(double most) {
  double step = 1.0;
  while (step * kTicks > most) step /= 10.0;
  while (step * kTicks * 10.0 <= most) step *= 10.0;
  for (double const factor : {5.0, 2.0}) {
    if (step * factor * kTicks <= most) return step * factor;
  }
  return step;
}

std::string text_at(double x, double y, char const* anchor, std::string const& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     xml_text(text));
}

std::string line(double x1, double y1, double x2, double y2, char const* style) {
  return fmt::format(
      "<line x1=\"{:.2f}\" y1=\"{:.2f}\" x2=\"{:.2f}\" y2=\"{:.2f}\" class=\"{}\"/>\n", x1, y1, x2,
      y2, style);
}

std::string panel_svg(ChartPanel const& panel, double left) {
  double most = 0.0;
  for (auto const& trials : panel.points) {
    for (double const value : trials) most = std::max(most, value);
  }
  if (most <= 0.0) most = 1.0;
  double const scale = kPlot / most;
  auto const lines = static_cast<double>(panel.points.size());
  double const bottom = kTop + kLine * lines;
  std::string svg = text_at(left, kTop - 12.0, "start", panel.title);
  double const step = tick_step(most);
  for (int i = 0; step * i <= most * (1.0 + 1e-9); ++i) {
    double const x = left + step * i * scale;
    svg += line(x, kTop, x, bottom, "grid");
    svg += text_at(x, bottom + 16.0, "middle", fmt::format("{:g}", step * i));
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
    svg += line(left + from * scale, y - 4.0, left + (mean + sd) * scale, y - 4.0, "sd");
  }
  return svg;
}

}  // namespace

std::string compare_svg(CompareChart const& chart) {
  auto const panels = static_cast<double>(chart.panels.size());
  double const width = kNames + panels * (kPlot + kGap);
  double const height = kTop + kLine * static_cast<double>(chart.series.size()) + kBottom;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" width=\"{:.0f}\" "
      "height=\"{:.0f}\" role=\"img\">\n"
      "<title>{}</title>\n"
      "<style>svg{{background:#fff}}text{{font:12px sans-serif;fill:#222}}.grid{{stroke:#ddd}}"
      ".mean{{fill:#7aa6c2}}.sd{{stroke:#222;stroke-width:2}}.trial{{fill:#c4501b}}</style>\n",
      width, height, width, height, xml_text(chart.title));
  svg += text_at(10.0, 22.0, "start", chart.caption);
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    double const y = kTop + kLine * (static_cast<double>(s) + 0.5);
    svg += text_at(kNames - 10.0, y + 4.0, "end", chart.series[s]);
  }
  double left = kNames;
  for (ChartPanel const& panel : chart.panels) {
    svg += panel_svg(panel, left);
    left += kPlot + kGap;
  }
  return svg + "</svg>\n";
}

}  // namespace fairlane
