#include "engine/report/policy_words.h"

#include <gtest/gtest.h>

#include "engine/audit/verdict.h"
#include "tests/engine/report/golden_audit.h"

namespace fairlane {
namespace {

Json held_to(char const* share, double above) {
  Json audit = golden_audit();
  audit["policy"] = policy_json(audit, share, above);
  return audit;
}

TEST(PolicyWords, TheSetThatExceedsMostIsNamedWithItsShare) {
  EXPECT_EQ(
      "5.16 % of people in the table are affected by age, race and gender together, above the "
      "limit of 5.00 %",
      report::exceeded_words(held_to("rows", 0.05)));
  EXPECT_EQ(
      "5.16 % of people in the table are affected by age, race and gender together, above the "
      "limit of 3.00 %; 1 more set is above it",
      report::exceeded_words(held_to("rows", 0.03)));
  EXPECT_EQ(
      "3.90 % (3.43 % to 4.45 %) of plausible people are affected by gender, above the limit of "
      "1.00 %; 1 more set is above it",
      report::exceeded_words(held_to("plausible", 0.01)));
  EXPECT_EQ("", report::exceeded_words(held_to("rows", 0.9)));
}

TEST(PolicyWords, SetsWhoseIntervalHoldsTheLimitDoNotExceedIt) {
  // The share of age, 1.61 %, is above 1.5 %, all of its interval is not.
  EXPECT_EQ("The limit of 1.50 % of plausible people is exceeded by gender.",
            report::policy_words(held_to("plausible", 0.015)));
  EXPECT_EQ("Whether the limit of 4.00 % of plausible people is kept is undecided.",
            report::policy_words(held_to("plausible", 0.04)));
  EXPECT_EQ(
      "The limit of 1.00 % of people in the table is exceeded by age, race and gender together, "
      "gender and age.",
      report::policy_words(held_to("rows", 0.01)));
}

}  // namespace
}  // namespace fairlane
