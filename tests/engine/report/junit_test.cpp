#include "engine/report/junit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/audit/verdict.h"
#include "tests/engine/report/golden_audit.h"

namespace fairlane {
namespace {

using ::testing::HasSubstr;

TEST(ReportJunit, FailsForTheSetsAboveTheLimit) {
  std::string const xml = report_junit(golden_audit());
  EXPECT_THAT(xml, HasSubstr("tests=\"4\" failures=\"1\" errors=\"0\" skipped=\"0\""));
  EXPECT_THAT(xml,
              HasSubstr("name=\"age, race and gender together: at most 5.00 % of people in the "
                        "table\" time=\"0\">\n      <failure type=\"limit\" message=\"5.16 % of "
                        "people in the table are affected, expected at most 5.00 %\">"));
}

TEST(ReportJunit, JudgesEachSetByItsOwnInterval) {
  Json audit = golden_audit();
  auto const measured = [](double share, double low, double high) {
    return Json{{"people", 10000}, {"affected", 768}, {"share", share},
                {"low", low},      {"high", high},    {"confidence", 0.95}};
  };
  audit["sets"][0]["plausible"] = measured(0.0768, 0.0712, 0.0826);
  audit["sets"][1]["plausible"] = measured(0.4, 0.35, 0.51);
  audit["sets"][2]["plausible"] = nullptr;
  audit["sets"][3]["plausible"] = measured(0.6, 0.55, 0.65);
  auto const judged = [&](double above) {
    audit["policy"] = policy_json(audit, "plausible", above);
    return report_junit(audit);
  };
  std::string const name = ": at most 50.00 % of plausible people\" time=\"0\">\n      ";
  std::string const xml = judged(0.5);
  EXPECT_THAT(xml, HasSubstr("tests=\"4\" failures=\"1\" errors=\"0\" skipped=\"2\""));
  EXPECT_THAT(xml, HasSubstr("name=\"age" + name + "<system-out>"));
  EXPECT_THAT(xml, HasSubstr("name=\"race" + name +
                             "<skipped message=\"undecided: 40.00 % (35.00 % to 51.00 %) of "
                             "plausible people are affected, which may be above 50.00 %\"/>"));
  EXPECT_THAT(xml, HasSubstr("<skipped message=\"the share of plausible people was not examined"));
  EXPECT_THAT(xml, HasSubstr("together" + name +
                             "<failure type=\"limit\" message=\"60.00 % (55.00 % to 65.00 %) of "
                             "plausible people are affected, expected at most 50.00 %\">"));
  // What no set exceeds, one leaves open: the others are decided all the same.
  audit["sets"][2]["plausible"] = measured(0.0, 0.0, 0.01);
  EXPECT_THAT(judged(0.62), HasSubstr("failures=\"0\" errors=\"0\" skipped=\"1\""));
  EXPECT_TRUE(audit["policy"]["met"].is_null());
  audit["policy"] = nullptr;
  EXPECT_THAT(report_junit(audit),
              HasSubstr("tests=\"4\" failures=\"0\" errors=\"0\" skipped=\"0\""));
}

TEST(ReportJunit, RowsWithUndefinedOutputsLeaveALimitOpen) {
  Json audit = golden_audit();
  audit["sets"][0]["rows"] = {{"count", 100}, {"affected", 2}, {"share", 0.02}, {"undefined", 5}};
  audit["policy"] = policy_json(audit, "rows", 0.06);
  std::string const xml = report_junit(audit);
  EXPECT_TRUE(audit["policy"]["met"].is_null());
  EXPECT_THAT(
      xml, HasSubstr("<skipped message=\"undecided: 2.00 % (and 5 of the 100 may be) of people"));
  EXPECT_THAT(xml, HasSubstr("failures=\"0\" errors=\"0\" skipped=\"1\""));
}

TEST(ReportJunit, HoldsNoCharacterThatXmlHasNot) {
  Json audit = golden_audit();
  audit["table"] = "a\x01\x1F\xEF\xBF\xBE<\"&'>";
  EXPECT_THAT(report_junit(audit), HasSubstr("a\\x01\\x1f\xEF\xBF\xBD&lt;&quot;&amp;&#39;&gt;"));
}

}  // namespace
}  // namespace fairlane
