// What searches ask of a backend at most, reckoned by hand.
#include "engine/search/workload.h"

#include <gtest/gtest.h>

#include "engine/config/run_config.h"

namespace fairlane {
namespace {

constexpr std::int64_t kVariants = 4;
constexpr int kAttributes = 13;

RunConfig papers_run() {
  RunConfig config;
  config.global.num = 1000;
  config.global.max_iter = 10;
  config.local.num = 1000;
  config.local.update_interval = 5;
  return config;
}

Workload workload_of(RunConfig const& config, char const* method, std::int64_t rows = 0) {
  return search_workload(config, find_method(method), kVariants, kAttributes, rows);
}

TEST(Workload, OfAMethod) {
  struct Case {
    char const* method;
    double lane_steps;
    double evaluations;
    double rounds;
  };
  for (Case const& c : {
           Case{"themis", 1000, 4000, 1},
           Case{"eidig", 1.01e6, 1000 * (10 * 8.0 + 1000 * (4 + 4 / 5.0)), 1010},
           Case{"adf", 1.01e6, 1000 * (10 * 8.0 + 1000 * 8.0), 1010},
           Case{"maft", 1.01e6, 1000 * (10 * 32.0 + 1000 * (4 + 28 / 5.0)), 1010},
           Case{"aequitas-fully", 1.001e6, 4.004e6, 16 * 1000.0},  // 16 populations of 64
           Case{"grft", 1000 * 100 * 1010.0, 1000 * 100 * (10 * 9.0 + 1000 * 4), 1010},
           Case{"sg", 1000, 1000 * 5004.0, 1000},
           Case{"expga", 1.001e5, 4.004e5, 1001},  // one population of 100
       }) {
    SCOPED_TRACE(c.method);
    Workload const work = workload_of(papers_run(), c.method);
    EXPECT_DOUBLE_EQ(work.lane_steps, c.lane_steps);
    EXPECT_DOUBLE_EQ(work.evaluations, c.evaluations);
    EXPECT_DOUBLE_EQ(work.rounds, c.rounds);
    EXPECT_FALSE(work.seconds);
  }
}

TEST(Workload, EndsWithTheBudgets) {
  RunConfig config = papers_run();
  config.budget.seeds = 100;
  EXPECT_DOUBLE_EQ(workload_of(config, "eidig").lane_steps, 1.01e5);
  config.budget.iterations = 5050;
  EXPECT_DOUBLE_EQ(workload_of(config, "eidig").lane_steps, 5050);
  config.budget.evaluations = 800;
  EXPECT_DOUBLE_EQ(workload_of(config, "eidig").evaluations, 800);
  config.budget.seconds = 3.0;
  EXPECT_EQ(workload_of(config, "eidig").seconds, 3.0);
}

TEST(Workload, TakesNoMoreSeedsThanRows) {
  EXPECT_DOUBLE_EQ(workload_of(papers_run(), "themis", 10).lane_steps, 10);
  EXPECT_DOUBLE_EQ(workload_of(papers_run(), "sg", 10).lane_steps, 1000);  // its queue grows
  RunConfig config = papers_run();
  config.global.num = 3'000'000;
  EXPECT_DOUBLE_EQ(workload_of(config, "eidig").rounds,
                   3 * 1010.0);  // more than a GPU holds at once
}

}  // namespace
}  // namespace fairlane
