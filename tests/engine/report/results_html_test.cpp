#include "engine/report/results_html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "engine/digest/findings.h"
#include "tests/engine/report/golden_audit.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

Attribute attribute_of(std::int32_t low, std::int32_t high) {
  Attribute attribute;
  attribute.name = "hours";
  attribute.low = low;
  attribute.high = high;
  return attribute;
}

TEST(ResultsHtml, ValuesThatNobodyHasAreTilesToo) {
  Json const tiles = digest::tiles_of(attribute_of(1, 3), {{1, 5, 0}, {3, 7, 0}}, false);
  ASSERT_EQ(tiles.size(), 3U);
  EXPECT_EQ(tiles[1].at("value"), "2");
  EXPECT_EQ(tiles[1].at("count"), 0);
  EXPECT_EQ(tiles[2].at("count"), 7);
}

TEST(ResultsHtml, ManyValuesBecomeRangesThatHoldEachOnce) {
  std::vector<digest::CodeCount> counts;
  for (std::int32_t code = -10; code <= 89; ++code) counts.push_back({code, 1, 2});
  Json const tiles = digest::tiles_of(attribute_of(-10, 89), counts, true);
  EXPECT_LE(tiles.size(), 24U);
  EXPECT_EQ(tiles[0].at("value"), "-10 to -6");
  std::int64_t count = 0;
  std::int64_t of = 0;
  for (Json const& tile : tiles) {
    count += tile.at("count").get<std::int64_t>();
    of += tile.at("of").get<std::int64_t>();
  }
  EXPECT_EQ(count, 100);
  EXPECT_EQ(of, 200);
}

TEST(ResultsHtml, ResultsOutliveAPageThatCannotBeMade) {
  std::string const dir = (fs::path(::testing::TempDir()) / "no_page").string();
  fs::create_directories(dir);
  std::ofstream(dir + "/manifest.json") << "{\"fairlane\": \"<b>\"";
  EXPECT_THROW(results_digest({dir, dir}), Error);
  std::string const page = page_of_results({dir, dir});
  EXPECT_THAT(page, HasSubstr("<h1>No report</h1>"));
  std::string const main = page.substr(page.find("<main"));
  EXPECT_THAT(main, HasSubstr("manifest.json: is no result of this program"));
  fs::remove_all(dir);
}

TEST(ResultsHtml, NamesAreTexts) {
  Json digest = {{"name", ""},
                 {"command", "estimate"},
                 {"finished", true},
                 {"words", ""},
                 {"decision", {{"label", ""}, {"classes", Json::array()}}},
                 {"manifest", {{"config", {{"model", "</title><script>alert(1)</script>"}}}}}};
  Json const share = {{"share", 0.5}, {"low", 0.4}, {"high", 0.6}};
  digest["summary"] = {
      {"protected", Json::array({"<i>age"})},
      {"of", "domain"},
      {"confidence", 0.95},
      {"counts", {{"samples", 10}, {"unique_groups", 5}, {"model_evaluations", 20}}},
      {"success_rate", share},
      {"causal_score", share},
      {"group_score", share},
      {"undefined", 0}};
  std::string const page = results_html({digest});
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("<i>age")));
  EXPECT_THAT(page, HasSubstr("With nothing changed but &lt;i&gt;age"));
  EXPECT_THAT(page, HasSubstr("40.00 % to 60.00 % with 95 % confidence, by 10 samples"));
  digest["summary"].erase("causal_score");
  EXPECT_THROW(results_html({digest}), JsonError);
}

Json audit_digest(Json const& audit) {
  return {{"name", "audited"},
          {"command", "audit"},
          {"finished", true},
          {"words", ""},
          {"decision", {{"label", ""}, {"classes", Json::array()}}},
          {"manifest", {{"audit", {{"seconds", 10.0}, {"favourable", ""}}}}},
          {"summary", audit}};
}

TEST(ResultsHtml, AnAuditAmongOthersIsRepeatedByItsOwnCommands) {
  Json const audit = golden_audit();
  std::string const page = results_html({audit_digest(audit), audit_digest(audit)});
  EXPECT_THAT(page, Not(HasSubstr("options that say")));
  EXPECT_THAT(page, HasSubstr("census.csv --fail-above rows:0.05\nfairlane check age/search\n"
                              "fairlane check gender/search\n</code></pre>"));
  Json bare = audit;
  bare.erase("reproduce");
  EXPECT_THAT(results_html({audit_digest(bare), audit_digest(bare)}),
              HasSubstr("<code>fairlane audit config.yaml --out again"));
}

TEST(ResultsHtml, AnOverviewShowsTheShareThatTheVerdictOfAnAuditSpeaksOf) {
  auto const shown = [](Json const& audit) {
    std::string const page = results_html({audit_digest(audit), audit_digest(audit)});
    return page.substr(0, page.find("<section id=\"result-1\""));
  };
  Json audit = golden_audit();
  EXPECT_THAT(
      shown(audit),
      HasSubstr("<td>5.16 % of people in the table, by age, race and gender together</td>"));
  for (std::size_t i = 0; i < audit["sets"].size(); ++i) {
    audit["sets"][i]["rows"]["affected"] = 0;
    audit["sets"][i]["rows"]["share"] = 0.0;
  }
  EXPECT_THAT(shown(audit), HasSubstr("<td>3.90 % of plausible people, by gender</td>"));
  audit = without(audit, "plausible");
  // The verdict then is about profiles that a search found, which are no share of anything.
  EXPECT_THAT(
      shown(audit),
      HasSubstr("<td>0.00 % of people in the table, by age, race and gender together</td>"));
  audit = without(audit, "search");
  EXPECT_THAT(shown(audit),
              HasSubstr(" % of all possible inputs, by age, race and gender together</td>"));
}

}  // namespace
}  // namespace fairlane
