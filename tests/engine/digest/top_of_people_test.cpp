// The different findings of real results beside the first of their files.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "engine/config/config_yaml.h"
#include "engine/digest/top_findings.h"
#include "engine/plausibility/gower.h"
#include "models/data/csv.h"
#include "models/data/domain_yaml.h"
#include "tests/benchmarks.h"
#include "tests/engine/results/run_output.h"

namespace fairlane {
namespace {

/// The least distance between two of the ten that an order shows.
double least_distance_of_ten(RunConfig const& config, FindingOrder order) {
  RecordedRun const recorded = read_manifest(config.output.dir);
  Domain domain = read_domain_yaml(config.domain);
  Dataset const table = read_csv(config.data, domain);
  resolve_bounds(domain, &table);
  Json const top = top_findings(config.output.dir, recorded, domain, {10, order, kMostTop, 2});
  std::vector<std::vector<std::int32_t>> people;
  for (Json const& finding : top.at("findings")) {
    auto& row = people.emplace_back();
    for (auto const& [name, code] : finding.at("codes").items())
      row.push_back(code.get<std::int32_t>());
  }
  EXPECT_EQ(people.size(), 10U);
  Gower const gower(domain);
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < people.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j)
      least = std::min(least, gower.distance(people[i].data(), people[j].data()));
  }
  return least;
}

void expect_different(RunConfig const& config) {
  run(config, options_with(2));
  double const first = least_distance_of_ten(config, FindingOrder::kFile);
  double const different = least_distance_of_ten(config, FindingOrder::kDiversity);
  ::testing::Test::RecordProperty("first", std::to_string(first));
  ::testing::Test::RecordProperty("different", std::to_string(different));
  EXPECT_GT(first, 0.0);
  EXPECT_GE(different, 2.0 * first);
}

TEST(TopOfPeople, OfTheDemoAreFarApart) {
  TemporaryFolder const folder;
  RunConfig config = read_run_config(source_dir() + "/configs/demo/config.yaml", {});
  config.output.dir = folder.file("out");
  expect_different(config);
}

TEST(TopOfPeople, OfTheAdultCensusAreFarApart) {
  FL_NEED_BENCHMARKS(benchmarks);
  TemporaryFolder const folder;
  RunConfig config;
  config.source = "adult.yaml";
  config.model = (benchmarks / "models" / "census.h5").string();
  config.data = (benchmarks / "data" / "census.csv").string();
  config.domain = (benchmarks / "data" / "census.domain.yaml").string();
  config.protected_attributes = {{"age", {}}};
  config.global.num = 200;
  config.local.num = 200;
  config.output.dir = folder.file("out");
  expect_different(config);
}

}  // namespace
}  // namespace fairlane
