// Comparisons: what a trial is, what an equal budget means, and that nothing but the manifest
// decides the bytes.
#include "engine/compare/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "engine/count/enumerate.h"
#include "tests/engine/results/run_output.h"
#include "tests/engine/search/small_subject.h"
#include "tests/models/expect_error.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;

CompareOptions with_repeats(std::int64_t repeats) {
  CompareOptions options;
  options.execution.backend = "cpu";
  options.execution.threads = 2;
  options.repeats = repeats;
  return options;
}

/// A table without the columns of times.
std::string without_seconds(std::string const& csv) {
  std::istringstream lines(csv);
  std::string line;
  std::set<std::size_t> timed;
  std::string text;
  for (bool is_head = true; std::getline(lines, line); is_head = false) {
    std::istringstream cells(line);
    std::string cell;
    for (std::size_t i = 0; std::getline(cells, cell, ','); ++i) {
      if (is_head && cell.find("_seconds") != std::string::npos) timed.insert(i);
      if (timed.count(i) == 0) text += cell + ",";
    }
    text += "\n";
  }
  EXPECT_FALSE(timed.empty());
  return text;
}

void expect_same_comparison(std::string const& a, std::string const& b) {
  for (char const* file : {"manifest.json", "compare.svg", "curves.csv", "curves.svg", "DONE"})
    EXPECT_EQ(slurp(a + "/" + file), slurp(b + "/" + file)) << file;
  for (char const* file : {"compare.csv", "summary.csv"}) {
    EXPECT_EQ(without_seconds(slurp(a + "/" + file)), without_seconds(slurp(b + "/" + file)));
  }
  auto const untimed = [](std::string const& dir) {
    Json json = Json::parse(slurp(dir + "/compare.json"));
    EXPECT_EQ(json.erase("timing"), 1U);
    return json;
  };
  EXPECT_EQ(untimed(a), untimed(b));
  EXPECT_FALSE(fs::exists(b + "/.partial"));
}

TEST(Compare, ATrialIsTheRunWithItsMethodSeedAndBudget) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, {});
  config.budget.evaluations = 4000;  // less than any method's whole run
  Json const json = Json::parse(compare(to(config, folder.file("c")), with_repeats(2)));
  ASSERT_EQ(json["trials"].size(), 2 * methods().size());
  for (Json const& trial : json["trials"]) {
    SCOPED_TRACE(trial.dump());
    config.method = trial["method"];
    config.seed = trial["seed"];
    bool const is_random = find_method(config.method).kind == SearchKind::kRandom;
    config.global.num = is_random ? 100'000 : 40;
    Summary const alone =
        run(to(config, folder.file(config.method + trial["seed"].dump())), options_with(1));
    EXPECT_EQ(trial["rounds"], 1);
    EXPECT_EQ(trial["ended_by"], "evaluations");
    EXPECT_EQ(trial["unique_groups"], alone.found.unique_groups);
    EXPECT_EQ(trial["unique_instances"], alone.found.unique_instances);
    EXPECT_EQ(trial["unique_generated"], alone.found.unique_generated);
    EXPECT_EQ(trial["model_evaluations"], alone.search.model_evaluations);
    EXPECT_EQ(trial["success_rate"], alone.success_rate);
    EXPECT_EQ(trial["mean_distance"] > 0.0, trial["unique_groups"] > 1);
  }
}

TEST(Compare, IsTheSameForAnyThreadsAndBatch) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, {});
  config.budget.evaluations = 60'000;  // several rounds
  auto options = with_repeats(3);
  options.execution.threads = 1;
  Json const json = Json::parse(compare(to(config, folder.file("one")), options));
  options.execution.threads = 3;
  options.execution.batch = 7;
  compare(to(config, folder.file("three")), options);
  expect_same_comparison(folder.file("one"), folder.file("three"));
  EXPECT_GT(json["trials"].back()["rounds"], 1);
}

// What several rounds find counts once, and the budget is spent to the last seed.
TEST(Compare, RoundsSpendTheBudget) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, {});
  enumerate(to(config, folder.file("all")), {});
  Json const all = Json::parse(slurp(folder.file("all/summary.json")))["counts"];
  config.global.seeding = "uniform";  // a table has no more seeds than rows
  auto options = with_repeats(2);
  options.against = folder.file("all");
  options.methods = {"themis", "adf", "eidig", "maft", "margin-walk"};
  for (bool const counts_evaluations : {true, false}) {
    std::int64_t const limit = counts_evaluations ? 400'000 : 50'000;
    config.budget = {};
    (counts_evaluations ? config.budget.evaluations : config.budget.iterations) = limit;
    std::string const dir = folder.file(counts_evaluations ? "evaluations" : "iterations");
    Json const json = Json::parse(compare(to(config, dir), options));
    for (Json const& trial : json["trials"]) {
      SCOPED_TRACE(trial.dump());
      EXPECT_LE(trial["unique_instances"], all["unique_instances"]);
      EXPECT_LE(trial["unique_generated"], 5040);
      EXPECT_LE(trial["recall_groups"], 1.0);
      EXPECT_LE(trial["value_coverage"], 1.0);
      for (char const* of :
           {"unique_groups", "unique_instances", "recall_groups", "recall_instances"})
        EXPECT_EQ(trial["curve"][of].back(), trial[of]) << "the last point is the trial's end";
      if (find_method(trial["method"]).kind == SearchKind::kRandom) {
        EXPECT_EQ(trial["unique_generated"], 5040) << "the whole domain";
        EXPECT_TRUE(trial["ended_by"].is_null()) << "it ran out of inputs";
        EXPECT_EQ(trial["recall_instances"], 1.0);
        EXPECT_EQ(trial["recall_groups"], 1.0);
        continue;
      }
      EXPECT_EQ(trial["ended_by"], counts_evaluations ? "evaluations" : "iterations");
      std::int64_t const spent = trial[counts_evaluations ? "model_evaluations" : "iterations"];
      EXPECT_GE(spent, limit);
      EXPECT_LT(spent, limit + limit / 20);
      EXPECT_GT(trial["rounds"], 1);
      EXPECT_LT(trial["rounds"], 20);
      EXPECT_GT(trial["recall_instances"], 0.5);
    }
  }
}

// The runs that a trial of several rounds consists of, one by one.
TEST(Compare, RoundsAreRunsWhoseFindingsCountOnce) {
  TemporaryFolder const folder;
  SmallShape shape;
  shape.ranges = {4, 9, 8, 9, 2, 9};
  RunConfig config = small_config(folder, shape);
  config.global.seeding = "uniform";
  config.budget.evaluations = 40'000;
  auto options = with_repeats(1);
  options.methods = {"eidig", "margin-walk"};
  Json const json = Json::parse(compare(to(config, folder.file("c")), options));
  for (Json const& trial : json["trials"]) {
    SCOPED_TRACE(trial.dump());
    ASSERT_GT(trial["rounds"], 1);
    RunConfig round = config;
    round.method = trial["method"];
    std::set<std::string> instances;
    std::int64_t seeds = 0;
    std::int64_t spent = 0;
    for (std::int64_t r = 0; r < trial["rounds"]; ++r) {
      std::string const dir = folder.file(round.method + std::to_string(r));
      round.seed = round_seed(config.seed, r);
      Summary const summary = run(to(round, dir), options_with(1));
      instances.merge(instances_in(dir, shape.ranges.size()));
      seeds += summary.search.global_seeds;
      spent += summary.search.model_evaluations;
      std::int64_t const left = *config.budget.evaluations - spent;
      EXPECT_EQ(left <= 0, r + 1 == trial["rounds"]);
      round.budget.evaluations = left;
      round.global.num = static_cast<std::int64_t>(std::ceil(
          static_cast<double>(left) / static_cast<double>(spent) * static_cast<double>(seeds)));
    }
    EXPECT_EQ(trial["unique_instances"], instances.size());
    EXPECT_EQ(trial["model_evaluations"], spent);
  }
}

TEST(Compare, TellsMethodsApart) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, {});
  config.budget.evaluations = 4000;
  config.method = "maft";
  auto options = with_repeats(8);
  options.methods = {"margin", "maft", "maft-nonvec"};
  Json const json = Json::parse(compare(to(config, folder.file("c")), options));
  EXPECT_EQ(json["reference"], "maft");
  auto const& measures = json["methods"];
  EXPECT_FALSE(measures[1]["measures"]["unique_groups"].contains("p"));
  // The same search under another name, and one that finds more for what it spends.
  EXPECT_EQ(measures[2]["measures"]["unique_groups"]["p"], 1);
  EXPECT_EQ(measures[2]["measures"]["unique_groups"]["a12"], 0.5);
  EXPECT_EQ(measures[0]["measures"]["unique_groups"]["a12"], 1);
  double const p = measures[0]["measures"]["unique_groups"]["p"];
  EXPECT_NEAR(p, 2.0 / 12870.0, 1e-12) << "all of eight are greater: one deal of each side";
  EXPECT_NEAR(measures[0]["measures"]["unique_groups"]["p_holm"], 2.0 * p, 1e-12);
  double mean = 0.0;
  for (int i = 0; i < 8; ++i) mean += json["trials"][i]["unique_groups"].get<double>() / 8.0;
  EXPECT_NEAR(measures[0]["measures"]["unique_groups"]["mean"], mean, 1e-9);
}

TEST(Compare, GoesOnFromTheTrialsThatAreDone) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, {});
  config.budget.evaluations = 5000;
  auto options = with_repeats(2);
  compare(to(config, folder.file("whole")), options);
  std::vector<std::string> notices;
  options.notice = [&](std::string const& line) { notices.push_back(line); };
  std::atomic<bool> stop{false};
  options.stop = &stop;
  for (std::int64_t const at : {3, 4, 9}) {
    options.progress = [&](CompareProgress const& progress) { stop = progress.done == at; };
    expect_error(ExitCode::kStopped, {"state saved in", std::to_string(at) + " of"},
                 [&] { compare(to(config, folder.file("parts")), options); });
    EXPECT_FALSE(fs::exists(folder.file("parts/DONE")));
  }
  options.progress = {};
  stop = false;
  options.execution.threads = 1;
  compare(to(config, folder.file("parts")), options);
  EXPECT_THAT(notices, Contains(HasSubstr("goes on from the saved state: 9 of")));
  expect_same_comparison(folder.file("whole"), folder.file("parts"));
  // Another budget is another comparison.
  config.budget.evaluations = 5001;
  expect_error(ExitCode::kOutput, {"another run"},
               [&] { compare(to(config, folder.file("parts")), options); });
}

TEST(Compare, NothingFoundIsAResult) {
  TemporaryFolder const folder;
  SmallShape shape;
  shape.deviation = 1.0e-6F;  // every output is nearly the same,
  RunConfig config = small_config(folder, shape);
  config.threshold = 0.9;  // and every label
  config.budget.seconds = 0.01;
  Json const json = Json::parse(compare(to(config, folder.file("c")), with_repeats(2)));
  for (Json const& trial : json["trials"]) {
    EXPECT_EQ(trial["unique_groups"], 0);
    EXPECT_TRUE(trial["evaluations_per_instance"].is_null());
    EXPECT_EQ(trial["mean_distance"], 0);
    EXPECT_TRUE(trial["first_evaluations"].is_null());
    EXPECT_EQ(trial["curve"]["unique_groups"], std::vector<int>(kCurvePoints, 0));
    EXPECT_EQ(trial["curve"]["evaluations"].back(), trial["model_evaluations"]);
  }
  for (Json const& method : json["methods"]) {
    EXPECT_TRUE(method["measures"]["evaluations_per_instance"]["mean"].is_null());
    EXPECT_EQ(method["measures"]["unique_groups"]["mean"], 0);
  }
}

}  // namespace
}  // namespace fairlane
