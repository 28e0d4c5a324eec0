// instances.plausibility.csv: what the model of the table says of each row of instances.*.
#include <gtest/gtest.h>

#include <sstream>

#include "engine/check/check.h"
#include "engine/count/enumerate.h"
#include "engine/results/run.h"
#include "engine/results/table_plausibility.h"
#include "engine/tables/parquet_plugin_api.h"
#include "models/data/csv.h"
#include "models/data/domain_yaml.h"
#include "tests/engine/results/run_output.h"
#include "tests/engine/search/small_subject.h"
#include "tests/models/expect_error.h"
#include "tests/plugin_dir.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;

std::vector<double> numbers_of_line(std::string const& line) {
  std::vector<double> numbers;
  std::istringstream text(line);
  for (std::string cell; std::getline(text, cell, ',');) numbers.push_back(std::stod(cell));
  return numbers;
}

class PlausibilityOfInstances : public ::testing::Test {
 protected:
  PlausibilityOfInstances() : config_(small_config(folder_, {})) {
    config_.output.plausibility = true;
    Domain domain = read_domain_yaml(config_.domain);
    domain.attributes[3].categories = {"a", "b", "c", "d", "e", "f"};
    domain.attributes[2].high.reset();  // the table gives it
    folder_.write("domain.yaml", format_domain_yaml(domain));
  }

  std::string run_in(std::string const& name, RunConfig config, int threads) const {
    return run_into(folder_.file(name), std::move(config), threads);
  }
  static std::string figures_in(std::string const& dir) {
    return slurp(dir + "/" + kInstancePlausibility);
  }
  /// What the table's model scores the rows of instances.csv.
  void expect_scores(std::string const& dir, Domain const& domain, Dataset const& table) const {
    PlausibilityModel const model(domain, table, 1);
    std::istringstream rows(slurp(dir + "/instances.csv"));
    std::istringstream figures(figures_in(dir));
    std::string row;
    std::string line;
    std::getline(rows, row);
    std::getline(figures, line);
    EXPECT_EQ(line, "distance,surprise,distance_percentile,surprise_percentile");
    std::int64_t count = 0;
    for (; std::getline(rows, row); ++count) {
      std::vector<std::int32_t> codes;
      std::istringstream cells(row);
      std::string cell;
      while (codes.size() < model.attributes() && std::getline(cells, cell, ','))
        codes.push_back(std::stoi(cell));
      Plausibility const score = model.score(codes).front();
      ASSERT_TRUE(std::getline(figures, line));
      // Every digit is there.
      EXPECT_EQ(numbers_of_line(line),
                (std::vector<double>{score.distance, score.surprise, score.distance_percentile,
                                     score.surprise_percentile}))
          << row;
    }
    EXPECT_GT(count, 20);
    EXPECT_FALSE(std::getline(figures, line)) << line;
  }
  void expect_scores(std::string const& dir) const {
    Domain domain = read_domain_yaml(config_.domain);
    Dataset const table = read_csv(config_.data, domain);
    resolve_bounds(domain, &table);
    expect_scores(dir, domain, table);
  }

  TemporaryFolder const folder_;
  RunConfig config_;
};

TEST_F(PlausibilityOfInstances, IsThatOfTheRowsWhateverElseIsWritten) {
  for (OutputColumns const columns :
       {OutputColumns::kAll, OutputColumns::kLabels, OutputColumns::kInputs}) {
    SCOPED_TRACE(name_of(columns));
    RunConfig config = config_;
    config.output.columns = columns;
    std::string const name(name_of(columns));
    std::string const csv = run_in(name, config, 1);
    expect_scores(csv);
    std::string const expected = figures_in(csv);
    RunConfig plain = config;
    plain.output.plausibility = false;
    std::string const without = run_in(name + "-plain", plain, 1);
    EXPECT_FALSE(fs::exists(without + "/" + kInstancePlausibility));
    for (char const* const file : {"instances.csv", "instances.json"})
      EXPECT_EQ(slurp(csv + "/" + file), slurp(without + "/" + file)) << file;
    // Many batches by several threads, since none goes to two files.
    config.output.shard_rows = 7;
    config.output.words = true;
    EXPECT_EQ(figures_in(run_in(name + "-shards", config, 3)), expected);
    config.output.words = false;
    config.output.format = OutputFormat::kNpy;
    std::string const npy = run_in(name + "-npy", config, 2);
    EXPECT_EQ(figures_in(npy), expected);
    EXPECT_EQ(check_directory(npy).failed, 0);
  }
}

TEST_F(PlausibilityOfInstances, IsBesideParquetToo) {
  if (!fs::exists(built_plugin() + "/" + kParquetPluginFile))
    GTEST_SKIP() << "this build has no Parquet plug-in (FAIRLANE_ARROW)";
  PluginDir const built(built_plugin());
  std::string const csv = run_in("csv", config_, 1);
  config_.output.format = OutputFormat::kParquet;
  config_.output.shard_rows = 20;
  EXPECT_EQ(figures_in(run_in("parquet", config_, 2)), figures_in(csv));
}

TEST_F(PlausibilityOfInstances, IsThatOfAnEnumeration) {
  EnumerateOptions options;
  options.execution.backend = "cpu";
  options.execution.threads = 2;
  std::string const counted = folder_.file("counted");
  enumerate(to(config_, counted), options);  // writes no findings
  EXPECT_FALSE(fs::exists(counted + "/" + kInstancePlausibility));
  options.instances.all = true;
  std::string const all = folder_.file("all");
  enumerate(to(config_, all), options);
  expect_scores(all);
  std::vector<std::string> shards;
  for (std::int64_t const index : {1, 2}) {
    options.shard = {index, 2};
    shards.push_back(folder_.file("shard" + std::to_string(index)));
    enumerate(to(config_, shards.back()), options);
  }
  options.shard = {};
  options.merge = shards;
  enumerate(to(config_, folder_.file("merged")), options);
  EXPECT_EQ(figures_in(folder_.file("merged")), figures_in(all));
}

// People whose protected values are not compared are people all the same; those outside the domain
// are none, or others.
TEST_F(PlausibilityOfInstances, IsBesideAllRowsThatTheConfigurationKeeps) {
  config_.protected_attributes[0].values = {lowest(0), lowest(0) + 1};
  expect_scores(run_in("compared", config_, 2));
  Domain domain = read_domain_yaml(config_.domain);
  Dataset const before = read_csv(config_.data, domain);
  resolve_bounds(domain, &before);
  folder_.write("domain.yaml", format_domain_yaml(domain));
  folder_.write("data.csv", slurp(config_.data) + "99,0,0,1,2,3,1\n0,0,0,1,99,3,1\n");
  config_.protected_attributes[0].values = {};
  for (OutOfDomain const policy : {OutOfDomain::kDrop, OutOfDomain::kClip}) {
    config_.out_of_domain = policy;
    Dataset table = read_csv(config_.data, domain);
    apply_out_of_domain(table, domain, policy);
    EXPECT_EQ(table.count(), before.count() + (policy == OutOfDomain::kClip ? 2 : 0));
    expect_scores(run_in(policy == OutOfDomain::kDrop ? "dropped" : "clipped", config_, 2), domain,
                  table);
  }
}

TEST_F(PlausibilityOfInstances, GoesWithTheRunThatWroteIt) {
  std::string const dir = run_in("out", config_, 1);
  ASSERT_TRUE(fs::exists(dir + "/" + kInstancePlausibility));
  config_.output.plausibility = false;
  RunOptions replacing = options_with(1);
  replacing.overwrite = true;
  run(to(config_, dir), replacing);
  EXPECT_FALSE(fs::exists(dir + "/" + kInstancePlausibility));
}

TEST_F(PlausibilityOfInstances, OfNothingOrBesideNothingIsRefused) {
  EnumerateOptions options;
  options.instances.sample = 3;
  auto const refused = [&](std::initializer_list<std::string> parts) {
    expect_error(ExitCode::kConfig, parts, [&] { run(config_, options_with(1)); });
    expect_error(ExitCode::kConfig, parts, [&] { enumerate(config_, options); });
    EXPECT_FALSE(fs::exists(config_.output.dir));
  };
  config_.output.format = OutputFormat::kNone;
  refused({"output.plausibility", "output.format is none", "csv, npy"});
  config_.output.format = OutputFormat::kCsv;
  config_.data = "";
  refused({"output.plausibility", "small.yaml names no `data`"});
}

}  // namespace
}  // namespace fairlane
