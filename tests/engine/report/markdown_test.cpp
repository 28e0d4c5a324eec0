#include "engine/report/markdown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/report/golden_audit.h"

namespace fairlane {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ReportMarkdown, TheVerdictComesFirst) {
  std::string const text = report_markdown(golden_audit());
  EXPECT_THAT(text, StartsWith("# Decisions differ\n\nThe decision of 258 of 5,000 people"));
  EXPECT_THAT(text, HasSubstr("\n| age | 1.54 % (77 of 5,000, counted) | 1.61 % (1.42 % to 1.86 % "
                              "with 95 % confidence; 161 of 10,000 drawn) | 2.31 % (all 54,000 "
                              "profiles counted) |\n"));
  EXPECT_THAT(text, HasSubstr("| not examined |"));
}

TEST(ReportMarkdown, NamesAttributesWhoseValuesHaveNoWords) {
  Json audit = golden_audit();
  Json& set = audit["sets"][3];
  ASSERT_EQ(set["protected"].size(), 3U);
  Json one = {{"rows", 9}, {"reverse_rows", 0}};
  one["better"] = std::vector<std::string>{"1", "0", "1"};
  one["worse"] = std::vector<std::string>{"60+", "-4", "female"};
  set["preferences"] = Json::array({one});
  EXPECT_THAT(report_markdown(audit),
              HasSubstr("- **age 1, race 0, gender 1** over **60+, race -4, female**: 9 people"));
  one["worse"] = std::vector<std::string>{"60+", "group-A", "female"};
  set["preferences"] = Json::array({one});
  EXPECT_THAT(report_markdown(audit), HasSubstr(" over **60+, group-A and female**: 9 people"));
}

TEST(ReportMarkdown, EscapesWhatWouldBeMarkup) {
  Json audit = golden_audit();
  audit["sets"][0]["worst"][0]["value"] = "a|b *c* [d](e) <f> @g `h`";
  EXPECT_THAT(report_markdown(audit),
              HasSubstr("a\\|b \\*c\\* \\[d\\](e) &lt;f&gt; &#64;g \\`h\\`:"));
}

TEST(ReportMarkdown, NoLineOfACommandEndsItsBlock) {
  Json audit = golden_audit();
  audit["reproduce"] = Json::array({"fairlane audit '```'"});
  EXPECT_THAT(report_markdown(audit), HasSubstr("````sh\nfairlane audit '```'\n````\n"));
}

TEST(ReportMarkdown, CommandsStandAsTheyAreTyped) {
  Json audit = golden_audit();
  ASSERT_FALSE(audit["sets"][0]["search"].is_null());
  audit["sets"][0]["search"]["command"] = "fairlane run a.yaml --set 'protected=[age]'";
  std::string const text = report_markdown(audit);
  EXPECT_THAT(text, HasSubstr("all of them are written by\n\n```sh\nfairlane run a.yaml --set "
                              "'protected=[age]'\n```\n\n"));
}

TEST(ReportMarkdown, HasASectionForAModelCard) {
  std::string const text = report_markdown(golden_audit());
  std::size_t const card = text.find("<summary>A section for a model card</summary>");
  ASSERT_NE(card, std::string::npos);
  EXPECT_THAT(text.substr(card), HasSubstr("```markdown\n## Fairness\n\nDecisions differ. "));
}

TEST(ReportMarkdown, DoesWithoutWhatWasNotExamined) {
  for (char const* const part : {"rows", "plausible", "domain", "severity", "rates", "preferences",
                                 "worst", "rules", "search", "findings", "not_examined"}) {
    EXPECT_NO_THROW(report_markdown(without(golden_audit(), part))) << part;
  }
}

}  // namespace
}  // namespace fairlane
