// A chart of lines that rise with what is spent, such as the findings of the methods of a
// comparison.
#pragma once

#include <string>
#include <vector>

namespace fairlane {

/// A series in a panel, point by point.
/// x, y, low, high  [points] at least 0, x ascending; low and high bound its band
struct CurveLine {
  std::vector<double> x;
  std::vector<double> y;
  std::vector<double> low;
  std::vector<double> high;
};

/// One measure: a line of each series.
struct CurvePanel {
  std::string title;
  std::vector<CurveLine> lines;
};

/// Panels side by side, with one scale of x, and texts around them.
struct CurveChart {
  std::string title;
  std::string caption;
  std::string x_title;
  std::vector<std::string> series;  // their names
  std::vector<CurvePanel> panels;
};

/// The chart as SVG.
std::string curves_svg(CurveChart const& chart);

}  // namespace fairlane
