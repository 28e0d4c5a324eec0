#include "engine/pictures/svg.h"

#include <fmt/format.h>

namespace fairlane {
namespace {

constexpr int kTicks = 4;  // about so many

}  // namespace

std::string svg_escaped(std::string const& text) {
  std::string out;
  for (char const c : text) out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : std::string(1, c);
  return out;
}

double tick_step(double most) {
  double step = 1.0;
  while (step * kTicks > most) step /= 10.0;
  while (step * kTicks * 10.0 <= most) step *= 10.0;
  for (double const factor : {5.0, 2.0}) {
    if (step * factor * kTicks <= most) return step * factor;
  }
  return step;
}

std::string svg_begin(double width, double height, std::string const& title,
                      std::string const& caption, char const* style) {
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" "
             "width=\"{:.0f}\" height=\"{:.0f}\" role=\"img\">\n"
             "<title>{}</title>\n"
             "<style>svg{{background:#fff}}text{{font:12px sans-serif;fill:#222}}"
             ".grid{{stroke:#ddd}}{}</style>\n",
             width, height, width, height, svg_escaped(title), style) +
         svg_text(10.0, 22.0, "start", caption);
}

std::string svg_text(double x, double y, char const* anchor, std::string const& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     svg_escaped(text));
}

std::string svg_line(double x1, double y1, double x2, double y2, char const* style) {
  return fmt::format(
      "<line x1=\"{:.2f}\" y1=\"{:.2f}\" x2=\"{:.2f}\" y2=\"{:.2f}\" class=\"{}\"/>\n", x1, y1, x2,
      y2, style);
}

}  // namespace fairlane
