// instances.words.csv: what the codes' files hold, in the domain's words.
#include "engine/results/instance_words.h"

#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "base/text.h"
#include "engine/check/check.h"
#include "engine/count/enumerate.h"
#include "engine/results/run.h"
#include "engine/tables/parquet_plugin_api.h"
#include "models/data/domain_yaml.h"
#include "tests/engine/results/run_output.h"
#include "tests/engine/search/small_subject.h"
#include "tests/models/expect_error.h"
#include "tests/plugin_dir.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> cells_of_line(std::string const& line) {
  std::vector<std::string> cells;
  std::istringstream text(line);
  for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
  return cells;
}

/// The small subject whose domain has words: some of them need quotes, one is the number of another
/// code, and one attribute has none.
class WordsOfInstances : public ::testing::Test {
 protected:
  WordsOfInstances()
      : config_(small_config(folder_, {})), domain_(read_domain_yaml(config_.domain)) {
    auto& a = domain_.attributes;
    a[0].categories = {"plain", "with, comma", "with \"quotes\"", "1"};
    a[1].categories = {"a", "b", "c", "d", "e, f"};
    a[5].bins = {0, 10, 20, 30, 40, 50, 60, 70};
    domain_.labels = {{"no, never", 0}, {"yes", 1}, {"aye", 1}};
    folder_.write("domain.yaml", format_domain_yaml(domain_));
    domain_ = read_domain_yaml(config_.domain);
  }

  /// What a CSV in codes is in words, by the domain alone.
  std::string in_words(std::string const& codes) const {
    std::istringstream lines(codes);
    std::string line;
    std::getline(lines, line);
    std::vector<std::string> const names = cells_of_line(line);
    std::string words = line + "\n";
    while (std::getline(lines, line)) {
      std::vector<std::string> cells = cells_of_line(line);
      for (std::size_t i = 0; i < cells.size(); ++i) {
        std::string name = names[i];
        if (name == "label" || name == "pair_label") {
          cells[i] = domain_.label_word(std::stoi(cells[i]));
          continue;
        }
        if (name.starts_with("pair_a")) name = name.substr(std::string("pair_").size());
        int const attribute = domain_.find(name);
        if (attribute < 0) continue;
        cells[i] =
            domain_.attributes[static_cast<std::size_t>(attribute)].word(std::stoi(cells[i]));
      }
      words += csv_line(cells);
    }
    return words;
  }

  std::string run_in(std::string const& name, RunConfig config, int threads) const {
    return run_into(folder_.file(name), std::move(config), threads);
  }
  static std::string words_in(std::string const& dir) { return slurp(dir + "/" + kInstanceWords); }

  TemporaryFolder const folder_;
  RunConfig config_;
  Domain domain_;
};

TEST_F(WordsOfInstances, AreTheCodesOfARun) {
  for (OutputColumns const columns :
       {OutputColumns::kAll, OutputColumns::kLabels, OutputColumns::kInputs}) {
    SCOPED_TRACE(name_of(columns));
    RunConfig config = config_;
    config.output.columns = columns;
    std::string const name(name_of(columns));
    std::string const plain = run_in(name + "-plain", config, 1);
    EXPECT_FALSE(fs::exists(plain + "/" + kInstanceWords));
    std::string const codes = slurp(plain + "/instances.csv");
    std::string const expected = in_words(codes);
    for (char const* part :
         {"\n\"with, comma\",", "\n\"with \"\"quotes\"\"\",", "\n1,", "\"e, f\","})
      EXPECT_NE(expected.find(part), std::string::npos) << part;
    if (columns != OutputColumns::kInputs) {
      EXPECT_NE(expected.find(",\"no, never\",yes"), std::string::npos);
    }
    config.output.words = true;
    std::string const csv = run_in(name + "-csv", config, 1);
    EXPECT_EQ(words_in(csv), expected);
    EXPECT_EQ(slurp(csv + "/instances.csv"), codes);
    EXPECT_EQ(slurp(csv + "/instances.json"), slurp(plain + "/instances.json"));
    // Many batches by several threads, since none goes to two files.
    config.output.shard_rows = 7;
    EXPECT_EQ(words_in(run_in(name + "-shards", config, 3)), expected);
    config.output.format = OutputFormat::kNpy;
    std::string const npy = run_in(name + "-npy", config, 2);
    EXPECT_EQ(words_in(npy), expected);
    CheckResult const result = check_directory(npy);
    EXPECT_EQ(result.failed, 0) << (result.failures.empty() ? "" : result.failures[0]);
  }
}

TEST_F(WordsOfInstances, AreBesideParquetToo) {
  if (!fs::exists(built_plugin() + "/" + kParquetPluginFile))
    GTEST_SKIP() << "this build has no Parquet plug-in (FAIRLANE_ARROW)";
  PluginDir const built(built_plugin());
  std::string const plain = run_in("plain", config_, 1);
  config_.output.words = true;
  config_.output.format = OutputFormat::kParquet;
  config_.output.shard_rows = 20;
  EXPECT_EQ(words_in(run_in("parquet", config_, 2)), in_words(slurp(plain + "/instances.csv")));
}

TEST_F(WordsOfInstances, AreTheCodesOfAnEnumeration) {
  EnumerateOptions options;
  options.execution.backend = "cpu";
  options.execution.threads = 2;
  options.instances.all = true;
  RunConfig config = to(config_, folder_.file("all"));
  config.output.words = true;
  enumerate(config, options);
  std::string const expected = in_words(slurp(config.output.dir + "/instances.csv"));
  EXPECT_EQ(words_in(config.output.dir), expected);
  config.output.format = OutputFormat::kNpy;
  std::vector<std::string> shards;
  for (std::int64_t const index : {1, 2}) {
    options.shard = {index, 2};
    shards.push_back(folder_.file("shard" + std::to_string(index)));
    enumerate(to(config, shards.back()), options);
  }
  std::string const header = expected.substr(0, expected.find('\n') + 1);
  EXPECT_GT(words_in(shards[0]).size(), header.size());
  EXPECT_LT(words_in(shards[0]).size(), expected.size());
  options.shard = {};
  options.merge = shards;
  enumerate(to(config, folder_.file("merged")), options);
  EXPECT_EQ(words_in(folder_.file("merged")), expected);
}

TEST_F(WordsOfInstances, GoWithTheRunThatWroteThem) {
  RunConfig config = config_;
  config.output.words = true;
  std::string const dir = run_in("out", config, 1);
  ASSERT_TRUE(fs::exists(dir + "/" + kInstanceWords));
  config.output.words = false;
  RunOptions replacing = options_with(1);
  replacing.overwrite = true;
  run(to(config, dir), replacing);
  EXPECT_FALSE(fs::exists(dir + "/" + kInstanceWords));
}

TEST_F(WordsOfInstances, OfFindingsThatAreNotWrittenAreRefused) {
  config_.output.words = true;
  config_.output.format = OutputFormat::kNone;
  auto const refused = [&](auto const& command) {
    expect_error(ExitCode::kConfig, {"output.words", "output.format is none", "csv, npy"}, command);
    EXPECT_FALSE(fs::exists(config_.output.dir));
  };
  refused([&] { run(config_, options_with(1)); });
  EnumerateOptions options;
  options.instances.sample = 3;
  refused([&] { enumerate(config_, options); });
}

// Whatever the domain says of a code, its word is that of the domain.
TEST(InstanceWords, AreThoseOfTheDomain) {
  Domain domain;
  Attribute few;
  few.name = "few";
  few.values = {1, 4, 7};
  few.categories = {"one", "four", "se,ven"};
  Attribute open;  // bounds that the data would settle
  open.name = "open";
  open.categories = {"low", "high"};
  Attribute huge;
  huge.name = "huge";
  huge.low = std::numeric_limits<std::int32_t>::min();
  huge.high = std::numeric_limits<std::int32_t>::max();
  domain.attributes = {few, open, huge};
  domain.labels = {{"no", 0}, {"never", 0}, {"\"odd\"", 7}};
  std::vector<std::int32_t> const selected = {0, 2};
  InstanceColumns const columns(domain, selected, OutputConfig{});
  InstanceWords const words(domain, selected, columns);
  std::vector<std::int32_t> const row = {7, 1, *huge.low};
  std::vector<std::int32_t> const pair = {5, *huge.high};  // 5 may not occur
  InstanceRecord record;
  record.row = row.data();
  record.pair = pair.data();
  record.label = 7;
  record.pair_label = 1;
  record.score = 1e-4F;
  record.pair_score = 0.1F;
  record.finder = Finder::pack(Phase::kLocal, 4294967295U, 3);
  std::string bytes = "before\n";
  words.append_line(bytes, record);
  EXPECT_EQ(bytes,
            "before\n\"se,ven\"," + open.word(1) +
                ",-2147483648,5,2147483647,\"\"\"odd\"\"\",1,1e-04,0.1,local,4294967295,3\n");
  record.label = 0;
  bytes.clear();
  words.append_line(bytes, record);
  EXPECT_NE(bytes.find(",no,1,"), std::string::npos) << bytes;
}

}  // namespace
}  // namespace fairlane
