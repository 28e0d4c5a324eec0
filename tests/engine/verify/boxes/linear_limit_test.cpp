#include "engine/verify/boxes/linear_limit.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace fairlane {
namespace {

Domain domain_of(std::vector<std::string> const& names) {
  Domain domain;
  for (std::string const& name : names) {
    Attribute attribute;
    attribute.name = name;
    domain.attributes.push_back(std::move(attribute));
  }
  return domain;
}

TEST(LinearLimit, ReadsSumsOnBothSides) {
  Domain const domain = domain_of({"age", "education", "education-num", "sex"});
  struct Case {
    char const* text;
    std::vector<std::int64_t> coefficients;
    std::int64_t most;
  };
  for (Case const& one : std::vector<Case>{
           {"age <= 30", {1, 0, 0, 0}, 30},
           {"age>=30", {-1, 0, 0, 0}, -30},
           {"2 * age - 3 education + 1 <= 10", {2, -3, 0, 0}, 9},
           {"education-num - education <= 1", {0, -1, 1, 0}, 1},
           {"education <= education-num", {0, 1, -1, 0}, 0},
           {"-education-num + age <= -4 + 2age", {-1, 0, -1, 0}, -4},
       }) {
    auto const limits = parse_limit(one.text, domain, {3});
    ASSERT_EQ(limits.size(), 1U) << one.text;
    EXPECT_EQ(limits[0].coefficients, one.coefficients) << one.text;
    EXPECT_EQ(limits[0].most, one.most) << one.text;
  }
  auto const both = parse_limit("age = education + 6", domain, {});
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0].coefficients, (std::vector<std::int64_t>{1, -1, 0, 0}));
  EXPECT_EQ(both[0].most, 6);
  EXPECT_EQ(both[1].coefficients, (std::vector<std::int64_t>{-1, 1, 0, 0}));
  EXPECT_EQ(both[1].most, -6);
}

TEST(LinearLimit, RefusesWhatItCannotRead) {
  Domain const domain = domain_of({"age", "hours", "sex"});
  for (char const* text : {"", "age", "age <", "age < 3", "<= 3", "3 <= 4", "age + <= 3",
                           "2 ** age <= 3", "year <= 3", "age <= 3 4", "sex <= 0", "age <= 3 <= 4",
                           "1000001 age <= 3", "age <= 99999999999999999999", "age - age <= 2",
                           "2 * 3 <= age", "600000 age + 600000 age <= 1"}) {
    EXPECT_THROW(parse_limit(text, domain, {2}), Error) << text;
  }
}

}  // namespace
}  // namespace fairlane
