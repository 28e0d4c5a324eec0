#include "engine/count/enumerate.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/check/check.h"
#include "engine/results/run.h"
#include "tests/brute_counts.h"
#include "tests/engine/count/enumeration_output.h"
#include "tests/engine/search/run_search.h"
#include "tests/models/expect_error.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;

EnumerateOptions enumerate_on(int threads) {
  EnumerateOptions options;
  options.execution.backend = "cpu";
  options.execution.threads = threads;
  return options;
}

class Enumerate : public ::testing::TestWithParam<char const*> {
 protected:
  Enumerate() : config_(small_config(folder_, shape_of(GetParam()))) {}
  TemporaryFolder const folder_;
  RunConfig const config_;
};

TEST_P(Enumerate, CountsAndWritesWhatBruteForceFinds) {
  EnumerateOptions options = enumerate_on(2);
  options.instances.all = true;
  std::string const dir = folder_.file("all");
  enumerate(to(config_, dir), options);
  TestSubject const subject(config_);
  BruteCounts const brute = brute_counts(subject.view());
  auto const summary = without_timing(dir);
  EXPECT_EQ(summary["counts"]["unique_groups"], brute.discriminatory);
  EXPECT_EQ(summary["counts"]["unique_instances"], brute.instances);
  if (subject.constraints().empty()) {
    EXPECT_EQ(summary["counts"]["groups"], brute.groups);
    EXPECT_EQ(summary["undefined"], brute.undefined);
    EXPECT_EQ(summary["counts"]["undefined_groups"], brute.unknown);
    auto const possible = static_cast<double>(brute.discriminatory + brute.unknown);
    EXPECT_EQ(summary["group_rate_high"], possible / static_cast<double>(brute.groups));
    EXPECT_EQ(summary["success_rate_high"], possible / static_cast<double>(brute.groups));
  } else {
    // What is undefined does not exist, and everything else is known.
    std::int64_t const groups = brute.groups - brute.unknown;
    std::int64_t const inputs = brute.groups * subject.variants() - brute.undefined;
    EXPECT_EQ(summary["counts"]["groups"], groups);
    EXPECT_EQ(summary["counts"]["inputs"], inputs);
    EXPECT_EQ(summary["infeasible"], brute.undefined);
    EXPECT_EQ(summary["infeasible_groups"], brute.unknown);
    EXPECT_EQ(summary["undefined"], 0);
    EXPECT_EQ(summary["counts"]["undefined_groups"], 0);
    EXPECT_EQ(summary["group_rate_high"],
              static_cast<double>(brute.discriminatory) / static_cast<double>(groups));
    EXPECT_EQ(summary["success_rate_high"],
              static_cast<double>(brute.instances) / static_cast<double>(inputs));
  }
  EXPECT_EQ(summary["written"]["unique_instances"], brute.instances);
  CheckResult const checked = check_directory(dir);
  EXPECT_EQ(checked.instances, brute.instances);
  EXPECT_EQ(checked.failed, 0) << (checked.failures.empty() ? "" : checked.failures.front());
}

// An input is an IDI in one exactly when it is in the other.
TEST_P(Enumerate, HoldsWhatARunFinds) {
  EnumerateOptions options = enumerate_on(1);
  options.instances.all = true;
  std::string const all = folder_.file("all");
  enumerate(to(config_, all), options);
  RunConfig config = config_;
  config.method = "themis";
  if (shape_of(GetParam()).constraints.empty()) config.data.clear();  // else they are of the data
  config.global.num = 400;
  RunOptions run_options;
  run_options.execution.backend = "cpu";
  run_options.execution.threads = 1;
  Summary const found = run(to(config, folder_.file("run")), run_options);
  ASSERT_GT(found.found.unique_instances, 0);
  std::size_t const attributes = shape_of(GetParam()).ranges.size();
  auto const rows_of = [&](std::string const& dir) {
    std::set<std::string> rows;
    std::istringstream lines(slurp(dir + "/instances.csv"));
    for (std::string line; std::getline(lines, line);) {
      std::size_t end = 0;
      for (std::size_t a = 0; a < attributes; ++a) end = line.find(',', end + (a > 0 ? 1 : 0));
      rows.insert(line.substr(0, end));
    }
    return rows;
  };
  auto const every = rows_of(all);
  auto const some = rows_of(folder_.file("run"));
  EXPECT_GT(every.size(), some.size());
  EXPECT_TRUE(std::includes(every.begin(), every.end(), some.begin(), some.end()));
}

TEST_P(Enumerate, IsTheSameForAnyThreadsShardsAndInterruptions) {
  for (WantedInstances const wanted :
       {WantedInstances{}, WantedInstances{true, 0}, WantedInstances{false, 25}}) {
    SCOPED_TRACE(wanted.all ? "all" : std::to_string(wanted.sample));
    std::string const tag = wanted.all ? "all" : std::to_string(wanted.sample);
    EnumerateOptions options = enumerate_on(1);
    options.instances = wanted;
    std::string const one = folder_.file("one" + tag);
    enumerate(to(config_, one), options);

    EnumerateOptions three = enumerate_on(3);
    three.instances = wanted;
    enumerate(to(config_, folder_.file("three" + tag)), three);
    expect_same_output(one, folder_.file("three" + tag));

    constexpr int kShards = 7;
    EnumerateOptions merged = enumerate_on(2);
    merged.instances = wanted;
    for (int k = 1; k <= kShards; ++k) {
      EnumerateOptions shard = enumerate_on(2);
      shard.instances = wanted;
      shard.shard = {k, kShards};
      std::string const dir = folder_.file("shard" + tag + std::to_string(k));
      enumerate(to(config_, dir), shard);
      merged.merge.push_back(dir);
    }
    std::rotate(merged.merge.begin(), merged.merge.begin() + 3, merged.merge.end());
    enumerate(to(config_, folder_.file("merged" + tag)), merged);
    expect_same_output(one, folder_.file("merged" + tag));

    merged.merge[2] = merged.merge[1];
    expect_error(ExitCode::kUsage, {"which another directory holds too"},
                 [&] { enumerate(to(config_, folder_.file("twice")), merged); });
    merged.merge.pop_back();
    expect_error(ExitCode::kIntegrity, {"shard K/6"},
                 [&] { enumerate(to(config_, folder_.file("less")), merged); });
  }
}

INSTANTIATE_TEST_SUITE_P(Subjects, Enumerate,
                         ::testing::Values("one output", "several outputs", "many variants",
                                           "undefined members", "constrained", "many undefined",
                                           "many constrained"),
                         name_of_kind);

/// A domain large enough for several slices, interrupted after each of them, with less memory than
/// the groups of all IDIs take.
void expect_to_go_on(WantedInstances const& wanted) {
  TemporaryFolder const folder;
  SmallShape shape;
  shape.ranges = {4, 9, 8, 9, 3, 11, 5, 5, 3};
  shape.seed = 3;  // one input in seven is an IDI
  RunConfig const config = small_config(folder, shape);
  EnumerateOptions options = enumerate_on(1);
  options.instances = wanted;
  auto const summary = nlohmann::json::parse(enumerate(to(config, folder.file("once")), options));
  options.execution.memory = std::uint64_t{1} << 17;
  EXPECT_GT(summary["counts"]["unique_groups"].get<std::uint64_t>() * sizeof(std::int64_t),
            4 * options.execution.memory);

  std::atomic<bool> stop{true};
  int stops = 0;
  options.stop = &stop;
  constexpr int kMostStops = 100000;
  for (; stops < kMostStops; ++stops) {
    // Stopped at the next opportunity, which the first slice comes before.
    try {
      enumerate(to(config, folder.file("often")), options);
      break;
    } catch (Error const& e) {
      ASSERT_EQ(e.code(), ExitCode::kStopped) << e.what();
      EXPECT_TRUE(fs::exists(folder.file("often") + "/.partial/state"));
    }
  }
  EXPECT_GT(stops, 0);
  EXPECT_LT(stops, kMostStops);
  expect_same_output(folder.file("once"), folder.file("often"));
}

TEST(EnumerateBig, GoesOnWithASampleWhereItWasStopped) { expect_to_go_on({false, 100}); }

TEST(EnumerateBig, GoesOnWithAllIdisWhereItWasStopped) { expect_to_go_on({true, 0}); }

TEST(EnumerateBig, CountsHalfAMillionInputs) {
  TemporaryFolder const folder;
  for (char const* kind : {"one output", "several outputs"}) {
    SCOPED_TRACE(kind);
    SmallShape shape = shape_of(kind);
    shape.ranges = {4, 9, 8, 9, 3, 11, 6};
    RunConfig const config = small_config(folder, shape);
    TestSubject const subject(config);
    naive::Reference<naive::Float> const reference(subject.view());
    std::map<naive::Row, std::vector<std::int32_t>> groups;  // labels by non-protected part
    naive::Row row(subject.view().low.begin(), subject.view().low.end());
    for (bool more = true; more;) {
      naive::Row group = row;
      for (std::int32_t const s : shape.selected) group[static_cast<std::size_t>(s)] = 0;
      groups[group].push_back(reference.label(row));
      more = false;
      for (std::size_t a = row.size(); a-- > 0 && !more;) {
        more = row[a] < subject.view().high[a];
        row[a] = more ? row[a] + 1 : subject.view().low[a];
      }
    }
    std::int64_t discriminatory = 0;
    for (auto const& [group, labels] : groups) discriminatory += differ(labels) ? 1 : 0;
    auto const summary = nlohmann::json::parse(
        enumerate(to(config, folder.file(name_of_kind({kind, 0}))), enumerate_on(2)));
    EXPECT_EQ(summary["counts"]["inputs"], 513'216);
    EXPECT_EQ(summary["counts"]["unique_groups"], discriminatory);
    EXPECT_EQ(summary["counts"]["unique_instances"], discriminatory * subject.variants());
  }
}

TEST(EnumerateBig, RefusesWhatWouldTakeTooLong) {
  TemporaryFolder const folder;
  SmallShape shape;
  shape.ranges.assign(19, 9);
  RunConfig const config = small_config(folder, shape);
  EnumerateOptions options = enumerate_on(2);
  expect_error(ExitCode::kConfig,
               {"would take about", " years here", "24.0 h are given", "fairlane estimate"},
               [&] { enumerate(config, options); });
  EXPECT_FALSE(fs::exists(config.output.dir + "/summary.json"));
  shape.ranges.assign(30, 9);
  RunConfig const huge = small_config(folder, shape);
  expect_error(ExitCode::kUnavailable, {"more than 2^62 inputs"},
               [&] { enumerate(huge, options); });
}

TEST(EnumerateBig, SaysWhatIsWrongWithARegion) {
  TemporaryFolder const folder;
  RunConfig const config = small_config(folder, {});
  struct Bad {
    Region region;
    std::string first;
    std::string second;
  };
  std::vector<Bad> const cases = {{{{{"a9", 0, 1}}, {}, false}, "'a9'", "no attribute"},
                                  {{{{"a1", 5, 9}}, {}, false}, "a1=5..9", "-1..3"},
                                  {{{{"a1", 2, 1}}, {}, false}, "a1=2..1", "no part"},
                                  {{{{"a0", -2, -1}}, {}, false}, "'a0'", "under test"},
                                  {{{}, {{"a1"}, {"a1", "a2"}}, false}, "'a1'", "twice"},
                                  {{{}, {{"a1"}}, true}, "--tuple", "--rows"}};
  for (auto const& bad : cases) {
    EnumerateOptions options = enumerate_on(1);
    options.region = bad.region;
    expect_error(ExitCode::kUsage, {bad.first, bad.second}, [&] { enumerate(config, options); });
  }
  RunConfig without = config;
  without.data.clear();
  EnumerateOptions options = enumerate_on(1);
  options.region.rows = true;
  expect_error(ExitCode::kUsage, {"--rows", "no `data`"}, [&] { enumerate(without, options); });
}

TEST(Recall, IsTheShareOfWhatThereIs) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, {});
  std::string const all = folder.file("all");
  enumerate(to(config, all), enumerate_on(1));
  TestSubject const subject(config);
  BruteCounts const brute = brute_counts(subject.view());
  RunOptions options;
  options.execution.backend = "cpu";
  options.against = all;
  Summary const found = run(to(config, folder.file("run")), options);
  auto const recall = without_timing(folder.file("run"))["recall"];
  ASSERT_GT(found.found.unique_instances, 0);
  EXPECT_EQ(recall["instances"], static_cast<double>(found.found.unique_instances) /
                                     static_cast<double>(brute.instances));
  EXPECT_EQ(recall["groups"], static_cast<double>(found.found.unique_groups) /
                                  static_cast<double>(brute.discriminatory));

  RunConfig other = config;
  other.threshold = 0.6;
  expect_error(ExitCode::kUsage, {"--against", "another model"},
               [&] { run(to(other, folder.file("other")), options); });
  EnumerateOptions part = enumerate_on(1);
  part.region.ranges = {{"a1", 0, 1}};
  enumerate(to(config, folder.file("part")), part);
  options.against = folder.file("part");
  expect_error(ExitCode::kUsage, {"--against", "part of the domain"},
               [&] { run(to(config, folder.file("another")), options); });
  options.against = folder.file("run");
  expect_error(ExitCode::kUsage, {"--against", "no enumeration"},
               [&] { run(to(config, folder.file("third")), options); });
}

}  // namespace
}  // namespace fairlane
