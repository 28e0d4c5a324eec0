// Searches of the demo's census, whose whole domain fits the record: they end, and report nothing
// that was not planted.
#include <gtest/gtest.h>

#include <filesystem>

#include "apps/demo/demo_census.h"
#include "tests/checkout.h"
#include "tests/engine/search/run_search.h"

namespace fairlane {
namespace {

RunConfig demo_config(char const* method) {
  std::filesystem::path const demo = std::filesystem::path(source_dir()) / "configs" / "demo";
  RunConfig config;
  config.source = "demo";
  config.model = (demo / "census.safetensors").string();
  config.data = (demo / "census.csv").string();
  config.domain = (demo / "census.domain.yaml").string();
  config.protected_attributes = {{"gender", {}}};
  config.method = method;
  config.seed = 42;
  config.global.num = 1000;
  config.local.num = 1000;
  return config;
}

/// Inputs a run recorded, IDIs among them, and IDIs that were not planted.
struct Census {
  std::int64_t inputs = 0;
  std::int64_t hits = 0;
  std::int64_t false_findings = 0;
  std::int64_t missed = 0;
};

Census run_demo(RunConfig const& config, int threads) {
  TestSubject const subject(config);
  MethodSpec const& method = find_method(config.method);
  SeedSource const seeds(config, method, subject);
  CpuOptions options;
  options.threads = threads;
  options.seed = config.seed;
  auto const backend = make_cpu_backend(subject.view(), options);
  search(config, method, seeds, *backend, {});
  Census census;
  backend->collect([&](Visits const& visits) {
    for (std::size_t i = 0; i < visits.count; ++i) {
      Row const row = row_of(backend->subject(), visits.group + i, visits.variant[i]);
      bool const hit = visits.state[i] == kVisitHit;
      bool const planted = planted_affected(row, kDemoGender);
      ++census.inputs;
      census.hits += hit ? 1 : 0;
      census.false_findings += hit && !planted ? 1 : 0;
      census.missed += !hit && planted ? 1 : 0;
    }
  });
  return census;
}

TEST(DemoSearch, FindsNothingThatWasNotPlanted) {
  int const selected[] = {kDemoGender};
  std::int64_t const planted = count_planted(selected).discriminatory_inputs;
  for (int const threads : {1, 3}) {
    Census const census = run_demo(demo_config("eidig"), threads);
    EXPECT_EQ(census.false_findings, 0);
    EXPECT_EQ(census.missed, 0);
    EXPECT_GT(census.hits, planted / 2) << "a thousand steps around every first finding";
    EXPECT_LE(census.hits, planted);
  }
}

// Every input once: the last ones take many draws, but not many rounds.
TEST(DemoSearch, ThemisFindsAllThatIsPlanted) {
  int const selected[] = {kDemoGender};
  PlantedCount const planted = count_planted(selected);
  RunConfig config = demo_config("themis");
  config.global.num = planted.inputs;
  Census const census = run_demo(config, 2);
  EXPECT_EQ(census.inputs, planted.inputs);
  EXPECT_EQ(census.hits, planted.discriminatory_inputs);
  EXPECT_EQ(census.false_findings, 0);
}

}  // namespace
}  // namespace fairlane
