#include "engine/pictures/curve_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/pictures/svg.h"

namespace fairlane {
namespace {

// Pixels.
constexpr double kScaleWidth = 70.0;  // of the numbers left of a panel
constexpr double kPanelWidth = 320.0;
constexpr double kPanelHeight = 240.0;
constexpr double kPanelTop = 64.0;
constexpr double kPanelBottom = 50.0;
constexpr double kPanelGap = 20.0;
constexpr double kLegendWidth = 160.0;
constexpr double kLegendLine = 20.0;
constexpr double kLegendSample = 24.0;
constexpr double kRounding = 1e-9;  // of a tick that should lie at the end of its axis

/// Colours that are told apart also by those who see fewer of them; then again, with dashes.
/// Source: Okabe and Ito, "Color Universal Design", 2008, without black and yellow.
constexpr std::array kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"};

std::string stroke_of(std::size_t series) {
  bool const again = series >= kColours.size();
  return fmt::format("stroke=\"{}\"{}", kColours[series % kColours.size()],
                     again ? " stroke-dasharray=\"6 3\"" : "");
}

/// The greatest value of an axis; 1 where there is none above 0.
double axis_end(std::vector<double> const& greatest) {
  double most = 0.0;
  for (double const value : greatest) most = std::max(most, value);
  return most > 0.0 ? most : 1.0;
}

/// Where a panel's points lie.
struct Scales {
  double left;
  double most_x;
  double most_y;

  double x(double value) const { return left + value / most_x * kPanelWidth; }
  double y(double value) const { return kPanelTop + kPanelHeight * (1.0 - value / most_y); }
  std::string point(double x_value, double y_value) const {
    return fmt::format("{:.2f},{:.2f} ", x(x_value), y(y_value));
  }
};

std::string axes_svg(CurveChart const& chart, CurvePanel const& panel, Scales const& at) {
  double const bottom = kPanelTop + kPanelHeight;
  std::string svg = svg_text(at.left, kPanelTop - 12.0, "start", panel.title);
  double const step_x = tick_step(at.most_x);
  for (int i = 0; step_x * i <= at.most_x * (1.0 + kRounding); ++i) {
    double const x = at.x(step_x * i);
    svg += svg_line(x, kPanelTop, x, bottom, "grid");
    svg += svg_text(x, bottom + 16.0, "middle", fmt::format("{:g}", step_x * i));
  }
  double const step_y = tick_step(at.most_y);
  for (int i = 0; step_y * i <= at.most_y * (1.0 + kRounding); ++i) {
    double const y = at.y(step_y * i);
    svg += svg_line(at.left, y, at.left + kPanelWidth, y, "grid");
    svg += svg_text(at.left - 6.0, y + 4.0, "end", fmt::format("{:g}", step_y * i));
  }
  return svg + svg_text(at.left + kPanelWidth / 2.0, bottom + 34.0, "middle", chart.x_title);
}

std::string line_svg(CurveLine const& line, std::size_t series, Scales const& at) {
  std::string band;
  std::string mean;
  for (std::size_t i = 0; i < line.x.size(); ++i) {
    band += at.point(line.x[i], line.high[i]);
    mean += at.point(line.x[i], line.y[i]);
  }
  for (std::size_t i = line.x.size(); i-- > 0;) band += at.point(line.x[i], line.low[i]);
  return fmt::format(
      "<polygon points=\"{}\" class=\"band\" fill=\"{}\"/>\n"
      "<polyline points=\"{}\" class=\"mean\" {}/>\n",
      band, kColours[series % kColours.size()], mean, stroke_of(series));
}

std::string legend_svg(CurveChart const& chart, double left) {
  std::string svg;
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    double const y = kPanelTop + kLegendLine * (static_cast<double>(s) + 0.5);
    svg += fmt::format("<polyline points=\"{:.2f},{:.2f} {:.2f},{:.2f}\" class=\"mean\" {}/>\n",
                       left, y, left + kLegendSample, y, stroke_of(s));
    svg += svg_text(left + kLegendSample + 6.0, y + 4.0, "start", chart.series[s]);
  }
  return svg;
}

}  // namespace

std::string curves_svg(CurveChart const& chart) {
  auto const panels = static_cast<double>(chart.panels.size());
  double const legend = panels * (kScaleWidth + kPanelWidth + kPanelGap);
  double const width = legend + kLegendWidth;
  double const height =
      kPanelTop + kPanelBottom +
      std::max(kPanelHeight, kLegendLine * static_cast<double>(chart.series.size()));
  std::string svg = svg_begin(width, height, chart.title, chart.caption,
                              ".mean{fill:none;stroke-width:2}.band{opacity:0.15}");
  std::vector<double> greatest_x;
  for (CurvePanel const& panel : chart.panels) {
    for (CurveLine const& line : panel.lines)
      greatest_x.insert(greatest_x.end(), line.x.begin(), line.x.end());
  }
  double left = kScaleWidth;
  for (CurvePanel const& panel : chart.panels) {
    std::vector<double> greatest_y;
    for (CurveLine const& line : panel.lines)
      greatest_y.insert(greatest_y.end(), line.high.begin(), line.high.end());
    Scales const at{left, axis_end(greatest_x), axis_end(greatest_y)};
    svg += axes_svg(chart, panel, at);
    for (std::size_t s = 0; s < panel.lines.size(); ++s) svg += line_svg(panel.lines[s], s, at);
    left += kPanelWidth + kPanelGap + kScaleWidth;
  }
  return svg + legend_svg(chart, legend) + "</svg>\n";
}

}  // namespace fairlane
