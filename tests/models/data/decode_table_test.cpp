#include "models/data/decode_table.h"

#include <gtest/gtest.h>

#include "models/data/domain_yaml.h"
#include "tests/models/expect_error.h"

namespace fairlane {
namespace {

Domain people() {
  return parse_domain_yaml(
      "label: income\nlabels: {low: 0, \"50, or more\": 1}\nattributes:\n"
      "  - {name: sex, protected: true, categories: [Female, Male]}\n"
      "  - {name: job, categories: [Prof-specialty, \"Cook, sous\"]}\n"
      "  - {name: age, low: 1, bins: [-10, -1, 44, 59, 60, 99]}\n"
      "  - {name: score, low: 0, high: 9}\n",
      "d.yaml");
}

std::string words_of(std::string const& text) {
  std::string words;
  decode_table(text, "t.csv", people(), [&](std::string_view part) { words += part; });
  return words;
}

TEST(DecodeTable, SaysCodesInWords) {
  Domain const domain = people();
  Attribute const& age = domain.attributes[2];
  EXPECT_EQ(age.word(1), "-9 to -1");
  EXPECT_EQ(age.word(2), "0-44");
  EXPECT_EQ(age.word(3), "45-59");
  EXPECT_EQ(age.word(4), "60");
  EXPECT_EQ(age.word(5), "61-99");
  EXPECT_EQ(age.word(6), "6") << "a code that does not occur";
  Attribute fractions = age;
  fractions.bins = {0, 1, 1.5, 2, 7, 8};
  EXPECT_EQ(fractions.word(1), "over 0 to 1") << "where some numbers have fractions, all may";
  EXPECT_EQ(fractions.word(2), "over 1 to 1.5");
  EXPECT_EQ(domain.attributes[0].word(1), "Male");
  EXPECT_EQ(domain.attributes[3].word(7), "7");
  EXPECT_EQ(domain.label_word(1), "50, or more");
  EXPECT_EQ(domain.label_word(2), "2");
}

TEST(DecodeTable, TurnsTablesByName) {
  EXPECT_EQ(words_of("age,id,score,sex,income,job\n3,3,1,0,1,1\n1,\"a,b\",2,1.0,0,0\n"),
            "age,id,score,sex,income,job\n"
            "45-59,3,1,Female,\"50, or more\",\"Cook, sous\"\n"
            "-9 to -1,\"a,b\",2,Male,low,Prof-specialty\n");
  EXPECT_EQ(words_of("a,b\n1,2\n"), "a,b\n1,2\n");
}

TEST(DecodeTable, TurnsResultsByPlace) {
  // The score of a finding is none of the attribute of that name.
  EXPECT_EQ(words_of("sex,job,age,score,pair_sex,label,pair_label,score,pair_score,phase\n"
                     "0,0,3,5,1,0,1,0.25,0.75,local\n"),
            "sex,job,age,score,pair_sex,label,pair_label,score,pair_score,phase\n"
            "Female,Prof-specialty,45-59,5,Male,low,\"50, or more\",0.25,0.75,local\n");
  EXPECT_EQ(words_of("cell,sex_low,sex_high,age_low,age_high,verdict\n0,0,1,2,3,sat\n"),
            "cell,sex_low,sex_high,age_low,age_high,verdict\n0,Female,Male,0-44,45-59,sat\n");
  EXPECT_EQ(words_of("greater_sex,lesser_sex,groups\n0,1,17\n"),
            "greater_sex,lesser_sex,groups\nFemale,Male,17\n");
}

TEST(DecodeTable, RefusesWhatIsNoCode) {
  auto const expect_bad_code = [](std::string const& text,
                                  std::initializer_list<std::string> parts) {
    expect_error(ExitCode::kData, parts, [&] { words_of(text); });
  };
  expect_bad_code("age,sex\n3,2\n", {"t.csv:2:3", "'sex'", "'2'", "0..1"});
  expect_bad_code("age,sex\n3,1\n45,1\n", {"t.csv:3:1", "'45'", "1..5"});
  expect_bad_code("age,sex\nx,1\n", {"'x'", "a code"});
  expect_bad_code("age,income\n1,-1\n", {"t.csv:2:3", "class number"});
  expect_bad_code("age,sex\n3\n", {"t.csv:2:1", "1 cell", "expected 2"});
  expect_bad_code("", {"empty"});
}

}  // namespace
}  // namespace fairlane
