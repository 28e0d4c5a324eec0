#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/formats/json.h"
#include "tests/apps/command_line.h"
#include "tests/checkout.h"

namespace fairlane {
namespace {

class SweepSubmit : public testing::Test {
 protected:
  SweepSubmit() {
    plan_ = folder_.write("plan.yaml", "subjects: [" + source_dir() +
                                           "/configs/tiny.yaml]\n"
                                           "methods: [eidig, adf]\noutput: {dir: out}\n");
  }

  Outcome submit(std::vector<std::string> const& words) const {
    std::vector<std::string> all = {"sweep", "submit", plan_};
    all.insert(all.end(), words.begin(), words.end());
    return run_fairlane(all);
  }

  void expect_refused(std::vector<std::string> const& words, std::string const& message) const {
    Outcome const outcome = submit(words);
    EXPECT_EQ(outcome.code, 64);
    EXPECT_TRUE(contains(outcome.err, message)) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(folder_.file("out/slurm")));
    EXPECT_FALSE(std::filesystem::exists(folder_.file("out/kubernetes")));
  }

  TemporaryFolder folder_;
  std::string plan_;
};

TEST_F(SweepSubmit, WritesScripts) {
  Outcome const outcome =
      submit({"--slurm", "--dry-run", "--gpus", "--threads", "3", "--batch", "64",
              "--slurm-option=--partition=gpu", "--slurm-option", "--time=5", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  Json const json = Json::parse(outcome.out);
  EXPECT_EQ(json.at("elements").get<int>(), 2);
  std::string const array = slurp(json.at("array_script").get<std::string>());
  for (char const* line :
       {"#SBATCH --array=1-2\n", "#SBATCH --gres=gpu:1\n", "#SBATCH --cpus-per-task=3\n",
        "#SBATCH --partition=gpu\n", "#SBATCH --time=5\n", " --threads 3 --batch 64 &\n"}) {
    EXPECT_TRUE(contains(array, line)) << line << array;
  }
  std::string const merge = slurp(json.at("merge_script").get<std::string>());
  EXPECT_TRUE(contains(merge, " sweep merge " + plan_ + " --out " + folder_.file("out\n")))
      << merge;
  EXPECT_EQ(run_fairlane({"sweep", "status", plan_}).code, 0) << "the sweep is there already";
}

TEST_F(SweepSubmit, WritesAManifest) {
  Outcome const outcome = submit({"--kubernetes", "fairlane:1.0", "--elements", "1"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(slurp(folder_.file("out/kubernetes/job.yaml")), "image: \"fairlane:1.0\""));
}

TEST_F(SweepSubmit, SaysWhatIsWrong) {
  expect_refused({}, "sweep submit: expected one of --slurm and --kubernetes IMAGE");
  expect_refused({"--slurm", "--kubernetes", "a"}, "expected one of --slurm and --kubernetes");
  expect_refused({"--slurm", "--elements", "0"}, "--elements");
  expect_refused({"--slurm", "--slurm-option", "gpu"}, "Slurm's option 'gpu': expected one word");
  expect_refused({"--kubernetes", "a", "--slurm-option=--a"}, "--slurm-option are of --slurm");
  Outcome const outcome = run_fairlane({"sweep", "run", plan_, "--gpus"});
  EXPECT_EQ(outcome.code, 64);
  EXPECT_TRUE(contains(outcome.err, "--gpus is of `fairlane sweep submit`")) << outcome.err;
}

}  // namespace
}  // namespace fairlane
