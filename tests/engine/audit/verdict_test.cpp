#include "engine/audit/verdict.h"

#include <gtest/gtest.h>

namespace fairlane {
namespace {

Json set_of(std::vector<std::string> const& names, int affected, int found = 0,
            char const* source = "sample", double high = 0.5) {
  std::string name;
  for (std::string const& one : names) name += (name.empty() ? "" : "+") + one;
  Json preferences = Json::array();
  if (affected > 0)
    preferences.push_back({{"better", std::vector<std::string>(names.size(), "b")},
                           {"worse", std::vector<std::string>(names.size(), "w")},
                           {"rows", affected},
                           {"reverse_rows", 0}});
  return {
      {"name", name},
      {"protected", names},
      {"rows",
       {{"count", 1000}, {"affected", affected}, {"share", affected / 1000.0}, {"undefined", 0}}},
      {"plausible", nullptr},
      {"domain",
       {{"share", 0.0}, {"low", 0.0}, {"high", high}, {"source", source}, {"groups", 10}}},
      {"preferences", std::move(preferences)},
      {"search", {{"groups", found}}}};
}

Json audit_of(std::vector<Json> const& sets) {
  return {{"decision", {{"label", "approved"}, {"favourable", {{"class", 1}, {"word", "yes"}}}}},
          {"sets", Json(sets)}};
}

std::string level_of(Json const& audit) {
  return verdict_json(audit).at("level").get<std::string>();
}

std::string text_of(Json const& audit) { return verdict_json(audit).at("text").get<std::string>(); }

TEST(AuditVerdict, RowsComeFirst) {
  auto const audit =
      audit_of({set_of({"age"}, 10), set_of({"sex"}, 20), set_of({"age", "sex"}, 25)});
  EXPECT_EQ("differs", level_of(audit));
  EXPECT_EQ(
      "The decision about 25 of 1,000 people in the table (2.50 %) changes when nothing but age or "
      "sex does. sex alone changes it for 20. 20 people would get yes with sex b and not with sex "
      "w, "
      "nobody the other way round.",
      text_of(audit));
}

TEST(AuditVerdict, AttributesThatAreNotTestedTogetherAreTold) {
  auto const audit = audit_of({set_of({"age"}, 10), set_of({"sex"}, 20)});
  EXPECT_NE(std::string::npos, text_of(audit).find("20 of 1,000")) << text_of(audit);
  EXPECT_NE(std::string::npos, text_of(audit).find("age alone changes it for 10"))
      << text_of(audit);
  auto const other = audit_of({set_of({"age"}, 10), set_of({"sex"}, 0)});
  EXPECT_NE(std::string::npos, text_of(other).find("10 of 1,000")) << text_of(other);
  EXPECT_NE(std::string::npos, text_of(other).find("nothing but age does")) << text_of(other);
}

TEST(AuditVerdict, LevelsWithoutAffectedRows) {
  EXPECT_EQ("differs", level_of(audit_of({set_of({"age"}, 0, 3)})));
  EXPECT_EQ("none found", level_of(audit_of({set_of({"age"}, 0)})));
  EXPECT_EQ("proven fair", level_of(audit_of({set_of({"age"}, 0, 0, "count", 0.0)})));
  EXPECT_EQ("none found", level_of(audit_of({set_of({"age"}, 0, 0, "sample", 0.0)})));
  // Outputs that are undefined may be either.
  EXPECT_EQ("none found", level_of(audit_of({set_of({"age"}, 0, 0, "count", 0.1)})));
  EXPECT_EQ("none found",
            level_of(audit_of({set_of({"age"}, 0, 0, "count", 0.0), set_of({"age", "sex"}, 0)})));
}

TEST(AuditVerdict, PoliciesAreUndecidedWhereIntervalsHoldTheLimit) {
  auto const audit = audit_of({set_of({"age"}, 10)});
  EXPECT_EQ(Json(true), policy_json(audit, "rows", 0.009).at("met"));
  EXPECT_EQ(Json(false), policy_json(audit, "rows", 0.01).at("met"));
  EXPECT_EQ(Json(nullptr), policy_json(audit, "domain", 0.25).at("met"));
  EXPECT_EQ(Json(false), policy_json(audit, "domain", 0.5).at("met"));
  EXPECT_EQ(Json(nullptr), policy_json(audit, "plausible", 0.5).at("met"));
  auto const two = audit_of({set_of({"age"}, 10), set_of({"sex"}, 0)});
  EXPECT_EQ(Json(true), policy_json(two, "rows", 0.005).at("met")) << "of any set";
}

}  // namespace
}  // namespace fairlane
