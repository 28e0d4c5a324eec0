// Symbolic generation against a plain sequential program, and however it is executed.
#include "engine/search/symbolic/symbolic_search.h"
#include "engine/check/check.h"

#include <gtest/gtest.h>

#include <set>

#include "engine/results/manifest.h"
#include "tests/benchmarks.h"
#include "tests/engine/results/run_output.h"
#include "tests/engine/search/run_search.h"
#include "tests/engine/search/symbolic/symbolic_reference.h"

namespace fairlane {
namespace {

/// A quick run of the method on a small subject.
RunConfig symbolic_config(TemporaryFolder const& folder, SmallShape const& shape, int rows = 60) {
  RunConfig config = small_config(folder, shape, rows);
  config.method = "sg";
  config.sg.samples = 40;
  return config;
}

Row test_row(Finished const& found, std::size_t test) {
  auto const width = found.result.last_rows.size() / found.result.global.size();
  auto const first = found.result.last_rows.begin() + static_cast<std::ptrdiff_t>(test * width);
  return Row(first, first + static_cast<std::ptrdiff_t>(width));
}

void expect_prefix(Finished const& part, Finished const& whole) {
  ASSERT_LE(part.result.last_rows.size(), whole.result.last_rows.size());
  EXPECT_TRUE(std::equal(part.result.last_rows.begin(), part.result.last_rows.end(),
                         whole.result.last_rows.begin()));
  for (auto const& [row, entry] : part.entries) {
    auto const at = whole.entries.find(row);
    ASSERT_NE(at, whole.entries.end());
    EXPECT_EQ(at->second, entry);
  }
}

class Symbolic : public ::testing::TestWithParam<char const*> {};

TEST_P(Symbolic, OneAtATimeIsTheSequentialProgram) {
  TemporaryFolder const folder;
  RunConfig config = symbolic_config(folder, shape_of(GetParam()), 20);
  config.global.num = 30;
  std::int64_t directed = 0;
  for (int const way : {0, 1, 2, 3, 4, 5, 6}) {
    SCOPED_TRACE(way);
    config.sg.neighbours = way == 1 ? Neighbours::kLocal : Neighbours::kMarginal;
    config.sg.solver = way == 2 ? ToggleSolver::kLowest : ToggleSolver::kSticky;
    config.sg.t2.reset();
    if (way == 3) config.sg.t2 = 0.4;
    config.local.num = way == 4 ? 0 : 1;
    config.sg.order = way == 5   ? QueueOrder::kConfidence
                      : way == 6 ? QueueOrder::kProgram
                                 : QueueOrder::kLeaf;
    config.sg.frontier = 1;
    TestSubject const subject(config);
    auto const expected = naive::SymbolicReference(config, subject).run();
    Finished const found = run_search(config, subject, {.threads = 2});
    ASSERT_EQ(found.result.counts.iterations, static_cast<std::int64_t>(expected.size()));
    EXPECT_EQ(found.entries.size(), expected.size()) << "all are different inputs";
    for (std::size_t i = 0; i < expected.size(); ++i) {
      SCOPED_TRACE(i);
      auto const& test = expected[i];
      ASSERT_EQ(test_row(found, i), test.row);
      EXPECT_EQ(found.result.global[i].found, test.found);
      auto const entry = found.entries.find(test.row);
      ASSERT_NE(entry, found.entries.end());
      EXPECT_EQ((entry->second.state & kVisitHit) != 0, test.found);
      Phase const phase = test.directed ? Phase::kLocal : Phase::kGlobal;
      EXPECT_EQ(entry->second.finder, Finder::pack(phase, static_cast<std::uint32_t>(i), 1));
      directed += test.directed ? 1 : 0;
    }
    auto const& counts = found.result.counts;
    EXPECT_EQ(counts.global_seeds,
              std::count_if(expected.begin(), expected.end(), [](auto& t) { return !t.directed; }));
    EXPECT_EQ(counts.global_found, std::count_if(expected.begin(), expected.end(),
                                                 [](auto& t) { return t.found && !t.directed; }));
    EXPECT_EQ(counts.model_evaluations,
              counts.iterations * (subject.variants() + config.sg.samples));
  }
  EXPECT_GT(directed, 20);
}

TEST_P(Symbolic, IsTheSameHoweverItIsExecuted) {
  TemporaryFolder const folder;
  RunConfig config = symbolic_config(folder, shape_of(GetParam()));
  config.global.num = 80;
  for (Surrogate const surrogate : {Surrogate::kPerInstance, Surrogate::kCached}) {
    for (int const frontier : {1, 16}) {
      SCOPED_TRACE(frontier);
      config.sg.frontier = frontier;
      config.sg.surrogate = surrogate;
      TestSubject const subject(config);
      Finished const first = run_search(config, subject, {});
      EXPECT_GT(first.hits(), 0);
      std::vector<How> ways = {{.threads = 3, .batch = 7, .isa = "portable"}, {.threads = 2}};
      if (surrogate == Surrogate::kPerInstance && frontier > 1) ways = executions();
      for (auto const& how : ways) {
        SCOPED_TRACE(describe(how));
        expect_same(first, run_search(config, subject, how));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Symbolic,
                         ::testing::Values("one output", "several outputs", "wide domain",
                                           "undefined"),
                         name_of_kind);

TEST(SymbolicSearch, OneSurrogateForAllCostsOneSample) {
  TemporaryFolder const folder;
  RunConfig config = symbolic_config(folder, {});
  config.sg.surrogate = Surrogate::kCached;
  TestSubject const subject(config);
  Finished const found = run_search(config, subject, {});
  EXPECT_GT(found.result.counts.iterations, 1);
  EXPECT_EQ(found.result.counts.model_evaluations,
            found.result.counts.iterations * subject.variants() + config.sg.samples);
}

// Without a second class there are no predicates: every seed is a dead end.
TEST(SymbolicSearch, OneClassTestsTheSeedsAndEnds) {
  TemporaryFolder const folder;
  SmallShape shape;
  shape.deviation = 0.1F;
  RunConfig config = symbolic_config(folder, shape, 30);
  config.threshold = 0.9999999;
  for (int const frontier : {1, 8}) {
    config.sg.frontier = frontier;
    TestSubject const subject(config);
    Finished const found = run_search(config, subject, {});
    std::set<Row> profiles;
    auto const width = subject.view().low.size();
    auto const& rows = subject.data()->rows;
    for (std::size_t i = 0; i < rows.size(); i += width) {
      Row row(rows.begin() + static_cast<std::ptrdiff_t>(i),
              rows.begin() + static_cast<std::ptrdiff_t>(i + width));
      for (std::int32_t const s : subject.selected()) row[static_cast<std::size_t>(s)] = 0;
      profiles.insert(row);
    }
    EXPECT_EQ(found.result.counts.iterations, static_cast<std::int64_t>(profiles.size()));
    EXPECT_EQ(found.hits(), 0);
    EXPECT_STREQ(found.result.cut.reason, "");
  }
}

TEST(SymbolicSearch, ATinyDomainIsExhausted) {
  TemporaryFolder const folder;
  SmallShape shape;
  shape.ranges = {3, 2, 4};
  shape.selected = {1};
  shape.widths = {6, 1};
  for (std::uint32_t const seed : {1U, 2U, 3U}) {
    shape.seed = seed;
    RunConfig config = symbolic_config(folder, shape, 6);
    config.global.num = 1000;
    config.sg.samples = 200;
    for (int const frontier : {1, 64}) {
      config.sg.frontier = frontier;
      TestSubject const subject(config);
      Finished const found = run_search(config, subject, {});
      std::set<Row> profiles;
      for (auto const& [row, entry] : found.entries) profiles.insert({row[0], row[2]});
      EXPECT_EQ(profiles.size(), found.entries.size()) << "no profile twice";
      EXPECT_LE(found.entries.size(), 12U);
      EXPECT_GE(found.entries.size(), 6U) << "more than the seeds' profiles";
      EXPECT_STREQ(found.result.cut.reason, "");
    }
  }
}

// A queue looks at the order of its seeds, so they are dealt cluster by cluster also where every
// row is one.
TEST(SymbolicSearch, SeedsOfAShortTableAreDealtToo) {
  TemporaryFolder const folder;
  RunConfig config = symbolic_config(folder, {}, 60);
  config.global.num = 1000;
  for (QueueOrder const order : {QueueOrder::kLeaf, QueueOrder::kProgram}) {
    config.sg.order = order;
    TestSubject const subject(config);
    SeedSource const seeds(config, find_method("sg"), subject);
    auto const& rows = subject.data()->rows;
    std::vector<std::int32_t> dealt(rows.size());
    ASSERT_EQ(seeds.count(), subject.data()->count());
    seeds.rows(0, seeds.count(), dealt.data());
    EXPECT_EQ(dealt == rows, order == QueueOrder::kProgram);
    std::multiset<Row> all[2];
    auto const width = static_cast<std::ptrdiff_t>(subject.view().low.size());
    for (auto at = rows.begin(); at != rows.end(); at += width) all[0].emplace(at, at + width);
    for (auto at = dealt.begin(); at != dealt.end(); at += width) all[1].emplace(at, at + width);
    EXPECT_EQ(all[0], all[1]);
  }
}

TEST(SymbolicSearch, NeedsNoTable) {
  TemporaryFolder const folder;
  RunConfig config = symbolic_config(folder, {});
  config.data.clear();
  config.global.num = 50;
  TestSubject const subject(config);
  EXPECT_EQ(run_search(config, subject, {}).result.counts.iterations, 50);
}

TEST(SymbolicSearch, BudgetsCutTheSameSequence) {
  TemporaryFolder const folder;
  RunConfig config = symbolic_config(folder, {});
  config.global.num = 90;
  for (int const frontier : {1, 7, 64}) {
    SCOPED_TRACE(frontier);
    config.sg.frontier = frontier;
    config.budget = {};
    TestSubject const subject(config);
    Finished const whole = run_search(config, subject, {});
    ASSERT_EQ(whole.result.counts.iterations, 90);
    for (std::int64_t const limit : {1, 20, 64, 89}) {
      config.budget = {};
      config.budget.iterations = limit;
      Finished const tests = run_search(config, subject, {});
      EXPECT_EQ(tests.result.counts.iterations, limit);
      EXPECT_STREQ(tests.result.cut.reason, "iterations");
      expect_prefix(tests, whole);
      config.budget = {};
      How how;
      how.replay = Cut{};
      how.replay->global_seeds = limit;
      how.replay->reason = "seconds";
      Finished const again = run_search(config, subject, how);
      EXPECT_EQ(again.result.counts.iterations, limit);
      EXPECT_STREQ(again.result.cut.reason, "seconds");
      expect_prefix(again, whole);
    }
    for (std::int64_t const limit : {std::int64_t{1}, std::int64_t{5}, whole.hits() - 1}) {
      config.budget = {};
      config.budget.instances = limit;
      Finished const found = run_search(config, subject, {.threads = 2, .batch = 3});
      EXPECT_EQ(found.hits(), limit);
      EXPECT_STREQ(found.result.cut.reason, "instances");
      EXPECT_TRUE(found.result.global.back().found) << "ends with the last one";
      expect_prefix(found, whole);
    }
    config.budget = {};
    config.budget.seconds = 1e-9;
    Finished const none = run_search(config, subject, {});
    EXPECT_EQ(none.result.counts.iterations, 0);
    EXPECT_STREQ(none.result.cut.reason, "seconds");
    config.budget = {};
    config.budget.seeds = 2;
    EXPECT_LE(run_search(config, subject, {}).result.counts.iterations, 90);
  }
}

// A record without room: what it cannot hold goes to the findings, and nothing is tested twice all
// the same.
TEST(SymbolicSearch, NeedsNoRecord) {
  TemporaryFolder const folder;
  RunConfig config = symbolic_config(folder, {});
  TestSubject const subject(config);
  expect_same(run_search(config, subject, {}), run_search(config, subject, {1, 0, "", 1, {}}));
}

// What was asked for is part of the manifest, and running it again is the same run.
TEST(SymbolicSearch, ARunIsAFunctionOfItsManifest) {
  TemporaryFolder const folder;
  RunConfig config = symbolic_config(folder, {});
  config.sg.t1 = 0.25;
  config.sg.t2 = 0.5;
  config.sg.frontier = 3;
  config.sg.neighbours = Neighbours::kLocal;
  config.sg.solver = ToggleSolver::kLowest;
  config.sg.order = QueueOrder::kConfidence;
  config.output.trace = true;
  Summary const first = run(config, options_with(2));
  ASSERT_TRUE(first.path_coverage.has_value());
  EXPECT_GT(first.path_coverage->covered, 1);
  EXPECT_LE(first.path_coverage->covered, first.path_coverage->paths);
  EXPECT_EQ(first.found.unique_generated, first.search.iterations);
  EXPECT_EQ(first.found.unique_groups, first.found.unique_instances) << "no profile twice";
  RunConfig again = read_manifest(config.output.dir).config;
  EXPECT_EQ(again.sg.t1, 0.25);
  EXPECT_EQ(again.sg.t2, 0.5);
  EXPECT_EQ(again.sg.samples, config.sg.samples);
  EXPECT_EQ(again.sg.frontier, 3);
  EXPECT_EQ(again.sg.surrogate, Surrogate::kPerInstance);
  EXPECT_EQ(again.sg.neighbours, Neighbours::kLocal);
  EXPECT_EQ(again.sg.solver, ToggleSolver::kLowest);
  EXPECT_EQ(again.sg.order, QueueOrder::kConfidence);
  again.output.dir = folder.file("again");
  run(again, options_with(1));
  expect_same_output(config.output.dir, again.output.dir);
  EXPECT_EQ(check_directory(config.output.dir).failed, 0);
}

// A search that reaches every input takes every path.
TEST(SymbolicSearch, PathCoverageIsThereForOtherMethods) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, {}, 200);
  config.method = "themis";
  config.global.num = 1'000'000;
  EXPECT_FALSE(run(to(config, folder.file("without")), options_with(1)).path_coverage);
  config.output.path_coverage = true;
  Summary const all = run(config, options_with(2));
  ASSERT_TRUE(all.path_coverage.has_value());
  EXPECT_EQ(all.path_coverage->covered, all.path_coverage->paths);
  EXPECT_GT(all.path_coverage->paths, 10);
}

// A short run; docs/methods.md has the figures of 1000 tests, at which directed tests have had
// time to pay.
TEST(SymbolicSearch, FindsMoreThanRandomTests) {
  FL_NEED_BENCHMARKS(benchmarks);
  struct Case {
    char const* data;
    char const* attribute;
    double ratio;
  };
  for (Case const& c : {Case{"census", "age", 4.0}, Case{"bank", "age", 4.0},
                        Case{"credit", "PersonStatusSex", 3.0}}) {
    RunConfig config;
    std::string const name = c.data;
    config.model = benchmarks / "models" / (name + ".h5");
    config.data = benchmarks / "data" / (name + ".csv");
    config.domain = benchmarks / "data" / (name + ".domain.yaml");
    config.protected_attributes = {{c.attribute, {}}};
    config.out_of_domain = OutOfDomain::kDrop;
    config.global.num = 200;
    config.sg.samples = 1000;
    TestSubject const subject(config);
    std::map<std::string, double> found;
    for (char const* method : {"themis", "sg"}) {
      config.method = method;
      found[method] = static_cast<double>(run_search(config, subject, {}).hits());
    }
    std::printf("  %s, %s: %.0f IDIs of 200 tests by themis, %.0f by sg\n", c.data, c.attribute,
                found["themis"], found["sg"]);
    EXPECT_GE(found["sg"], c.ratio * found["themis"]) << c.data;
  }
}

}  // namespace
}  // namespace fairlane
