#include "engine/report/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/report/golden_audit.h"

namespace fairlane {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ReportHtml, TheVerdictComesFirst) {
  std::string const page = report_html(golden_audit());
  EXPECT_THAT(page, HasSubstr("<h1>Decisions differ</h1>"));
  std::size_t at = page.find("<h1>");
  for (char const* const title : {"How much", "Against whom", "Where", "People side by side",
                                  "What the search found beyond the table", "Limits of this result",
                                  "How to repeat it", "Words"}) {
    std::size_t const next = page.find(std::string("-title\">") + title + "</h2>");
    ASSERT_NE(next, std::string::npos) << title;
    EXPECT_LT(at, next) << title;
    at = next;
  }
}

TEST(ReportHtml, OtherVerdictsHaveHeadingsOfTheirOwn) {
  Json audit = golden_audit();
  audit["verdict"]["level"] = "none found";
  EXPECT_THAT(report_html(audit), HasSubstr("<h1>No difference found</h1>"));
  audit["verdict"]["level"] = "proven fair";
  EXPECT_THAT(report_html(audit), HasSubstr("<h1>Proven fair</h1>"));
}

TEST(ReportHtml, EscapesWhatTheAuditHasAsText) {
  Json audit = golden_audit();
  audit["model"] = "</title><script>alert('\"')</script>\x01\xE2\x80\xAE";
  std::string const page = report_html(audit);
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, HasSubstr("&lt;/title&gt;&lt;script&gt;alert(&#39;&quot;&#39;)&lt;/script&gt;"
                              "\\x01\\xe2\\x80\\xae"));
  EXPECT_THAT(page, HasSubstr("&quot;R&amp;D&quot; &lt;lead&gt;"));
  EXPECT_THAT(page, HasSubstr("Östen"));
}

TEST(ReportHtml, WhatChangedIsMarkedInWords) {
  EXPECT_THAT(report_html(golden_audit()),
              HasSubstr("<tr class=\"changed\"><th scope=\"row\">age<small>changed</small></th>\n"
                        "<td>45-59</td>\n<td>→ 60+</td>"));
}

TEST(ReportHtml, AnIntervalHasAWhisker) {
  std::string const page = report_html(golden_audit());
  EXPECT_THAT(page, HasSubstr("4.31 % to 5.19 % with 95 % confidence; a sample of 2,400 profiles"));
  EXPECT_THAT(page, HasSubstr("class=\"whisker\""));
  Json audit = without(golden_audit(), "plausible");
  EXPECT_THAT(report_html(without(audit, "domain")), Not(HasSubstr("class=\"whisker\"")));
}

TEST(ReportHtml, SaysWhatWasNotExamined) {
  for (char const* const part : {"rows", "plausible", "domain", "severity", "rates", "preferences",
                                 "worst", "rules", "search", "findings", "not_examined"}) {
    EXPECT_NO_THROW(report_html(without(golden_audit(), part))) << part;
  }
  EXPECT_THAT(report_html(without(golden_audit(), "rows")),
              HasSubstr("<li>The share of people in the table was not examined.</li>"));
  EXPECT_THAT(report_html(without(golden_audit(), "search")),
              HasSubstr("Not examined for age, race, gender and age, race and gender together."));
}

TEST(ReportHtml, AClassWithAWordOfItsOwnIsCalledByIt) {
  Json audit = golden_audit();
  audit["decision"]["favourable"]["word"] = "granted";
  EXPECT_THAT(report_html(audit), HasSubstr("would get granted if everybody"));
  audit["decision"]["favourable"]["word"] = "1";
  audit["decision"]["label"] = "";
  EXPECT_THAT(report_html(audit), HasSubstr("would get class 1 if everybody"));
}

TEST(ReportHtml, NamesAttributesWhoseValuesHaveNoWords) {
  Json audit = golden_audit();
  Json& set = audit["sets"][3];
  ASSERT_EQ(set["protected"].size(), 3U);
  Json one = {{"rows", 9}, {"reverse_rows", 0}};
  one["better"] = std::vector<std::string>{"1", "0", "1"};
  one["worse"] = std::vector<std::string>{"4", "0", "0"};
  set["preferences"] = Json::array({one});
  set["rates"] = Json::array({{{"values", one["better"]}, {"favourable", 9}, {"share", 0.5}}});
  std::string const page = report_html(audit);
  EXPECT_THAT(page, HasSubstr("<th scope=\"row\">age 1, race 0, gender 1</th>\n"
                              "<td>age 4, race 0, gender 0</td>"));
  EXPECT_THAT(page, HasSubstr("<th scope=\"row\">age 1, race 0, gender 1</th>\n<td><div"));
}

TEST(ReportHtml, CutsNoSentence) {
  std::string const sentence = std::string(400, 'a') + " to the end";
  Json audit = golden_audit();
  audit["assumed"] = Json::array({sentence});
  audit["sets"][0]["rules"][0]["text"] = sentence;
  std::string const page = report_html(audit);
  EXPECT_THAT(page, HasSubstr("<b>" + sentence));
  EXPECT_THAT(page, HasSubstr("<li>" + sentence));
}

TEST(ReportHtml, FitsIntoTwoMegabytesAndSaysWhatItLeftOut) {
  constexpr int kMany = 300;  // attributes
  Json audit = golden_audit();
  Json set = audit["sets"][0];
  for (int i = 0; i < kMany; ++i) {
    std::string const name = "attribute " + std::to_string(i) + std::string(180, 'x');
    for (std::size_t f = 0; f < set["findings"].size(); ++f)
      set["findings"][f]["words"][name] = name;
    Json worst = set["worst"][0];
    worst["attribute"] = name;
    set["worst"].push_back(worst);
    set["rates"].push_back(set["rates"][0]);
    set["preferences"].push_back(set["preferences"][0]);
  }
  for (int i = 0; i < 20; ++i) audit["sets"].push_back(set);
  ASSERT_GT(audit.dump().size(), 10'000'000U);
  std::string const page = report_html(audit);
  EXPECT_LE(page.size(), 2'000'000U);
  EXPECT_THAT(page, HasSubstr(" more are in audit.json."));
}

TEST(ReportHtml, RefusesWhatIsNoAudit) {
  Json audit = golden_audit();
  audit.erase("sets");
  EXPECT_THROW(report_html(audit), JsonError);
  EXPECT_THROW(report_html(Json::object()), JsonError);
}

}  // namespace
}  // namespace fairlane
