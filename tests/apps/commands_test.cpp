// The commands when all is well.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "engine/config/config_yaml.h"
#include "engine/sweep/plan.h"
#include "kernels/devices.h"
#include "tests/apps/command_line.h"
#include "tests/checkout.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;

bool contains(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

class CommandsTest : public testing::Test {
 protected:
  void SetUp() override { write_small_run(); }

 private:
  WorkingFolder folder_;
};

TEST_F(CommandsTest, RunPrintsATableAndSaysWhichBackend) {
  Outcome const outcome = run_fairlane({"run", "config.yaml"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "profiles found")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "Results are in out")) << outcome.out;
  EXPECT_TRUE(contains(outcome.err, "backend: cpu")) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "; auto: up to ")) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "less than a GPU takes to start\n")) << outcome.err;
  EXPECT_TRUE(fs::exists("out/DONE"));
}

TEST_F(CommandsTest, JsonIsTheSummary) {
  Outcome const outcome = run_fairlane({"run", "config.yaml", "--json", "--quiet"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  auto const json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json.at("method"), "eidig");
  EXPECT_EQ(outcome.out, slurp("out/summary.json"));
  EXPECT_EQ(run_fairlane({"inspect", "out", "--json"}).out, outcome.out);
}

TEST_F(CommandsTest, ThreadsAndBatchDoNotChangeTheResults) {
  ASSERT_EQ(run_fairlane({"run", "config.yaml", "--out", "one", "--threads", "1"}).code, 0);
  ASSERT_EQ(
      run_fairlane({"run", "config.yaml", "--out", "two", "--threads", "2", "--batch", "3"}).code,
      0);
  EXPECT_EQ(slurp("one/instances.csv"), slurp("two/instances.csv"));
  EXPECT_EQ(slurp("one/manifest.json"), slurp("two/manifest.json"));
}

TEST_F(CommandsTest, TheFlagAndTheKeyAreTheSame) {
  ASSERT_EQ(run_fairlane({"run", "config.yaml", "--seed", "5", "--out", "a"}).code, 0);
  ASSERT_EQ(run_fairlane({"run", "config.yaml", "--set", "seed=5", "--set", "output.dir=b"}).code,
            0);
  EXPECT_EQ(slurp("a/manifest.json"), slurp("b/manifest.json"));
}

TEST_F(CommandsTest, FailAboveIsAPolicy) {
  EXPECT_EQ(run_fairlane({"run", "config.yaml", "--fail-above", "0"}).code, 1);
  EXPECT_EQ(run_fairlane({"run", "config.yaml", "--fail-above", "1"}).code, 0);
}

TEST_F(CommandsTest, OverwriteReplacesAnotherRun) {
  ASSERT_EQ(run_fairlane({"run", "config.yaml"}).code, 0);
  EXPECT_EQ(run_fairlane({"run", "config.yaml", "--seed", "2", "--overwrite"}).code, 0);
}

TEST_F(CommandsTest, TablesFromOtherProgramsAreRead) {
  ASSERT_EQ(run_fairlane({"run", "config.yaml", "--out", "plain"}).code, 0);
  std::string text = slurp("data.csv");
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) {
    text.insert(at, "\r");
  }
  write_file("data.csv", "\xEF\xBB\xBF" + text);  // a byte order mark
  Outcome const outcome = run_fairlane({"run", "config.yaml", "--out", "windows"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(slurp("plain/instances.csv"), slurp("windows/instances.csv"));
}

TEST_F(CommandsTest, CheckConfirmsARun) {
  ASSERT_EQ(run_fairlane({"run", "config.yaml"}).code, 0);
  Outcome const outcome = run_fairlane({"check", "out", "--json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  auto const json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json.at("failed"), 0);
  EXPECT_GT(json.at("confirmed"), 0);
}

TEST_F(CommandsTest, InspectShowsANetwork) {
  Outcome const outcome = run_fairlane({"inspect", "model.safetensors"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "relu")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "decision")) << outcome.out;
  auto const json =
      nlohmann::json::parse(run_fairlane({"inspect", "model.safetensors", "--json"}).out);
  EXPECT_EQ(json.at("parameters"), 11);
}

TEST_F(CommandsTest, InspectShowsATable) {
  write_file("t.csv", "age,income,sex,class\n1,20,0,1\n2,3,1,0\n3,4,1,0\n");
  auto const json =
      nlohmann::json::parse(run_fairlane({"inspect", "t.csv", "domain.yaml", "--json"}).out);
  EXPECT_EQ(json.at("rows"), 3);
  EXPECT_EQ(json.at("classes").at("0"), 2);
  EXPECT_EQ(json.at("attributes")[1].at("out_of_domain"), 1);
  Outcome const bare = run_fairlane({"inspect", "t.csv"});
  EXPECT_EQ(bare.code, 0) << bare.err;
  EXPECT_TRUE(contains(bare.out, "income")) << bare.out;
}

TEST_F(CommandsTest, InspectShowsFindingsInWords) {
  ASSERT_EQ(run_fairlane({"run", "config.yaml"}).code, 0);
  Outcome const outcome = run_fairlane({"inspect", "out"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "sex female: decision 0;  sex male: decision 1"))
      << outcome.out;
}

TEST_F(CommandsTest, InspectShowsTheFindingsThatAreAskedFor) {
  ASSERT_EQ(run_fairlane({"run", "config.yaml"}).code, 0);
  std::string const bare = run_fairlane({"inspect", "out"}).out;
  EXPECT_FALSE(contains(bare, "    difference of the pair ")) << bare;
  struct Case {
    char const* sort;
    char const* title;
    char const* figures;
  };
  for (Case const& one :
       {Case{"file", "\nfirst findings:\n", "    difference of the pair 0."},
        Case{"severity", "\nfindings with the widest pairs:\n", "    difference of the pair 0."},
        Case{"plausibility", "\nmost plausible findings:\n", "; implausibility "},
        Case{"diversity", "\nfindings with wide pairs, plausible and different:\n",
             "; implausibility "}}) {
    SCOPED_TRACE(one.sort);
    Outcome const shown = run_fairlane({"inspect", "out", "--top", "2", "--sort", one.sort});
    EXPECT_EQ(shown.code, 0) << shown.err;
    for (char const* const part : {one.title, one.figures, "    sex ", "sex female: decision 0"})
      EXPECT_TRUE(contains(shown.out, part)) << part << "\nin: " << shown.out;
    std::size_t people = 0;
    for (std::size_t at = 0; (at = shown.out.find("\n- ", at)) != std::string::npos; ++at) ++people;
    EXPECT_EQ(people, 2U) << shown.out;
    Outcome const json =
        run_fairlane({"inspect", "out", "--top", "2", "--sort", one.sort, "--json"});
    EXPECT_EQ(json.code, 0) << json.err;
    auto const top = nlohmann::json::parse(json.out);
    EXPECT_FALSE(contains(shown.out, "    severity ")) << shown.out;
    EXPECT_EQ(top.at("sort"), one.sort);
    EXPECT_EQ(top.at("findings").size(), 2U);
  }
  EXPECT_EQ(run_fairlane({"inspect", "out", "--top", "3"}).out,
            run_fairlane({"inspect", "out", "--top", "3", "--sort", "file"}).out);
  EXPECT_EQ(run_fairlane({"inspect", "out", "--sort", "severity"}).out,
            run_fairlane({"inspect", "out", "--sort", "severity", "--top", "5"}).out);
}

TEST_F(CommandsTest, ATableOfAttributesAloneHasNoLabels) {
  write_file("data.csv", "age,income,sex\n1,2,0\n2,3,1\n3,4,1\n");
  Outcome const outcome = run_fairlane({"run", "config.yaml"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "data.csv: has no label column 'class'")) << outcome.err;
  EXPECT_FALSE(contains(outcome.out, "agreement")) << outcome.out;
  // Nobody has asked for labels.
  edit_file("domain.yaml", "label: class\n", "");
  EXPECT_FALSE(contains(run_fairlane({"run", "config.yaml", "--out", "b"}).err, "label"));
  write_file("data.csv", "age,income,sex,id\n1,2,0,7\n2,3,1,8\n3,4,1,9\n");
  EXPECT_EQ(run_fairlane({"run", "config.yaml", "--out", "c"}).code, 0);
}

TEST_F(CommandsTest, SeedsNeedNoLabels) {
  write_file("seeds.csv", "method,age,income,sex\neidig,1,2,0\neidig,2,3,1\n");
  Outcome const outcome = run_fairlane({"run", "config.yaml", "--set", "global.seeds=seeds.csv"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST_F(CommandsTest, InspectShowsAnEstimateAndRunReplacesIt) {
  ASSERT_EQ(run_fairlane({"estimate", "config.yaml", "--samples", "900", "--out", "out"}).code, 0);
  Outcome const shown = run_fairlane({"inspect", "out"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_TRUE(contains(shown.out, "samples                900\n")) << shown.out;
  EXPECT_EQ(run_fairlane({"inspect", "out", "--json"}).out, slurp("out/estimate.json"));
  ASSERT_EQ(run_fairlane({"run", "config.yaml", "--overwrite"}).code, 0);
  EXPECT_FALSE(fs::exists("out/estimate.json"));
}

TEST_F(CommandsTest, OnlyARunIsRepeated) {
  ASSERT_EQ(run_fairlane({"enumerate", "config.yaml", "--out", "all"}).code, 0);
  Outcome const other = run_fairlane({"run", "config.yaml", "--out", "all"});
  EXPECT_EQ(other.code, static_cast<int>(ExitCode::kOutput));
  EXPECT_TRUE(contains(other.err, "of `fairlane enumerate`, not of `fairlane run`")) << other.err;
  ASSERT_EQ(run_fairlane({"estimate", "config.yaml", "--samples", "9", "--out", "some"}).code, 0);
  for (std::string const& dir : {std::string("all"), std::string("some")}) {
    Outcome const outcome = run_fairlane({"run", dir + "/manifest.json", "--out", "again"});
    EXPECT_EQ(outcome.code, static_cast<int>(ExitCode::kUsage)) << outcome.err;
    EXPECT_TRUE(
        contains(outcome.err, dir == "all" ? "`fairlane enumerate`" : "`fairlane estimate`"))
        << outcome.err;
    EXPECT_FALSE(fs::exists("again"));
  }
}

TEST_F(CommandsTest, DevicesSpeaksOfThisMachine) {
  Outcome const outcome = run_fairlane({"devices", "--json"});
  EXPECT_EQ(outcome.code, 0);
  auto const json = nlohmann::json::parse(outcome.out);
  EXPECT_GE(json.at("cpu").at("usable_cores"), 1);
  auto const& cuda = json.at("cuda");
  EXPECT_EQ(cuda.at("built"), cuda_built());
  EXPECT_EQ(cuda.at("devices").size(), cuda_devices().size());
  EXPECT_EQ(cuda.at("problem"), cuda_problem());
  Outcome const text = run_fairlane({"devices"});
  EXPECT_TRUE(contains(text.out, cuda_problem())) << text.out;
}

TEST_F(CommandsTest, CudaWithoutADeviceIsOneLine) {
  if (cuda_problem().empty()) GTEST_SKIP() << "this machine has a GPU";
  for (char const* name : {"cuda", "cuda:1"}) {
    Outcome const outcome = run_fairlane({"run", "config.yaml", "--backend", name});
    EXPECT_EQ(outcome.code, static_cast<int>(ExitCode::kUnavailable));
    EXPECT_TRUE(contains(outcome.err, cuda_problem())) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
  EXPECT_TRUE(contains(run_fairlane({"run", "config.yaml"}).err, "backend: cpu"));
}

TEST_F(CommandsTest, DemoFindsWhatIsPlanted) {
  Outcome const outcome = run_fairlane({"demo", "--out", "demo", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  auto const json = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(json.size(), 3U);
  for (auto const& finding : json) {
    EXPECT_EQ(finding.at("false_findings"), 0);
    EXPECT_GE(finding.at("found_groups").get<double>(),
              0.95 * finding.at("planted_groups").get<double>())
        << finding;
  }
  Outcome const again = run_fairlane({"demo", "--out", "demo", "--rows", "50"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_TRUE(contains(again.out, "none found, none planted")) << again.out;
  EXPECT_TRUE(contains(again.out, "What next")) << again.out;
  EXPECT_EQ(run_fairlane({"check", "demo/results/gender"}).code, 0);
}

TEST_F(CommandsTest, AFullDiskUnderStdoutIsAnError) {
  Outcome const outcome = run_fairlane({"devices"}, "/dev/full");
  EXPECT_EQ(outcome.code, static_cast<int>(ExitCode::kDisk));
  EXPECT_EQ(outcome.err.rfind("fairlane: error: standard output", 0), 0U) << outcome.err;
  // More than a buffer holds fails while it is printed.
  for (char const* command : {"manual", "config"}) {
    Outcome const longer = run_fairlane({command}, "/dev/full");
    EXPECT_EQ(longer.code, static_cast<int>(ExitCode::kDisk));
    EXPECT_TRUE(contains(longer.err, std::strerror(ENOSPC))) << longer.err;
  }
}

TEST_F(CommandsTest, HelpAndVersion) {
  EXPECT_EQ(run_fairlane({"--version"}).out, "fairlane " FAIRLANE_VERSION "\n");
  EXPECT_TRUE(contains(run_fairlane({"--help"}).out, "demo"));
  Outcome const help = run_fairlane({"run", "--help"});
  EXPECT_EQ(help.code, 0);
  for (char const* flag : {"--out", "--backend", "--threads", "--batch", "--seed", "--set",
                           "--quiet", "--log-level", "--json", "--overwrite", "--fail-above"}) {
    EXPECT_TRUE(contains(help.out, flag)) << flag;
  }
}

TEST(Configs, EveryConfigurationInTheProjectIsWellFormed) {
  int count = 0;
  for (auto const& entry : fs::recursive_directory_iterator(fs::path(source_dir()) / "configs")) {
    std::string const path = entry.path().string();
    if (!path.ends_with(".yaml") || path.ends_with(".domain.yaml")) continue;
    if (path.ends_with(".sweep.yaml")) {
      EXPECT_NO_THROW(read_sweep_plan(path)) << path;
    } else {
      EXPECT_NO_THROW(read_run_config(path, {})) << path;
    }
    ++count;
  }
  EXPECT_GE(count, 5);
}

}  // namespace
}  // namespace fairlane
