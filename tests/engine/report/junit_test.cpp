#include "engine/report/junit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/report/golden_audit.h"

namespace fairlane {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ReportJunit, FailsForTheSetsAboveTheLimit) {
  std::string const xml = report_junit(golden_audit());
  EXPECT_THAT(xml, HasSubstr("tests=\"4\" failures=\"1\" errors=\"0\" skipped=\"0\""));
  EXPECT_THAT(xml,
              HasSubstr("name=\"age, race and gender together: at most 5.00 % of people in the "
                        "table\" time=\"0\">\n      <failure type=\"limit\" message=\"5.16 % of "
                        "people in the table are affected, expected at most 5.00 %\">"));
}

TEST(ReportJunit, FailsExactlyWhenTheLimitIsExceeded) {
  Json audit = golden_audit();
  audit["policy"]["met"] = false;
  EXPECT_THAT(report_junit(audit), Not(HasSubstr("<failure")));
  audit["policy"]["met"] = true;
  audit["policy"]["above"] = 0.9;  // by something that the audit knows and no share shows
  EXPECT_THAT(report_junit(audit), HasSubstr("tests=\"5\" failures=\"1\""));
  audit["policy"] = nullptr;
  EXPECT_THAT(report_junit(audit), HasSubstr("tests=\"4\" failures=\"0\""));
}

TEST(ReportJunit, SkipsWhatWasNotExamined) {
  Json audit = golden_audit();
  audit["policy"]["share"] = "plausible";
  audit["policy"]["met"] = false;
  EXPECT_THAT(report_junit(audit),
              HasSubstr("<skipped message=\"the share of plausible people was not examined\"/>"));
}

TEST(ReportJunit, HoldsNoCharacterThatXmlHasNot) {
  Json audit = golden_audit();
  audit["table"] = "a\x01\x1F\xEF\xBF\xBE<\"&'>";
  EXPECT_THAT(report_junit(audit), HasSubstr("a\\x01\\x1f\xEF\xBF\xBD&lt;&quot;&amp;&#39;&gt;"));
}

}  // namespace
}  // namespace fairlane
