// The label that voters give, beside each finding.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "engine/check/check.h"
#include "engine/count/enumerate.h"
#include "engine/results/instances_reader.h"
#include "engine/tables/parquet.h"
#include "models/train/forest.h"
#include "tests/engine/learning/ruled_table.h"
#include "tests/engine/results/run_output.h"
#include "tests/models/expect_error.h"
#include "tests/plugin_dir.h"

namespace fairlane {
namespace {

#define FL_NEED_ELECTORATE(dir) \
  FL_NEED_TORCH(dir);           \
  if (!has_forest()) GTEST_SKIP() << "this plug-in was built without OpenCV (libopencv-ml-dev)"

struct Voted {
  std::vector<std::int32_t> rows;
  Votes votes;
};

Voted read_votes(RunConfig const& config) {
  TestSubject const subject(config);
  InstanceFile file(config.output.dir, config.output.format,
                    InstanceColumns(subject, config.output));
  Voted voted;
  InstanceBlock block;
  while (file.next(block)) {
    file.parse(
        block,
        [&](std::int64_t, InstanceRecord const& record) {
          voted.rows.insert(voted.rows.end(), record.row, record.row + 3);
          voted.votes.labels.push_back(record.voted_label);
          voted.votes.shares.push_back(record.vote);
        },
        [](std::int64_t, char const* what) { ADD_FAILURE() << what; });
  }
  return voted;
}

TEST(InstanceVotes, AreTheElectoratesInEveryFormat) {
  FL_NEED_ELECTORATE(dir);
  RuledTable const ruled;
  Electorate const electorate = table_electorate(ruled.config, *ruled.subject, nullptr);
  std::vector<OutputFormat> formats = {OutputFormat::kCsv, OutputFormat::kNpy};
  if (std::ifstream(built_plugin() + "/" + kParquetPluginFile))
    formats.push_back(OutputFormat::kParquet);
  for (OutputColumns const columns :
       {OutputColumns::kAll, OutputColumns::kLabels, OutputColumns::kInputs}) {
    RunConfig config = ruled.config;
    config.output.columns = columns;
    std::string const plain = ruled.small.file(std::string("plain-") + name_of(columns));
    Summary const without = run(to(config, plain), options_with(1));
    for (OutputFormat const format : formats) {
      for (Vote const vote : {Vote::kHard, Vote::kSoft}) {
        std::string const name =
            std::string(name_of(columns)) + "-" + name_of(format) + "-" + name_of(vote);
        SCOPED_TRACE(name);
        config = to(config, ruled.small.file(name));
        config.output.format = format;
        config.output.vote = vote;
        config.output.shard_rows = 5;
        Summary const summary = run(config, options_with(2));
        EXPECT_EQ(summary.signature, without.signature);
        Voted const voted = read_votes(config);
        ASSERT_EQ(voted.votes.labels.size(), 12U);
        Votes const expected = electorate.vote(voted.rows, vote);
        EXPECT_EQ(voted.votes.labels, expected.labels);
        EXPECT_EQ(voted.votes.shares, expected.shares);
        CheckResult const checked = check_directory(config.output.dir);
        EXPECT_EQ(checked.failed, 0) << (checked.failures.empty() ? "" : checked.failures[0]);
        EXPECT_EQ(checked.instances, 12);
        auto const index = nlohmann::json::parse(slurp(config.output.dir + "/instances.json"));
        EXPECT_EQ(index.at("voters").size(), 5U);
        EXPECT_EQ(index.at("columns").back().at("holds"), "vote");
      }
    }
  }
}

TEST(InstanceVotes, StandBesideWhatEnumerateWrites) {
  FL_NEED_ELECTORATE(dir);
  RuledTable const ruled;
  RunConfig config = ruled.config;
  config.output.columns = OutputColumns::kInputs;
  config.output.vote = Vote::kHard;
  EnumerateOptions options;
  options.instances.all = true;
  enumerate(config, options);
  Voted const voted = read_votes(config);
  Electorate const electorate = table_electorate(ruled.config, *ruled.subject, nullptr);
  EXPECT_EQ(voted.votes.labels, electorate.vote(voted.rows, Vote::kHard).labels);
  ASSERT_EQ(voted.votes.labels.size(), 12U);
}

TEST(InstanceVotes, AreWordsWhereTheRestIs) {
  FL_NEED_ELECTORATE(dir);
  RuledTable const ruled("", "labels: {\"turned down\": 0, hired: 1}\n");
  RunConfig config = ruled.config;
  config.output.words = true;
  config.output.vote = Vote::kHard;
  run(config, options_with(1));
  std::string const text = slurp(config.output.dir + "/instances.words.csv");
  std::string const header = text.substr(0, text.find('\n'));
  EXPECT_TRUE(header.ends_with(",iteration,voted_label,vote")) << header;
  std::string const line = text.substr(text.find('\n') + 1, text.find('\n', text.find('\n') + 1));
  EXPECT_TRUE(line.find("turned down,") != std::string::npos ||
              line.find("hired,") != std::string::npos)
      << line;
}

TEST(InstanceVotes, ThatAreNoneAreFoundByCheck) {
  FL_NEED_ELECTORATE(dir);
  RuledTable const ruled;
  RunConfig config = ruled.config;
  config.output.vote = Vote::kHard;
  run(config, options_with(1));
  std::string const path = config.output.dir + "/instances.csv";
  std::string const text = slurp(path);
  std::size_t const end = text.find('\n', text.find('\n') + 1);
  std::size_t const vote = text.rfind(',', end);
  std::size_t const label = text.rfind(',', vote - 1);
  for (auto const& [cells, what] :
       std::vector<std::pair<std::string, std::string>>{{",2,0.6", "voted_label 2 is none of 2"},
                                                        {",1,0", "vote is 0"},
                                                        {",1,1.5", "vote is 1.5"},
                                                        {",1,x", "a vote is no number"}}) {
    std::ofstream(path) << text.substr(0, label) << cells << text.substr(end);
    CheckResult const checked = check_directory(config.output.dir);
    ASSERT_FALSE(checked.failures.empty());
    EXPECT_NE(checked.failures[0].find(what), std::string::npos) << checked.failures[0];
  }
}

TEST(InstanceVotes, NeedATableAndFindingsThatAreWritten) {
  RuledTable const ruled;
  RunConfig config = ruled.config;
  config.output.vote = Vote::kSoft;
  config.output.format = OutputFormat::kNone;
  expect_error(ExitCode::kConfig, {"output.vote", "output.format is none", "output.vote null"},
               [&] { run(config, options_with(1)); });
  config.output.format = OutputFormat::kCsv;
  config.data.clear();
  expect_error(ExitCode::kConfig, {"output.vote", "names no `data`", "voters learn from"},
               [&] { run(config, options_with(1)); });
}

TEST(InstanceVotes, NeedLibTorchBeforeTheSearch) {
  RuledTable const ruled;
  PluginDir const nowhere(ruled.small.file("nowhere"));
  RunConfig config = ruled.config;
  config.output.vote = Vote::kSoft;
  expect_error(ExitCode::kUnavailable, {"LibTorch"}, [&] { run(config, options_with(1)); });
}

}  // namespace
}  // namespace fairlane
