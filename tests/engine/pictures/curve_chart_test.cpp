#include "engine/pictures/curve_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fairlane {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

CurveLine straight(double x, double y) { return {{0, x}, {0, y}, {0, y}, {0, y}}; }

// The plots are 320 wide and 240 high, from (70, 64) and (480, 64) on.
TEST(CurveChart, PanelsShareTheScaleOfXAndHaveTheirOwnOfY) {
  CurveChart const chart{
      "title",
      "caption",
      "evaluations",
      {"one", "two"},
      {{"a", {straight(100, 4), straight(50, 2)}}, {"b", {straight(100, 40), straight(100, 80)}}}};
  std::string const svg = curves_svg(chart);
  for (char const* points : {"\"70.00,304.00 390.00,64.00 \"", "\"70.00,304.00 230.00,184.00 \"",
                             "\"480.00,304.00 800.00,184.00 \"", "\"480.00,304.00 800.00,64.00 \""})
    EXPECT_THAT(svg, HasSubstr(std::string("<polyline points=") + points));
}

TEST(CurveChart, ABandGoesAboveAndBelowTheMean) {
  std::string const svg = curves_svg({"t", "c", "x", {"one"}, {{"a", {{{10}, {3}, {1}, {4}}}}}});
  EXPECT_THAT(svg, HasSubstr("<polygon points=\"390.00,64.00 390.00,244.00 \""));
  EXPECT_THAT(svg, HasSubstr("<polyline points=\"390.00,124.00 \""));
}

TEST(CurveChart, ManySeriesHaveStylesOfTheirOwn) {
  CurveChart chart{"t", "c", "x", {}, {{"a", {}}}};
  for (int s = 0; s < 7; ++s) {
    chart.series.push_back("s" + std::to_string(s));
    chart.panels[0].lines.push_back(straight(1, 1));
  }
  std::string const svg = curves_svg(chart);
  EXPECT_THAT(svg, HasSubstr("stroke=\"#0072b2\"/>"));
  EXPECT_THAT(svg, HasSubstr("stroke=\"#0072b2\" stroke-dasharray"));
}

TEST(CurveChart, HasNoNumberThatIsNoneWhereNothingWasFound) {
  std::string const svg = curves_svg({"t", "c & d", "x", {"<e>"}, {{"a", {straight(0, 0)}}}});
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, HasSubstr("\"70.00,304.00 70.00,304.00 \""));
  EXPECT_THAT(svg, HasSubstr("c &amp; d<"));
  EXPECT_THAT(svg, HasSubstr(">&lt;e><"));
}

}  // namespace
}  // namespace fairlane
