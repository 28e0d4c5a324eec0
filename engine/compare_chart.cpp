// A comparison as a picture.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/compare_report.h"

namespace fairlane {
namespace {

// Pixels.
constexpr double kNames = 130.0;  // width of the methods' names
constexpr double kPlot = 300.0;   // width of a panel's plot
constexpr double kGap = 40.0;     // between two panels
constexpr double kTop = 64.0;
constexpr double kLine = 28.0;  // height of a method's line
constexpr double kBottom = 40.0;
constexpr double kDot = 2.5;     // radius
constexpr double kPer = 1000.0;  // model evaluations
constexpr int kTicks = 4;        // about so many

/// A panel: a rate of every trial.
struct Panel {
  char const* title;
  std::int64_t FindingCounts::*count;
};
constexpr Panel kPanels[] = {{"unique groups", &FindingCounts::unique_groups},
                             {"unique IDIs", &FindingCounts::unique_instances}};

double rate(Trial const& trial, Panel const& panel) {
  auto const evaluations = static_cast<double>(trial.search.model_evaluations);
  if (evaluations <= 0.0) return 0.0;
  return kPer * static_cast<double>(trial.found.*panel.count) / evaluations;
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
                     text);
}

std::string line(double x1, double y1, double x2, double y2, char const* style) {
  return fmt::format(
      "<line x1=\"{:.2f}\" y1=\"{:.2f}\" x2=\"{:.2f}\" y2=\"{:.2f}\" class=\"{}\"/>\n", x1, y1, x2,
      y2, style);
}

std::string panel_svg(Comparison const& c, Panel const& panel, double left) {
  double most = 0.0;
  for (Trial const& trial : c.trials) most = std::max(most, rate(trial, panel));
  if (most <= 0.0) most = 1.0;
  double const scale = kPlot / most;
  auto const lines = static_cast<double>(c.methods.size());
  double const bottom = kTop + kLine * lines;
  std::string svg = text_at(left, kTop - 12.0, "start",
                            fmt::format("{} per 1,000 model evaluations", panel.title));
  double const step = tick_step(most);
  for (int i = 0; step * i <= most * (1.0 + 1e-9); ++i) {
    double const x = left + step * i * scale;
    svg += line(x, kTop, x, bottom, "grid");
    svg += text_at(x, bottom + 16.0, "middle", fmt::format("{:g}", step * i));
  }
  for (std::size_t m = 0; m < c.methods.size(); ++m) {
    double const y = kTop + kLine * (static_cast<double>(m) + 0.5);
    double sum = 0.0;
    for (std::int64_t r = 0; r < c.repeats; ++r) sum += rate(c.trial(m, r), panel);
    auto const n = static_cast<double>(c.repeats);
    double const mean = sum / n;
    double squares = 0.0;
    for (std::int64_t r = 0; r < c.repeats; ++r) {
      double const off = rate(c.trial(m, r), panel) - mean;
      squares += off * off;
      svg += fmt::format("<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"{}\" class=\"trial\"/>\n",
                         left + rate(c.trial(m, r), panel) * scale, y + 7.0, kDot);
    }
    double const sd = c.repeats > 1 ? std::sqrt(squares / (n - 1.0)) : 0.0;
    svg += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"10\" class=\"mean\"/>\n", left,
        y - 9.0, mean * scale);
    double const from = std::max(0.0, mean - sd);
    svg += line(left + from * scale, y - 4.0, left + (mean + sd) * scale, y - 4.0, "sd");
  }
  return svg;
}

}  // namespace

std::string compare_svg(Comparison const& c) {
  auto const panels = static_cast<double>(std::size(kPanels));
  double const width = kNames + panels * (kPlot + kGap);
  double const height = kTop + kLine * static_cast<double>(c.methods.size()) + kBottom;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" width=\"{:.0f}\" "
      "height=\"{:.0f}\" role=\"img\">\n"
      "<title>Methods compared with one equal budget</title>\n"
      "<style>svg{{background:#fff}}text{{font:12px sans-serif;fill:#222}}.grid{{stroke:#ddd}}"
      ".mean{{fill:#7aa6c2}}.sd{{stroke:#222;stroke-width:2}}.trial{{fill:#c4501b}}</style>\n",
      width, height, width, height);
  svg += text_at(10.0, 22.0, "start",
                 fmt::format("Bars: mean of {} seeds; lines: one standard deviation either way; "
                             "dots: each seed",
                             c.repeats));
  for (std::size_t m = 0; m < c.methods.size(); ++m) {
    double const y = kTop + kLine * (static_cast<double>(m) + 0.5);
    svg += text_at(kNames - 10.0, y + 4.0, "end", c.methods[m]->name);
  }
  double left = kNames;
  for (Panel const& panel : kPanels) {
    svg += panel_svg(c, panel, left);
    left += kPlot + kGap;
  }
  return svg + "</svg>\n";
}

}  // namespace fairlane
