// Curves of a comparison: a point is what a run with that budget finds.
#include "engine/compare/curve.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "engine/compare/compare.h"
#include "tests/engine/results/run_output.h"
#include "tests/engine/search/small_subject.h"

namespace fairlane {
namespace {

using Json = nlohmann::json;

Json compared(RunConfig const& config, std::vector<std::string> methods) {
  CompareOptions options;
  options.execution.backend = "cpu";
  options.execution.threads = 2;
  options.repeats = 1;
  options.methods = std::move(methods);
  return Json::parse(compare(config, options));
}

/// The run that begins as a trial does, and ends with another budget.
Summary run_with(RunConfig config, Json const& trial, std::int64_t evaluations,
                 TemporaryFolder const& folder) {
  config.method = trial["method"];
  config.budget.evaluations = evaluations;
  if (find_method(config.method).kind == SearchKind::kRandom) config.global.num = 100'000;
  return run(to(config, folder.file(config.method + std::to_string(evaluations))), options_with(1));
}

/// The least budget with which a run finds anything, by halving.
std::int64_t least_budget(RunConfig const& config, Json const& trial,
                          TemporaryFolder const& folder) {
  std::int64_t too_little = 0;
  std::int64_t enough = *config.budget.evaluations;
  while (enough - too_little > 1) {
    std::int64_t const half = (too_little + enough) / 2;
    bool const finds = run_with(config, trial, half, folder).found.unique_instances > 0;
    (finds ? enough : too_little) = half;
  }
  return enough;
}

void expect_points_are_runs(RunConfig const& config, Json const& trial,
                            TemporaryFolder const& folder) {
  SCOPED_TRACE(trial.dump());
  ASSERT_EQ(trial["rounds"], 1);
  Json const& curve = trial["curve"];
  ASSERT_EQ(curve["evaluations"].size(), kCurvePoints);
  for (int point = 1; point <= kCurvePoints; ++point) {
    std::int64_t const budget = *config.budget.evaluations * point / kCurvePoints;
    SCOPED_TRACE(budget);
    Summary const alone = run_with(config, trial, budget, folder);
    std::size_t const at = static_cast<std::size_t>(point) - 1;
    EXPECT_EQ(curve["evaluations"][at], alone.search.model_evaluations);
    EXPECT_EQ(curve["unique_groups"][at], alone.found.unique_groups);
    EXPECT_EQ(curve["unique_instances"][at], alone.found.unique_instances);
  }
  std::int64_t const least = least_budget(config, trial, folder);
  EXPECT_EQ(trial["first_evaluations"],
            run_with(config, trial, least, folder).search.model_evaluations);
}

TEST(Curve, APointIsTheRunWithThatBudget) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, {});
  config.budget.evaluations = 4000;  // less than any method's whole run
  config.sg.samples = 100;
  config.sg.frontier = 8;
  Json const json = compared(to(config, folder.file("c")), {});
  ASSERT_EQ(json["trials"].size(), methods().size());
  for (Json const& trial : json["trials"]) {
    EXPECT_GT(trial["unique_groups"], 0) << trial["method"];
    expect_points_are_runs(config, trial, folder);
    Json const& times = json["timing"]["methods"][trial["method"].get<std::string>()];
    EXPECT_GE(times["first_seconds"]["mean"], 0.0);
    EXPECT_LE(times["first_seconds"]["mean"], times["search_seconds"]["mean"]);
    EXPECT_FALSE(trial.contains("first_seconds")) << "a time is no result";
  }
}

// One surrogate for all of sg's tests, most of which are directed: their finders lie behind those
// of all others, whenever they were tested.
TEST(Curve, TestsOfSgCountInTheirOwnOrder) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, {});
  config.budget.evaluations = 1600;
  config.sg.surrogate = Surrogate::kCached;
  config.sg.samples = 400;
  config.sg.frontier = 4;
  config.global.num = 1000;
  Json const json = compared(to(config, folder.file("c")), {"sg"});
  Json const& trial = json["trials"][0];
  EXPECT_GT(trial["global_seeds"], 0);
  EXPECT_LT(trial["global_seeds"], trial["iterations"]) << "some tests are directed";
  expect_points_are_runs(config, trial, folder);
}

// A point in a later round has the rounds before, and a part of its own.
TEST(Curve, GoesOnFromRoundToRound) {
  TemporaryFolder const folder;
  SmallShape shape;
  shape.ranges = {4, 9, 8, 9, 2, 9};
  RunConfig config = small_config(folder, shape);
  config.global.seeding = "uniform";
  config.budget.evaluations = 40'000;
  Json const json = compared(to(config, folder.file("c")), {"eidig", "margin-walk"});
  for (Json const& trial : json["trials"]) {
    SCOPED_TRACE(trial.dump());
    ASSERT_GT(trial["rounds"], 1);
    RunConfig round = config;
    round.method = trial["method"];
    std::set<std::string> before;
    std::int64_t seeds = 0;
    std::int64_t spent = 0;
    std::size_t point = 0;
    for (std::int64_t r = 0; r < trial["rounds"]; ++r) {
      round.seed = round_seed(config.seed, r);
      auto const run_to = [&](std::int64_t budget, std::string const& name) {
        RunConfig part = to(round, folder.file(round.method + name));
        part.budget.evaluations = budget - spent;
        SearchCounts const counts = run(part, options_with(1)).search;
        return std::pair(counts, instances_in(part.output.dir, shape.ranges.size()));
      };
      auto [whole, found] = run_to(*config.budget.evaluations, "round" + std::to_string(r));
      for (; point < kCurvePoints; ++point) {
        std::int64_t const budget =
            *config.budget.evaluations / kCurvePoints * (static_cast<std::int64_t>(point) + 1);
        if (budget > spent + whole.model_evaluations) break;
        auto [part, instances] = run_to(budget, "point" + std::to_string(point));
        instances.insert(before.begin(), before.end());
        EXPECT_EQ(trial["curve"]["evaluations"][point], spent + part.model_evaluations) << point;
        EXPECT_EQ(trial["curve"]["unique_instances"][point], instances.size()) << point;
      }
      before.merge(found);
      seeds += whole.global_seeds;
      spent += whole.model_evaluations;
      auto const left = static_cast<double>(*config.budget.evaluations - spent);
      round.global.num = static_cast<std::int64_t>(
          std::ceil(left / static_cast<double>(spent) * static_cast<double>(seeds)));
    }
    EXPECT_EQ(point, kCurvePoints);
    EXPECT_EQ(trial["unique_instances"], before.size());
  }
}

// Without a budget of evaluations the points are parts of what the trial spent.
TEST(Curve, OfIterationsEndsWhereTheTrialDoes) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, {});
  config.budget.iterations = 700;
  Json const json = compared(to(config, folder.file("c")), {"themis", "eidig"});
  for (Json const& trial : json["trials"]) {
    SCOPED_TRACE(trial.dump());
    Json const& curve = trial["curve"];
    auto const spent = trial["model_evaluations"].get<std::int64_t>();
    EXPECT_EQ(curve["evaluations"].back(), spent);
    EXPECT_EQ(curve["unique_groups"].back(), trial["unique_groups"]);
    for (std::int64_t point = 1; point <= kCurvePoints; ++point) {
      auto const at = static_cast<std::size_t>(point) - 1;
      EXPECT_GE(curve["evaluations"][at].get<std::int64_t>() * kCurvePoints, spent * point);
    }
    EXPECT_LE(curve["evaluations"][9], spent * 6 / 10) << "half of it, to the end of an origin";
  }
}

}  // namespace
}  // namespace fairlane
