// LibTorch in `fairlane bench`: the same search as ours, and findings that hold.
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "bench/bench.h"
#include "models/torch/plugin_api.h"
#include "tests/apps/command_line.h"
#include "tests/engine/search/golden_subject.h"
#include "tests/engine/search/small_subject.h"
#include "tests/models/expect_error.h"
#include "tests/plugin_dir.h"

namespace fairlane {
namespace {

/// The row of one thread of ours, then LibTorch's.
std::vector<SearchBench> compare(RunConfig const& config) {
  SearchWays ways;
  ways.threads = {1};
  ways.libtorch = LibTorchUse::kOn;
  return bench_search(config, ways, 1).rows;
}

struct BaselineCase {
  char const* method;
  Activation activation;
  std::vector<int> widths;
  double threshold;
};

void PrintTo(BaselineCase const& c, std::ostream* out) {
  *out << c.method << " with " << activation_name(c.activation) << ", " << c.widths.back()
       << " outputs, threshold " << c.threshold;
}

class LibTorchBaseline : public testing::TestWithParam<BaselineCase> {
 protected:
  RunConfig config(TemporaryFolder const& folder, int rows) const {
    SmallShape shape;
    shape.activation = GetParam().activation;
    shape.widths = GetParam().widths;
    shape.deviation = 0.5F;  // probabilities stay away from 1, where gradients are rounding errors
    RunConfig run = small_config(folder, shape, rows);
    run.method = GetParam().method;
    run.threshold = GetParam().threshold;
    run.global.num = rows;
    return run;
  }
};

TEST_P(LibTorchBaseline, WalksTheSameGlobalPhase) {
  FL_NEED_TORCH(dir);
  TemporaryFolder const folder;
  RunConfig only_global = config(folder, 200);
  only_global.local.num = 0;
  auto const rows = compare(only_global);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_FALSE(rows[0].libtorch);
  EXPECT_TRUE(rows[1].libtorch);
  EXPECT_GT(rows[0].unique_instances, 10);
  EXPECT_EQ(rows[1].iterations, rows[0].iterations);
  EXPECT_EQ(rows[1].unique_instances, rows[0].unique_instances);
  EXPECT_EQ(rows[1].unique_groups, rows[0].unique_groups);
  EXPECT_EQ(rows[1].marginal_instances, 0);
}

/// bench_search throws where a finding does not hold.
TEST_P(LibTorchBaseline, FindsOnlyIdis) {
  FL_NEED_TORCH(dir);
  TemporaryFolder const folder;
  auto const rows = compare(config(folder, 40));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].local_steps, rows[0].local_steps);
  EXPECT_GT(rows[1].unique_instances, 10);
  EXPECT_GT(rows[0].over_libtorch, 0.0);
  EXPECT_EQ(rows[1].over_libtorch, 1.0);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, LibTorchBaseline,
    testing::Values(BaselineCase{"eidig", Activation::kRelu, {8, 6, 1}, 0.5},
                    BaselineCase{"adf", Activation::kRelu, {8, 6, 1}, 0.5},
                    BaselineCase{"maft", Activation::kRelu, {8, 6, 1}, 0.5},
                    BaselineCase{"eidig", Activation::kLeakyRelu, {8, 6, 1}, 0.6},
                    BaselineCase{"eidig", Activation::kElu, {8, 6, 3}, 0.5},
                    BaselineCase{"adf", Activation::kTanh, {8, 6, 3}, 0.5},
                    BaselineCase{"eidig", Activation::kSilu, {8, 6, 3}, 0.5},
                    BaselineCase{"adf", Activation::kGelu, {8, 6, 1}, 0.5},
                    BaselineCase{"maft", Activation::kGeluTanh, {8, 6, 1}, 0.5},
                    BaselineCase{"maft", Activation::kSigmoid, {8, 6, 3}, 0.5},
                    BaselineCase{"eidig", Activation::kLinear, {1}, 0.5}));

class LibTorchGolden : public testing::TestWithParam<GoldenCase> {};

/// The local phases draw other random numbers, so that the numbers of distinct IDIs differ, but not
/// by much.
TEST_P(LibTorchGolden, FindsAsMuchAsOurSearch) {
  constexpr double kSpread = 0.05;  // of counts of 500 and more; runs of ours differ by up to 3 %
  FL_NEED_TORCH(dir);
  FL_NEED_BENCHMARKS(benchmarks);
  for (char const* method : {"eidig", "adf", "maft"}) {
    SCOPED_TRACE(method);
    auto const rows = compare(golden_config(benchmarks, GetParam(), method));
    auto const ours = static_cast<double>(rows[0].unique_instances);
    EXPECT_NEAR(static_cast<double>(rows[1].unique_instances), ours, kSpread * ours);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, LibTorchGolden, testing::ValuesIn(kGoldenCases),
                         [](auto const& golden) {
                           std::string name = name_of(golden.param);
                           for (char& c : name) {
                             if (c == '.' || c == '+') c = '_';
                           }
                           return name;
                         });

TEST(BenchCommand, LeavesLibTorchOutAndSaysWhy) {
  WorkingFolder const folder;
  write_small_run();
  std::vector<std::string> const bench = {"bench",  "config.yaml", "--quick",
                                          "--json", "--threads",   "1"};
  auto const with = [&](std::vector<std::string> const& more) {
    std::vector<std::string> all = bench;
    all.insert(all.end(), more.begin(), more.end());
    return run_fairlane(all);
  };
  PluginDir const dir(fake_plugin("other_version"));
  Outcome const automatic = with({});
  ASSERT_EQ(automatic.code, 0) << automatic.err;
  auto const json = nlohmann::json::parse(automatic.out);
  EXPECT_EQ(json["search"].size(), 1U);
  EXPECT_FALSE(json["search"][0].contains("over_libtorch"));
  std::string const why = json["libtorch"];
  EXPECT_EQ(why.find("left out: LibTorch plug-in "), 0U) << why;
  EXPECT_NE(why.find("has interface 0, expected " + std::to_string(kTorchPluginVersion)),
            std::string::npos)
      << why;

  Outcome const wanted = with({"--libtorch", "on"});
  EXPECT_EQ(wanted.code, 69);
  EXPECT_NE(wanted.err.find("has interface 0, expected " + std::to_string(kTorchPluginVersion)),
            std::string::npos)
      << wanted.err;
  Outcome const unwanted = with({"--libtorch", "off"});
  ASSERT_EQ(unwanted.code, 0) << unwanted.err;
  EXPECT_EQ(nlohmann::json::parse(unwanted.out)["libtorch"], "left out, as asked");
  Outcome const other_method = with({"--libtorch", "on", "--set", "method=margin"});
  EXPECT_EQ(other_method.code, 69);
  EXPECT_NE(other_method.err.find("eidig, adf and maft, not with margin"), std::string::npos)
      << other_method.err;
  EXPECT_EQ(run_fairlane({"bench", "--libtorch", "on"}).code, 64);
}

TEST(BenchCommand, TellsWhatFailsInThePlugIn) {
  WorkingFolder const folder;
  write_small_run();
  PluginDir const dir(fake_plugin("failing"));
  Outcome const outcome = run_fairlane({"bench", "config.yaml", "--quick", "--libtorch", "on"});
  EXPECT_EQ(outcome.code, 69);
  EXPECT_NE(outcome.err.find("LibTorch: no memory for a tensor\n"), std::string::npos)
      << outcome.err;
}

TEST(BenchCommand, FailsWhenTheBaselineReportsWhatIsNoIdi) {
  WorkingFolder const folder;
  write_small_run();  // without income, nobody is approved
  PluginDir const dir(fake_plugin("lying"));
  Outcome const outcome = run_fairlane({"bench", "config.yaml", "--quick"});
  EXPECT_EQ(outcome.code, 76);
  EXPECT_NE(outcome.err.find("reports 0,0,0, whose similar set has one label"), std::string::npos)
      << outcome.err;
  EXPECT_EQ(outcome.out, "");
}

}  // namespace
}  // namespace fairlane
