#include "engine/results/run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <functional>

#include "engine/check/check.h"
#include "engine/results/manifest.h"
#include "engine/results/summary.h"
#include "tests/benchmarks.h"
#include "tests/engine/results/run_output.h"
#include "tests/engine/search/small_subject.h"
#include "tests/models/expect_error.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;

TEST(Run, IsTheSameForAnyThreadsBatchAndMemory) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, {});
  config.output.trace = true;
  run(to(config, folder.file("one")), options_with(1));
  Summary const two = run(to(config, folder.file("two")), options_with(2));
  RunOptions batch = options_with(3);
  batch.execution.batch = 7;
  run(to(config, folder.file("three")), batch);
  run(to(config, folder.file("little")), options_with(2, 1 << 12));
  for (char const* other : {"two", "three", "little"}) {
    SCOPED_TRACE(other);
    expect_same_output(folder.file("one"), folder.file(other));
  }
  EXPECT_GT(two.found.unique_instances, 0);
  EXPECT_FALSE(fs::exists(folder.file("one/.partial")));
}

// A domain beyond 64 bits, so that keys have several words.
TEST(Run, WideDomainsToo) {
  TemporaryFolder const folder;
  SmallShape shape;
  shape.ranges.assign(36, 5);
  RunConfig config = small_config(folder, shape);
  config.output.trace = true;
  Summary const one = run(to(config, folder.file("one")), options_with(1));
  run(to(config, folder.file("two")), options_with(2, 1 << 14));
  expect_same_output(folder.file("one"), folder.file("two"));
  EXPECT_GT(one.found.unique_instances, 0);
  EXPECT_EQ(check_directory(folder.file("two")).failed, 0);
}

// Only a GPU has something faster, for wide networks: elsewhere a run that would take it is exact,
// and says so.
TEST(Run, FastArithmeticIsExactWhereThereIsNoFaster) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, {});
  RunOptions options = options_with(1);
  std::vector<std::string> notices;
  options.notice = [&](std::string const& line) { notices.push_back(line); };
  Summary const exact = run(to(config, folder.file("exact")), options);
  auto const told = [&] {
    return std::count_if(notices.begin(), notices.end(), [](auto const& line) {
      return line.starts_with("arithmetic: exact; cpu");
    });
  };
  EXPECT_EQ(told(), 0);
  config.arithmetic = Arithmetic::kFast;
  Summary const fast = run(to(config, folder.file("fast")), options);
  EXPECT_EQ(told(), 1);
  EXPECT_EQ(fast.signature, exact.signature);
  auto const summary = nlohmann::json::parse(slurp(folder.file("fast") + "/summary.json"));
  EXPECT_EQ(summary.at("arithmetic"), "exact");
  EXPECT_FALSE(summary.contains("signature_note"));
  // What was asked for is part of the manifest, and comes back from it.
  EXPECT_EQ(nlohmann::json::parse(slurp(folder.file("fast") + "/manifest.json")).at("arithmetic"),
            "fast");
  EXPECT_EQ(read_manifest(folder.file("fast")).config.arithmetic, Arithmetic::kFast);
  EXPECT_EQ(read_manifest(folder.file("exact")).config.arithmetic, Arithmetic::kExact);
}

TEST(Run, FastArithmeticIsNamedInTheSummary) {
  Summary summary;
  summary.arithmetic = Arithmetic::kFast;
  auto const json = nlohmann::json::parse(summary_json(summary));
  EXPECT_EQ(json.at("arithmetic"), "fast");
  EXPECT_EQ(json.at("signature_note"), "fast arithmetic: depends on the device and its library");
}

TEST(Run, ADomainThatCannotBeEnumeratedHasNoCostOfThat) {
  Summary summary;
  summary.little_found = {0.25, 0.95, 0x1p61, 0x1p62, 7.0};
  auto json = nlohmann::json::parse(summary_json(summary));
  EXPECT_EQ(json.at("little_found").at("instances_at_most"), 0x1p60);
  EXPECT_EQ(json.at("little_found").at("enumeration").at("model_evaluations"), 0x1p62);
  EXPECT_EQ(json.at("timing").at("enumeration_seconds_at_most"), 7.0);
  summary.little_found = {0.25, 0.95, 0x1p62, 0x1p63, std::nullopt};
  json = nlohmann::json::parse(summary_json(summary));
  EXPECT_TRUE(json.at("little_found").at("enumeration").is_null());
  EXPECT_FALSE(json.at("timing").contains("enumeration_seconds_at_most"));
}

TEST(Run, SummaryHasEveryCount) {
  TemporaryFolder const folder;
  RunConfig const config = small_config(folder, {});
  Summary const summary = run(config, options_with(1));
  auto const json = nlohmann::json::parse(slurp(config.output.dir + "/summary.json"));
  auto const& counts = json.at("counts");
  EXPECT_EQ(counts.at("global_seeds"), 40);
  for (char const* name : {"global_found", "global_unique", "unique_instances", "unique_groups",
                           "unique_generated", "iterations", "model_evaluations"}) {
    EXPECT_GT(counts.at(name).get<std::int64_t>(), 0) << name;
  }
  EXPECT_DOUBLE_EQ(json.at("success_rate").get<double>(),
                   static_cast<double>(summary.found.unique_instances) /
                       static_cast<double>(summary.found.unique_generated));
  EXPECT_EQ(json.at("signature").get<std::string>().size(), 64U);
  EXPECT_EQ(json.at("protected"), (std::vector<std::string>{"a0", "a4"}));
  EXPECT_EQ(json.at("variants"), 8);
  EXPECT_EQ(json.at("undefined"), 0);
  EXPECT_FALSE(json.contains("budget"));
  for (char const* name : {"cluster_seconds", "search_seconds", "write_seconds", "total_seconds"}) {
    EXPECT_TRUE(json.at("timing").at(name).is_number()) << name;
  }
  EXPECT_GE(summary.severity_max.value(), summary.severity_mean.value());
}

TEST(Run, WritesWhatTheColumnsSay) {
  TemporaryFolder const folder;
  RunConfig const config = small_config(folder, {});
  Summary const summary = run(config, options_with(2));
  std::string const csv = slurp(config.output.dir + "/instances.csv");
  EXPECT_EQ(
      csv.substr(0, csv.find('\n')),
      "a0,a1,a2,a3,a4,a5,pair_a0,pair_a4,label,pair_label,score,pair_score,phase,seed,iteration");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), summary.found.unique_instances + 1);
}

TEST(Run, OtherFormatsHoldTheSame) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, {});
  Summary const csv = run(config, options_with(1));
  config.output.format = OutputFormat::kNpy;
  Summary const npy = run(to(config, folder.file("npy")), options_with(2));
  config.output.format = OutputFormat::kNone;
  Summary const none = run(to(config, folder.file("none")), options_with(2));
  EXPECT_EQ(csv.signature, npy.signature);
  EXPECT_EQ(csv.signature, none.signature);
  EXPECT_EQ(csv.found.unique_groups, none.found.unique_groups);
  EXPECT_FALSE(fs::exists(folder.file("none/instances.csv")));
  for (char const* file : {"instances.npy", "instances.json"}) {
    EXPECT_TRUE(fs::exists(folder.file("npy") + "/" + file)) << file;
  }
  for (char const* dir : {"out", "npy", "none"}) {
    CheckResult const result = check_directory(folder.file(dir));
    EXPECT_EQ(result.failed, 0) << dir << ": "
                                << (result.failures.empty() ? "" : result.failures[0]);
    EXPECT_EQ(result.instances, std::string(dir) == "none" ? 0 : csv.found.unique_instances);
  }
}

TEST(Run, RepeatsInPlaceAndRefusesAnotherRunsResults) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, {});
  run(config, options_with(1));
  std::string const before = slurp(config.output.dir + "/instances.csv");
  run(config, options_with(2));
  EXPECT_EQ(slurp(config.output.dir + "/instances.csv"), before);
  config.seed = 43;
  expect_error(ExitCode::kOutput, {config.output.dir}, [&] { run(config, options_with(1)); });
  RunOptions overwrite = options_with(1);
  overwrite.overwrite = true;
  run(config, overwrite);
  EXPECT_NE(slurp(config.output.dir + "/instances.csv"), before);
}

TEST(Run, ManifestComesBack) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, {});
  config.local.update_interval = kNeverUpdate;
  config.budget.instances = 100;
  config.threshold = 0.4;
  run(config, options_with(1));
  RecordedRun const recorded = read_manifest(config.output.dir);
  EXPECT_EQ(recorded.config.local.update_interval, kNeverUpdate);
  EXPECT_EQ(recorded.config.budget.instances, 100);
  EXPECT_FALSE(recorded.config.budget.seconds.has_value());
  EXPECT_EQ(recorded.config.threshold, 0.4);
  EXPECT_TRUE(fs::equivalent(recorded.config.model, config.model));
  EXPECT_EQ(recorded.model_sha256, sha256_file(config.model));
  EXPECT_EQ(recorded.config.protected_attributes[1].values, (std::vector<std::int32_t>{2, 3}));
  std::string const text = slurp(config.output.dir + "/manifest.json");
  EXPECT_EQ(text.find(folder.file("")), std::string::npos) << "the manifest holds an absolute path";
  // Running what the manifest says is the same run.
  std::string const before = slurp(config.output.dir + "/instances.csv");
  run(recorded.config, options_with(2));
  EXPECT_EQ(slurp(config.output.dir + "/manifest.json"), text);
  EXPECT_EQ(slurp(config.output.dir + "/instances.csv"), before);
}

TEST(Run, ACutByTheClockCanBeRepeated) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, {});
  config.global.seeding = "uniform";
  config.global.num = 4000;
  config.local.num = 20000;
  config.budget.seconds = 0.2;
  run(config, options_with(2));
  auto const manifest = nlohmann::json::parse(slurp(config.output.dir + "/manifest.json"));
  if (!manifest.contains("cut")) GTEST_SKIP() << "the run ended before its budget";
  RecordedRun const recorded = read_manifest(config.output.dir);
  RunOptions replay = options_with(1);
  replay.search.replay = recorded.cut;
  run(to(recorded.config, folder.file("again")), replay);
  EXPECT_EQ(slurp(config.output.dir + "/instances.csv"), slurp(folder.file("again/instances.csv")));
  EXPECT_EQ(without_timing(config.output.dir), without_timing(folder.file("again")));
  EXPECT_EQ(slurp(config.output.dir + "/manifest.json"), slurp(folder.file("again/manifest.json")));
}

/// Edits the manifest of a directory.
void edit_manifest(std::string const& dir,
                   std::function<void(nlohmann::ordered_json&)> const& edit) {
  auto json = nlohmann::ordered_json::parse(slurp(dir + "/manifest.json"));
  edit(json);
  std::ofstream(dir + "/manifest.json") << json.dump(2) << "\n";
}

/// A run that the clock ended among its origins.
RunConfig timed_run(TemporaryFolder const& folder) {
  RunConfig config = small_config(folder, {});
  config.local.num = 300;
  config.budget.seconds = 200.0;
  RunOptions options = options_with(2);
  options.execution.batch = 7;
  auto const looks = std::make_shared<std::atomic<int>>(0);
  options.search.passed = [looks] { return static_cast<double>(++*looks); };
  run(config, options);
  return config;
}

TEST(Run, WhatTheClockLeftUnfinishedIsRecorded) {
  TemporaryFolder const folder;
  RunConfig const config = timed_run(folder);
  RecordedRun const recorded = read_manifest(config.output.dir);
  ASSERT_GT(recorded.cut.local_seeds, 0);
  ASSERT_FALSE(recorded.cut.unfinished.empty());
  for (int const threads : {1, 3}) {
    for (int const batch : {1, 64}) {
      std::string const again = folder.file("again" + std::to_string(threads * 100 + batch));
      RunOptions replay = options_with(threads);
      replay.execution.batch = batch;
      replay.search.replay = recorded.cut;
      run(to(recorded.config, again), replay);
      for (char const* file : {"manifest.json", "instances.csv"})
        EXPECT_EQ(slurp(config.output.dir + "/" + file), slurp(again + "/" + file));
      EXPECT_EQ(without_timing(config.output.dir), without_timing(again));
    }
  }
}

// Earlier versions counted whole origins only, and their manifests say so.
TEST(Run, AnEarlierVersionsCutIsRepeatedAsRecorded) {
  TemporaryFolder const folder;
  RunConfig const config = timed_run(folder);
  edit_manifest(config.output.dir, [](auto& json) {
    json["cut"].erase("unfinished");
    json["cut"]["local_seeds"] = 3;
  });
  RecordedRun const recorded = read_manifest(config.output.dir);
  EXPECT_TRUE(recorded.cut.unfinished.empty());
  RunOptions replay = options_with(2);
  replay.search.replay = recorded.cut;
  Summary const summary = run(to(recorded.config, folder.file("again")), replay);
  std::int64_t tests = summary.search.iterations - 3 * config.local.num;
  EXPECT_GE(tests, config.global.num / 2);
  EXPECT_LE(tests, config.global.num * config.global.max_iter);
  EXPECT_EQ(summary.cut, "seconds");
  EXPECT_EQ(slurp(config.output.dir + "/manifest.json"), slurp(folder.file("again/manifest.json")));
}

TEST(Run, ReadManifestRefusesLimitsOutOfOrder) {
  TemporaryFolder const folder;
  RunConfig const config = timed_run(folder);
  for (char const* text : {"[[0, 0, 3]]", "[[-1, 2, 3]]", "[[0, 2, -3]]", "[[4, 2, 3], [5, 1, 3]]",
                           "[[1, 2]]", "[[1, 2, 3, 4]]", "[[0, 9e18, 1]]", "[3]"}) {
    SCOPED_TRACE(text);
    edit_manifest(config.output.dir, [&](auto& json) {
      json["cut"]["unfinished"] = nlohmann::ordered_json::parse(text);
    });
    expect_error(ExitCode::kData, {"manifest.json"}, [&] { read_manifest(config.output.dir); });
  }
}

TEST(Run, ReadManifestRefusesOthers) {
  TemporaryFolder const folder;
  expect_error(ExitCode::kNoInput, {"manifest.json"}, [&] { read_manifest(folder.file("none")); });
  folder.write("manifest.json", "{\"fairlane\": \"0\", \"config\": {\"model\": 3}}");
  expect_error(ExitCode::kData, {"manifest.json"}, [&] { read_manifest(folder.file("")); });
}

RunConfig census(fs::path const& dir, TemporaryFolder const& folder) {
  RunConfig config;
  config.model = (dir / "models/census.h5").string();
  config.data = (dir / "data/census.csv").string();
  config.domain = (dir / "data/census.domain.yaml").string();
  config.protected_attributes = {{"age", {}}};
  config.output.dir = folder.file("census");
  config.global.num = 100;
  config.local.num = 100;
  return config;
}

// With many variants some member is often close to the boundary: 0.2 % of the instances at 40 of
// them.
constexpr std::int64_t kMarginalShare = 200;

TEST(Run, CensusIsConfirmedInDoublePrecision) {
  FL_NEED_BENCHMARKS(dir);
  TemporaryFolder const folder;
  RunConfig config = census(dir, folder);
  for (auto const& names :
       {std::vector<std::string>{"age"}, std::vector<std::string>{"age", "race", "gender"}}) {
    config.protected_attributes.clear();
    for (auto const& name : names) config.protected_attributes.push_back({name, {}});
    config.output.dir = folder.file(names.back());
    Summary const summary = run(config, options_with(2));
    CheckResult const result = check_directory(config.output.dir);
    EXPECT_EQ(result.failed, 0) << (result.failures.empty() ? "" : result.failures[0]);
    EXPECT_EQ(result.instances, summary.found.unique_instances);
    EXPECT_GT(result.confirmed, 1000);
    EXPECT_LE(result.marginal, result.instances / kMarginalShare);
  }
}

}  // namespace
}  // namespace fairlane
