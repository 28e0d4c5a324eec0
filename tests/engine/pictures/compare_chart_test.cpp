#include "engine/pictures/compare_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fairlane {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::size_t count_of(std::string const& text, std::string const& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(CompareChart, ScalesEveryPanelToItsGreatestValue) {
  CompareChart const chart{
      "title", "caption", {"one", "two"}, {{"a", {{1, 3}, {4, 4}}}, {"b", {{10, 10}, {40, 40}}}}};
  std::string const svg = compare_svg(chart);
  EXPECT_EQ(count_of(svg, "<circle"), 8U);
  // The plot is 300 wide: 4 and 40 reach its end, the mean of 1 and 3 half of it.
  EXPECT_EQ(count_of(svg, "width=\"300.00\" height=\"10\""), 2U);
  EXPECT_EQ(count_of(svg, "width=\"150.00\" height=\"10\""), 1U);
  EXPECT_EQ(count_of(svg, "width=\"75.00\" height=\"10\""), 1U);
  EXPECT_EQ(count_of(svg, ">one</text>"), 1U) << "the panels share the names";
}

TEST(CompareChart, HasNoNumberThatIsNoneWhereNothingWasFound) {
  std::string const svg = compare_svg({"title", "caption", {"one"}, {{"a", {{0}}}}});
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, HasSubstr("width=\"0.00\""));
}

TEST(CompareChart, TextsAreNoMarkup) {
  std::string const svg = compare_svg({"a < b", "c & d", {"<e>"}, {{"f<g", {{1}}}}});
  for (char const* part : {"<title>a &lt; b</title>", ">c &amp; d<", ">&lt;e><", ">f&lt;g<"})
    EXPECT_THAT(svg, HasSubstr(part));
}

}  // namespace
}  // namespace fairlane
