// Parts of SVG pictures.
#pragma once

#include <string>

namespace fairlane {

/// A text as it stands inside an element.
std::string svg_escaped(std::string const& text);
/// A round step for about four ticks up to `most`: 1, 2 or 5 times a power of ten.
double tick_step(double most);
/// The start of a picture of that size in pixels, with its caption; `</svg>` ends it.
/// style  of its classes, in CSS
std::string svg_begin(double width, double height, std::string const& title,
                      std::string const& caption, char const* style);
/// anchor: the end of the text that is at (x, y): start, middle or end
std::string svg_text(double x, double y, char const* anchor, std::string const& text);
/// style: its class
std::string svg_line(double x1, double y1, double x2, double y2, char const* style);

}  // namespace fairlane
