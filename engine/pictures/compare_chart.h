// A chart of several measures of several series, such as the methods of a comparison.
#pragma once

#include <string>
#include <vector>

namespace fairlane {

/// One measure.
/// points  [series][trials] values of at least 0, and as many trials of each series
struct ChartPanel {
  std::string title;
  std::vector<std::vector<double>> points;
};

/// Panels side by side with one line per series in each, and texts around them.
struct CompareChart {
  std::string title;
  std::string caption;
  std::vector<std::string> series;  // their names
  std::vector<ChartPanel> panels;
};

/// The chart as SVG: every trial as a dot, its series' mean as a bar with the standard deviation
/// of a sample as a line either way.
std::string compare_svg(CompareChart const& chart);

}  // namespace fairlane
