// fairlane compare as a person uses it, and what can be wrong with its flags.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/search/method.h"
#include "tests/apps/bad_input.h"

namespace fairlane {
namespace {

Words compare_with(Words const& flags) {
  Words words = {"compare", "config.yaml", "--backend", "cpu"};
  words.insert(words.end(), flags.begin(), flags.end());
  return words;
}
Words budgeted(Words const& flags) {
  Words words = compare_with({"--set", "budget.evaluations=2000"});
  words.insert(words.end(), flags.begin(), flags.end());
  return words;
}

// clang-format off
BadInput const kCompareFlags[] = {
    {"NoBudget", nothing, compare_with({}), ExitCode::kConfig,
     {"config.yaml", "budget", "--set budget.evaluations="}},
    {"BudgetOfInstances", nothing, budgeted({"--set", "budget.instances=3"}), ExitCode::kConfig,
     {"budget.instances", "budget.iterations"}},
    {"BudgetOfSeeds", nothing, budgeted({"--set", "budget.seeds=3"}), ExitCode::kConfig,
     {"budget.seeds", "budget.seconds"}},
    {"EvaluationsZero", nothing, compare_with({"--set", "budget.evaluations=0"}), ExitCode::kConfig,
     {"budget.evaluations", "at least 1"}},
    {"UnknownMethod", nothing, budgeted({"--methods", "eidig,maf"}), ExitCode::kUsage,
     {"--methods", "'maf'", "did you mean 'maft'?"}},
    {"MethodTwice", nothing, budgeted({"--methods", "eidig,maft,eidig"}), ExitCode::kUsage,
     {"--methods", "'eidig' twice"}},
    {"NoRepeats", nothing, budgeted({"--repeats", "0"}), ExitCode::kUsage, {"--repeats", "1..50"}},
    {"TooManyRepeats", nothing, budgeted({"--repeats", "51"}), ExitCode::kUsage, {"--repeats", "1..50"}},
    {"AgainstNothing", nothing, budgeted({"--against", "none"}), ExitCode::kNoInput,
     {"none/manifest.json"}},
};
// clang-format on

class BadCompareFlags : public testing::TestWithParam<BadInput> {};
TEST_P(BadCompareFlags, AreOneLine) { expect_one_line(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Flags, BadCompareFlags, testing::ValuesIn(kCompareFlags),
                         [](auto const& bad) { return std::string(bad.param.name); });

TEST(CompareCommand, ShowsATableOfAllMethods) {
  WorkingFolder const folder;
  write_small_run();
  ASSERT_EQ(run_fairlane({"enumerate", "config.yaml", "--out", "all", "-q"}).code, 0);
  Outcome const text = run_fairlane(budgeted({"--repeats", "2", "--against", "all"}));
  ASSERT_EQ(text.code, 0) << text.err;
  for (auto const& method : methods()) {
    EXPECT_NE(text.out.find(std::string("\n") + method.name + " "), std::string::npos)
        << method.name << text.out;
  }
  for (char const* part :
       {"2,000 model evaluations for each method and each of 2 seeds", "against eidig", "recall",
        "first IDI at", "themis ran out of inputs with 2 seeds"}) {
    EXPECT_NE(text.out.find(part), std::string::npos) << part << "\n" << text.out;
  }
  for (char const* file : {"compare.csv", "summary.csv", "compare.json", "compare.svg",
                           "curves.csv", "curves.svg", "DONE"})
    EXPECT_TRUE(std::filesystem::exists(std::string("out/") + file)) << file;
  Outcome const shown = run_fairlane({"inspect", "out"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_NE(shown.out.find("against eidig"), std::string::npos) << shown.out;
  Outcome const json = run_fairlane({"inspect", "out", "--json"});
  EXPECT_EQ(nlohmann::json::parse(json.out)["repeats"], 2);
  std::string const few =
      "with 2 no p can be 0.05 or below (the least is 1.000), however much the methods differ: "
      "expected 6 or more (--repeats)";
  EXPECT_NE(text.out.find(few), std::string::npos) << text.out;
  EXPECT_NE(text.err.find("2 repeats are too few"), std::string::npos) << text.err;
  EXPECT_NE(shown.out.find(few), std::string::npos) << shown.out;
  EXPECT_EQ(nlohmann::json::parse(json.out)["too_few_repeats"]["needed"], 6);
  EXPECT_EQ(nlohmann::json::parse(json.out)["too_few_repeats"]["least_p"], 1);
  for (char const* picture : {"out/compare.svg", "out/curves.svg"})
    EXPECT_NE(slurp(picture).find("too few for any difference"), std::string::npos) << picture;
  Outcome const enough = run_fairlane(
      budgeted({"--methods", "eidig,margin", "--repeats", "4", "--out", "enough", "--json"}));
  EXPECT_EQ(enough.code, 0) << enough.err;
  EXPECT_FALSE(nlohmann::json::parse(enough.out).contains("too_few_repeats"));
  EXPECT_EQ(enough.err.find("too few"), std::string::npos) << enough.err;
  EXPECT_EQ(slurp("enough/curves.svg").find("too few"), std::string::npos);
  write_file("out/compare.json", "{\"protected\": 3}");
  Outcome const broken = run_fairlane({"inspect", "out"});
  EXPECT_EQ(broken.code, static_cast<int>(ExitCode::kData)) << broken.err;
}

}  // namespace
}  // namespace fairlane
