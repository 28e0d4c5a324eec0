#include "engine/results/instances.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "engine/check/check.h"
#include "engine/results/instance_files.h"
#include "engine/results/instances_reader.h"
#include "engine/results/manifest.h"
#include "engine/results/run.h"
#include "engine/tables/parquet_plugin_api.h"
#include "tests/engine/results/run_output.h"
#include "tests/engine/search/small_subject.h"
#include "tests/models/expect_error.h"
#include "tests/plugin_dir.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;

// Pair and labels are those that an evaluation says, whether the search has kept them or not.
TEST(Instances, FewerColumnsAreThoseOfAll) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, {});
  run(config, options_with(1));
  std::istringstream all(slurp(config.output.dir + "/instances.csv"));
  std::string labels;
  std::string inputs;
  constexpr int kAfterLabels = 5;  // score, pair_score, phase, seed, iteration
  constexpr int kAfterInputs = 4;  // two values of the pair, two labels
  auto const without_last = [](std::string& line, int cells) {
    for (int i = 0; i < cells; ++i) line.resize(line.rfind(','));
  };
  for (std::string line; std::getline(all, line);) {
    without_last(line, kAfterLabels);
    labels += line + "\n";
    without_last(line, kAfterInputs);
    inputs += line + "\n";
  }
  for (int const threads : {1, 3}) {
    config.output.columns = OutputColumns::kLabels;
    Summary const few = run(to(config, folder.file("labels")), options_with(threads));
    EXPECT_EQ(slurp(folder.file("labels/instances.csv")), labels);
    EXPECT_FALSE(few.severity_mean);
    config.output.columns = OutputColumns::kInputs;
    run(to(config, folder.file("inputs")), options_with(threads));
    EXPECT_EQ(slurp(folder.file("inputs/instances.csv")), inputs);
    fs::remove_all(folder.file("labels"));
    fs::remove_all(folder.file("inputs"));
  }
}

TEST(Instances, InManyFilesAreTheSame) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, {});
  Summary const whole = run(config, options_with(1));
  std::string const csv = slurp(config.output.dir + "/instances.csv");
  std::size_t const header = csv.find('\n') + 1;
  for (OutputColumns const columns :
       {OutputColumns::kAll, OutputColumns::kLabels, OutputColumns::kInputs}) {
    for (OutputFormat const format : {OutputFormat::kCsv, OutputFormat::kNpy}) {
      SCOPED_TRACE(std::string(name_of(format)) + " " + std::string(name_of(columns)));
      config.output.columns = columns;
      config.output.format = format;
      config.output.shard_rows = whole.found.unique_instances / 3;
      std::string const dir = folder.file("many");
      Summary const many = run(to(config, dir), options_with(2));
      auto const files = read_instance_files(dir, format);
      ASSERT_GE(files.size(), 3U);
      CheckResult const result = check_directory(dir);
      EXPECT_EQ(result.failed, 0) << (result.failures.empty() ? "" : result.failures[0]);
      EXPECT_EQ(result.instances, whole.found.unique_instances);
      EXPECT_EQ(many.signature == whole.signature, columns == OutputColumns::kAll);
      if (columns == OutputColumns::kAll && format == OutputFormat::kCsv) {
        std::string together = csv.substr(0, header);
        for (auto const& file : files) together += slurp(dir + "/" + file.name).substr(header);
        EXPECT_EQ(together, csv);
      }
      // A run that replaces it in fewer files leaves none of them behind.
      config.output.shard_rows.reset();
      RunOptions replacing = options_with(1);
      replacing.overwrite = true;
      run(to(config, dir), replacing);
      for (auto const& file : files) EXPECT_FALSE(fs::exists(dir + "/" + file.name)) << file.name;
      fs::remove_all(dir);
    }
  }
}

TEST(Instances, InParquetAreTheSame) {
  if (!fs::exists(built_plugin() + "/" + kParquetPluginFile))
    GTEST_SKIP() << "this build has no Parquet plug-in (FAIRLANE_ARROW)";
  PluginDir const built(built_plugin());
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, {});
  std::string const dir = folder.file("parquet");
  for (OutputColumns const columns :
       {OutputColumns::kAll, OutputColumns::kLabels, OutputColumns::kInputs}) {
    config.output.columns = columns;
    config.output.format = OutputFormat::kNpy;
    config.output.shard_rows.reset();
    Summary const npy = run(to(config, folder.file("npy")), options_with(1));
    config.output.format = OutputFormat::kParquet;
    for (bool const zstd : {false, true}) {
      config.output.zstd = zstd;
      config.output.shard_rows = npy.found.unique_instances / 3;
      Summary const parquet = run(to(config, dir), options_with(2));
      EXPECT_EQ(parquet.signature, npy.signature);
      EXPECT_GE(read_instance_files(dir, OutputFormat::kParquet).size(), 3U);
      CheckResult const result = check_directory(dir);
      EXPECT_EQ(result.failed, 0) << (result.failures.empty() ? "" : result.failures[0]);
      EXPECT_EQ(result.instances, npy.found.unique_instances);
      std::string const file = dir + "/instances-00000.parquet";
      std::string const bytes = slurp(file);
      std::ofstream(file) << bytes.substr(0, bytes.size() / 2);
      expect_error(ExitCode::kData, {"instances-00000.parquet"}, [&] { check_directory(dir); });
      fs::remove_all(dir);
    }
    fs::remove_all(folder.file("npy"));
  }
}

TEST(Instances, ParquetWithoutItsPluginIsRefusedAtOnce) {
  TemporaryFolder const folder;
  PluginDir const nowhere(folder.file("nowhere"));
  RunConfig config = small_config(folder, {});
  config.output.format = OutputFormat::kParquet;
  expect_error(ExitCode::kUnavailable, {"fairlane_parquet.so", "no such file", "pyarrow"},
               [&] { run(config, options_with(1)); });
  EXPECT_FALSE(fs::exists(config.output.dir));
}

TEST(Instances, AFileWithOtherRowsThanAreListedIsNoticed) {
  TemporaryFolder const folder;
  for (OutputFormat const format : {OutputFormat::kCsv, OutputFormat::kNpy}) {
    SCOPED_TRACE(name_of(format));
    std::string const name = name_of(format);
    std::string const dir = folder.file(name);
    RunConfig config = to(small_config(folder, {}), dir);
    config.output.format = format;
    config.output.shard_rows = 5;
    run(config, options_with(1));
    auto const read_all = [&] {
      TestSubject const subject(config);
      InstanceFile file(dir, format, InstanceColumns(subject, config.output));
      InstanceBlock block;
      while (file.next(block)) {
      }
      file.require_listed_rows();
    };
    read_all();
    std::string index = slurp(dir + "/instances.json");
    std::size_t const second = index.find("\"rows\": 5", index.find("instances-00001")) + 8;
    ASSERT_EQ(index[second], '5');
    index[second] = '6';
    std::ofstream(dir + "/instances.json") << index;
    expect_error(ExitCode::kIntegrity,
                 {"instances-00001." + name, "has 5 rows, expected 6", "instances.json"}, read_all);
  }
}

TEST(Instances, AListThatIsGoneIsMissedWhereItWasWritten) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, {});
  std::string const dir = run_into(folder.file("out"), config, 1);
  EXPECT_TRUE(read_manifest(dir).lists_instances);
  require_instance_index(dir);
  fs::remove(dir + "/instances.json");
  expect_error(ExitCode::kIntegrity, {"instances.json: no such file", "manifest.json"},
               [&] { require_instance_index(dir); });
  fs::remove(dir + "/DONE");  // of a run that goes on, nothing is missed yet
  require_instance_index(dir);
  config.output.format = OutputFormat::kNone;
  EXPECT_FALSE(read_manifest(run_into(folder.file("none"), config, 1)).lists_instances);
}

TEST(Instances, ACountingListsInstancesWhereTheyAreWanted) {
  Json manifest = Json::parse(R"({"config": {"output": {"format": "csv", "columns": "all"}},
                                  "enumerate": {"instances": 0}})");
  EXPECT_FALSE(lists_instances(manifest));
  for (Json const& wanted : {Json(100), Json("all")}) {
    manifest["enumerate"]["instances"] = wanted;
    EXPECT_TRUE(lists_instances(manifest));
  }
  manifest["config"]["output"].erase("columns");  // from before there was a list
  EXPECT_FALSE(lists_instances(manifest));
}

TEST(Instances, AFileOfInstancesThatWasReplacedIsNoticed) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, {});
  config.output.columns = OutputColumns::kInputs;
  config.output.shard_rows = 5;
  run(config, options_with(1));
  // The order of what the digests are of is right, and yet they are of other files.
  std::string const index = slurp(config.output.dir + "/instances.json");
  std::string damaged = index;
  auto const digest = damaged.find("\"sha256\": \"") + 11;
  damaged[digest] = damaged[digest] == '0' ? '1' : '0';
  std::ofstream(config.output.dir + "/instances.json") << damaged;
  CheckResult const result = check_directory(config.output.dir);
  EXPECT_EQ(result.contradictions, 1);
  EXPECT_NE(result.failures.at(0).find("instances-00000.csv"), std::string::npos);
  std::ofstream(config.output.dir + "/instances.json") << index;
  fs::remove(config.output.dir + "/instances-00001.csv");
  expect_error(ExitCode::kIntegrity, {"instances-00001.csv", "instances.json lists"},
               [&] { check_directory(config.output.dir); });
  for (char const* name : {"../x", "instances-00001.csv", "instances.npy"}) {
    std::string other = index;
    other.replace(other.find("instances-00000.csv"), 19, name);
    std::ofstream(config.output.dir + "/instances.json") << other;
    expect_error(ExitCode::kData, {"instances.json", "expected instances-00000.csv"},
                 [&] { check_directory(config.output.dir); });
  }
}

}  // namespace
}  // namespace fairlane
