// fairlane enumerate and estimate as a person uses them, and what can be wrong with their flags.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/apps/bad_input.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;

Words enumerate_with(Words const& flags) {
  Words words = {"enumerate", "config.yaml"};
  words.insert(words.end(), flags.begin(), flags.end());
  return words;
}
Words estimate_with(Words const& flags) {
  Words words = {"estimate", "config.yaml"};
  words.insert(words.end(), flags.begin(), flags.end());
  return words;
}
void drop_data() { edit_file("config.yaml", "data: data.csv\n", ""); }
void enumerate_sex() {
  Outcome const outcome = run_fairlane({"enumerate", "config.yaml", "--out", "all", "-q"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
}

// One mistake in two lines or three; a formatter would make them ten.
// clang-format off
BadInput const kCountFlags[] = {
    {"RangeWithoutValue", nothing, enumerate_with({"--range", "age"}), ExitCode::kUsage,
     {"--range", "'age'", "NAME=LOW..HIGH"}},
    {"RangeNoNumber", nothing, enumerate_with({"--range", "age=x..2"}), ExitCode::kUsage,
     {"--range age", "'x'"}},
    {"RangeOutside", nothing, enumerate_with({"--range", "age=3..12"}), ExitCode::kUsage,
     {"age=3..12", "0..9"}},
    {"RangeUnknown", nothing, enumerate_with({"--range", "agee=3"}), ExitCode::kUsage,
     {"'agee'", "did you mean 'age'?"}},
    {"RangeUnderTest", nothing, enumerate_with({"--range", "sex=0"}), ExitCode::kUsage,
     {"'sex'", "under test"}},
    {"TupleFromElsewhere", nothing, enumerate_with({"--tuple", "age,income"}), ExitCode::kUsage,
     {"--tuple", "from-data"}},
    {"TupleUnknown", nothing, enumerate_with({"--tuple", "age,incom=from-data"}), ExitCode::kUsage,
     {"'incom'", "did you mean 'income'?"}},
    {"TupleWithoutData", drop_data, enumerate_with({"--tuple", "age=from-data"}), ExitCode::kUsage,
     {"--tuple", "no `data`"}},
    {"RowsWithoutData", drop_data, enumerate_with({"--rows"}), ExitCode::kUsage,
     {"--rows", "no `data`"}},
    {"ShardWithoutSlash", nothing, enumerate_with({"--shard", "3"}), ExitCode::kUsage,
     {"--shard", "'3'", "K/N"}},
    {"ShardZero", nothing, enumerate_with({"--shard", "0/3"}), ExitCode::kUsage, {"--shard", "0"}},
    {"ShardBeyond", nothing, enumerate_with({"--shard", "4/3"}), ExitCode::kUsage, {"--shard", "4"}},
    {"InstancesWord", nothing, enumerate_with({"--instances", "some"}), ExitCode::kUsage,
     {"--instances", "'some'", "none, all"}},
    {"InstancesNowhere", nothing, enumerate_with({"--instances", "all", "--set", "output.format=none"}),
     ExitCode::kUsage, {"--instances", "output.format"}},
    {"MergeOfNothing", nothing, enumerate_with({"--merge", "a", "b"}), ExitCode::kNoInput,
     {"a/manifest.json"}},
    {"MergeOfAShard", nothing, enumerate_with({"--merge", "a", "--shard", "1/2"}), ExitCode::kUsage,
     {"--merge", "--shard"}},
    {"ErrorZero", nothing, estimate_with({"--error", "0"}), ExitCode::kUsage, {"--error", "0"}},
    {"ConfidenceOne", nothing, estimate_with({"--confidence", "1"}), ExitCode::kUsage,
     {"--confidence"}},
    {"SamplesNone", nothing, estimate_with({"--samples", "0"}), ExitCode::kUsage, {"--samples"}},
    {"TrialsOfWhat", nothing, estimate_with({"--trials", "10"}), ExitCode::kUsage,
     {"--trials", "--samples"}},
    {"SearchAboveOne", nothing, estimate_with({"--search-above", "2"}), ExitCode::kUsage,
     {"--search-above"}},
    {"EstimateRowsWithoutData", drop_data, estimate_with({"--rows"}), ExitCode::kUsage,
     {"--rows", "no `data`"}},
    {"AgainstNothing", nothing, {"run", "config.yaml", "--against", "none"}, ExitCode::kNoInput,
     {"none/manifest.json"}},
    {"AgainstAnother", enumerate_sex, {"run", "config.yaml", "--against", "all", "--set",
     "protected=[age]"}, ExitCode::kUsage, {"--against", "another model"}},
};
// clang-format on

class BadCountFlags : public testing::TestWithParam<BadInput> {};
TEST_P(BadCountFlags, AreOneLine) { expect_one_line(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Flags, BadCountFlags, testing::ValuesIn(kCountFlags), case_name);

TEST(EnumerateCommand, CountsShowsAndIsChecked) {
  WorkingFolder const folder;
  write_small_run();
  Outcome const text =
      run_fairlane({"enumerate", "config.yaml", "--out", "all", "--instances", "all"});
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find("200 inputs in 100 groups"), std::string::npos) << text.out;
  Outcome const checked = run_fairlane({"check", "all"});
  EXPECT_EQ(checked.code, 0) << checked.err;
  Outcome const printed = run_fairlane(
      {"enumerate", "config.yaml", "--out", "all", "--instances", "all", "--json", "-q"});
  auto const summary = nlohmann::json::parse(printed.out);
  EXPECT_EQ(summary["counts"]["inputs"], 200);
  EXPECT_TRUE(fs::exists("all/values.csv"));
  EXPECT_TRUE(fs::exists("all/pairs.csv"));
}

TEST(EstimateCommand, AgreesWithTheCount) {
  WorkingFolder const folder;
  write_small_run();
  auto const counted = nlohmann::json::parse(
      run_fairlane({"enumerate", "config.yaml", "--out", "all", "--json", "-q"}).out);
  Outcome const outcome = run_fairlane({"estimate", "config.yaml", "--json", "-q"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  auto const estimate = nlohmann::json::parse(outcome.out);
  EXPECT_LE(estimate["success_rate"]["low"], counted["success_rate"]);
  EXPECT_GE(estimate["success_rate"]["high"], counted["success_rate"]);
  EXPECT_FALSE(fs::exists("out"));  // nothing is written
}

TEST(EstimateCommand, NamesOfAFileStayOnTheirLine) {
  WorkingFolder const folder;
  write_small_run();
  edit_file("data.csv", "sex", "\"s\ne\x1B[31mx\"");
  edit_file("domain.yaml", "name: sex", "name: \"s\\ne\\x1B[31mx\"");
  edit_file("config.yaml", "[sex]", "[\"s\\ne\\x1B[31mx\"]");
  for (char const* command : {"enumerate", "estimate"}) {
    Outcome const outcome = run_fairlane({command, "config.yaml", "-q"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find(" s\\ne\\x1b[31mx  (2 combinations)\n"), std::string::npos)
        << outcome.out;
    EXPECT_EQ(outcome.out.find('\x1B'), std::string::npos) << outcome.out;
  }
}

TEST(EstimateCommand, NeedsNoOutputDirectory) {
  WorkingFolder const folder;
  write_small_run();
  edit_file("config.yaml", "output: {dir: out}\n", "");
  Outcome const outcome = run_fairlane({"estimate", "config.yaml", "--samples", "1000"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(run_fairlane({"run", "config.yaml"}).code, static_cast<int>(ExitCode::kConfig));
}

TEST(EstimateCommand, WritesWhereItIsTold) {
  WorkingFolder const folder;
  write_small_run();
  Outcome const outcome =
      run_fairlane({"estimate", "config.yaml", "--out", "shares", "--samples", "1000", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(slurp("shares/estimate.json"), outcome.out);
  for (char const* file : {"shares/manifest.json", "shares/DONE"}) EXPECT_TRUE(fs::exists(file));
  // Another estimate does not replace it unasked.
  std::vector<std::string> other = {"estimate", "config.yaml", "--out",
                                    "shares",   "--samples",   "999"};
  EXPECT_EQ(run_fairlane(other).code, static_cast<int>(ExitCode::kOutput));
  other.push_back("--overwrite");
  EXPECT_EQ(run_fairlane(other).code, 0);
}

TEST(EstimateCommand, NamesTheCountThatIsCheaper) {
  WorkingFolder const folder;
  write_small_run();
  Outcome const outcome = run_fairlane({"estimate", "config.yaml", "--range", "age=1..2", "--set",
                                        "protected=[sex]", "--samples", "5000"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::string const command =
      "fairlane enumerate config.yaml --set 'protected=[sex]' --range age=1..2";
  EXPECT_NE(outcome.err.find(command), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace fairlane
