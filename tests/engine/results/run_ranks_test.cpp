// Runs that ranks share, with threads for ranks: the same bytes as those of one process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/results/run.h"
#include "engine/search/method.h"
#include "tests/engine/ranks/local_ranks.h"
#include "tests/engine/results/run_output.h"
#include "tests/engine/search/run_search.h"

namespace fairlane {
namespace {

std::vector<RankEnd> run_by(int ranks, RunConfig const& config, RunOptions const& shared) {
  return run_ranks(ranks, [&](Ranks& rank) {
    RunOptions own = shared;
    own.search.ranks = &rank;
    run(config, own);
  });
}

void expect_same_run(RunConfig const& config, RunOptions const& options,
                     TemporaryFolder const& folder) {
  RunOptions shared = options;
  shared.overwrite = true;
  std::string const one = folder.file("one");
  run(to(config, one), shared);
  for (int const ranks : {1, 2, 4}) {
    SCOPED_TRACE(ranks);
    std::string const many = folder.file("many");
    for (RankEnd const& end : run_by(ranks, to(config, many), shared))
      EXPECT_EQ(end.code, ExitCode::kOk) << end.what;
    expect_same_output(one, many);
    std::string const words = slurp(one + "/instances.words.csv");
    EXPECT_EQ(words.empty(), !config.output.words);
    EXPECT_EQ(std::filesystem::exists(many + "/instances.plausibility.csv"),
              config.output.plausibility);
    EXPECT_TRUE(slurp(many + "/instances.words.csv") == words);
    EXPECT_FALSE(std::filesystem::exists(many + "/.partial"));
  }
}

class SearchRanks : public ::testing::TestWithParam<char const*> {
 protected:
  RunConfig config(char const* method) const {
    constexpr int kRows = 200;
    RunConfig config = small_config(folder_, shape_of(GetParam()), kRows);
    config.method = method;
    if (!find_method(method).weighs_surprise) config.plausibility.weight = 0.0;
    config.global.num = kRows;
    config.local.num = 30;
    return config;
  }
  TemporaryFolder const folder_;
};

TEST_P(SearchRanks, ManyWriteWhatOneDoes) {
  for (char const* method : {"eidig", "adf", "maft", "maft-nonvec", "margin", "margin-walk"}) {
    SCOPED_TRACE(method);
    RunConfig shared = config(method);
    shared.output.trace = true;
    shared.output.words = true;
    shared.output.plausibility = true;
    expect_same_run(shared, options_with(1), folder_);
  }
}

TEST_P(SearchRanks, BudgetsEndRunsAtTheSamePlace) {
  for (char const* method : {"eidig", "margin"}) {
    SCOPED_TRACE(method);
    for (std::int64_t const budget : {50, 1000, 20000}) {
      SCOPED_TRACE(budget);
      RunConfig shared = config(method);
      shared.budget.iterations = budget;
      expect_same_run(shared, options_with(1), folder_);
      shared.budget.iterations.reset();
      shared.budget.evaluations = budget;
      expect_same_run(shared, options_with(1), folder_);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Subjects, SearchRanks,
                         ::testing::Values("one output", "several outputs", "many variants",
                                           "undefined members", "constrained", "many undefined",
                                           "many constrained", "plausible", "many plausible"),
                         name_of_kind);

// Records that do not fit in memory go to the disk, on every rank.
TEST(SearchRanksSmall, LittleMemoryGivesTheSameBytes) {
  TemporaryFolder const folder;
  RunConfig const config = overflowing_config(folder, "one output");
  RunOptions options = options_with(1);
  options.execution.memory = 1 << 19;
  expect_same_run(config, options, folder);
}

TEST(SearchRanksSmall, WhatCannotBeSharedIsRefusedBeforeAnythingIsWritten) {
  TemporaryFolder const folder;
  RunConfig const shared = to(small_config(folder, shape_of("one output")), folder.file("out"));
  auto const refused = [&](RunConfig const& config, char const* why) {
    for (RankEnd const& end : run_by(2, config, options_with(1))) {
      EXPECT_EQ(end.code, ExitCode::kConfig);
      EXPECT_THAT(end.what, testing::HasSubstr(why));
      EXPECT_EQ(std::count(end.what.begin(), end.what.end(), '\n'), 0);
    }
    EXPECT_FALSE(std::filesystem::exists(config.output.dir));
  };
  RunConfig config = shared;
  for (char const* method : {"themis", "aequitas-fully", "sg", "expga"}) {
    config.method = method;
    refused(config, "cannot be shared by ranks");
  }
  config = shared;
  config.budget.instances = 10;
  refused(config, "budget.instances");
  config = shared;
  config.budget.seconds = 1.0;
  refused(config, "budget.seconds");
}

}  // namespace
}  // namespace fairlane
