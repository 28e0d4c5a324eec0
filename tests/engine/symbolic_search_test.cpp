// Symbolic generation against a plain sequential program, and however it is executed.
#include "engine/symbolic_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "engine/path_coverage.h"
#include "engine/path_toggles.h"
#include "engine/row_sampler.h"
#include "tests/benchmarks.h"
#include "tests/engine/run_output.h"
#include "tests/engine/run_search.h"
#include "tests/engine/symbolic_reference.h"

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

// --- boxes -----------------------------------------------------------------------------------------------------------

TEST(PathToggles, BoxesHoldWhatPredicatesLeave) {
  std::uint32_t const seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::vector<Interval> const domain = {{-2, 3}, {0, 1}, {5, 9}};
  int empty = 0;
  for (int round = 0; round < 500; ++round) {
    std::vector<Predicate> predicates;
    for (std::size_t i = random() % 6; i > 0; --i) {
      auto const a = random() % domain.size();
      auto const range = static_cast<std::uint32_t>(domain[a].high - domain[a].low + 3);
      auto const threshold = domain[a].low - 1 + static_cast<std::int32_t>(random() % range);
      predicates.push_back({static_cast<int>(a), random() % 2 == 0, threshold, 0.5});
    }
    Row row;
    for (auto const& interval : domain) {
      row.push_back(interval.low +
                    static_cast<std::int32_t>(
                        random() % static_cast<std::uint32_t>(interval.high - interval.low + 1)));
    }
    std::vector<std::int32_t> box;
    Row sticky = row;
    Row lowest = row;
    bool possible = true;
    for (std::size_t a = 0; a < domain.size(); ++a) {
      std::vector<std::int32_t> allowed;
      bool bounded = false;
      for (std::int32_t v = domain[a].low; v <= domain[a].high; ++v) {
        bool fulfils = true;
        for (auto const& p : predicates) {
          if (p.attribute != static_cast<int>(a)) continue;
          bounded = true;
          fulfils &= p.above ? v > p.threshold : v <= p.threshold;
        }
        if (fulfils) allowed.push_back(v);
      }
      possible &= !allowed.empty();
      if (!bounded || allowed.empty()) continue;
      if (allowed.front() > domain[a].low || allowed.back() < domain[a].high)
        box.insert(box.end(), {static_cast<std::int32_t>(a), allowed.front(), allowed.back()});
      lowest[a] = allowed.front();
      sticky[a] = *std::min_element(allowed.begin(), allowed.end(), [&](auto x, auto y) {
        return std::abs(x - row[a]) < std::abs(y - row[a]);
      });
    }
    empty += possible ? 0 : 1;
    auto const canonical = canonical_box(predicates, domain);
    ASSERT_EQ(canonical.has_value(), possible);
    Row solved = row;
    ASSERT_EQ(solve(predicates, domain, ToggleSolver::kSticky, solved), possible);
    EXPECT_EQ(solved, possible ? sticky : row);
    if (!possible) continue;
    EXPECT_EQ(*canonical, box);
    solved = row;
    ASSERT_TRUE(solve(predicates, domain, ToggleSolver::kLowest, solved));
    EXPECT_EQ(solved, lowest);
  }
  EXPECT_GT(empty, 20);
}

/// A path by hand. Attribute 2 is protected.
class HandMadePath : public ::testing::Test {
 protected:
  struct Expected {
    double rank;
    Row row;
  };
  void expect(bool found, std::vector<Expected> const& all) const {
    auto const made = toggles(path_, row_, found, space_, config_);
    ASSERT_EQ(made.size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      SCOPED_TRACE(i);
      EXPECT_DOUBLE_EQ(made[i].rank, all[i].rank);
      EXPECT_EQ(made[i].row, all[i].row);
      EXPECT_EQ(made[i].directed, all[i].rank < kSeedRank);
    }
  }

  std::vector<Predicate> path_ = {{0, false, 6, 0.75},
                                  {2, true, 0, 0.5},
                                  {0, true, 3, 0.5},
                                  {1, false, 4, 0.25},
                                  {1, true, 1, 0.5}};
  Row row_ = {5, 3, 1};
  ToggleSpace space_ = {{{0, 9}, {0, 9}, {0, 1}}, {1, 1, 0}};
  SymbolicConfig config_;
};

TEST_F(HandMadePath, UndirectedStopsAtLittleConfidence) {
  expect(false, {{10.0 - 0.25, {7, 3, 1}}, {10.0 - (0.75 + 0.5) / 2.0, {3, 3, 1}}});
  config_.t1 = 0.8;
  expect(false, {});
  config_.t1 = 0.25;  // at the threshold it goes on
  expect(false, {{10.0 - 0.25, {7, 3, 1}},
                 {10.0 - (0.75 + 0.5) / 2.0, {3, 3, 1}},
                 {10.0 - (0.75 + 0.5 + 0.75) / 3.0, {5, 5, 1}},
                 {10.0 - (0.75 + 0.5 + 0.25 + 0.5) / 4.0, {5, 1, 1}}});
}

TEST_F(HandMadePath, DirectedTogglesEveryPredicateOfAnIdi) {
  std::vector<Expected> const undirected = {{10.0 - 0.25, {7, 3, 1}},
                                            {10.0 - (0.75 + 0.5) / 2.0, {3, 3, 1}}};
  std::vector<Expected> all = {{1.0 + (0.25 + 0.5 + 0.5 + 0.25 + 0.5) / 5.0, {7, 3, 1}},
                               {1.0 + (0.75 + 0.5 + 0.5 + 0.25 + 0.5) / 5.0, {3, 3, 1}},
                               {1.0 + (0.75 + 0.5 + 0.5 + 0.75 + 0.5) / 5.0, {5, 5, 1}},
                               {1.0 + (0.75 + 0.5 + 0.5 + 0.25 + 0.5) / 5.0, {5, 1, 1}}};
  all.insert(all.end(), undirected.begin(), undirected.end());
  expect(true, all);
  config_.t2 = 0.5;  // only predicates of less confidence
  expect(true, {all[2], undirected[0], undirected[1]});
}

TEST_F(HandMadePath, TheLowestSolverMovesWhatThePrefixBounds) {
  config_.solver = ToggleSolver::kLowest;
  expect(false, {{10.0 - 0.25, {7, 3, 1}}, {10.0 - (0.75 + 0.5) / 2.0, {0, 3, 1}}});
}

TEST_F(HandMadePath, PathsThatNoInputHasAreLeftOut) {
  // x <= 6 and x <= 3: the negation of the first leaves nothing where the second holds.
  path_ = {{0, false, 6, 0.5}, {0, false, 3, 0.5}};
  row_ = {2, 0, 0};
  config_.t1 = 1.0;
  expect(true, {{1.5, {4, 0, 0}}});
  EXPECT_EQ(toggles(path_, row_, true, space_, config_)[0].box,
            (std::vector<std::int32_t>{0, 4, 6}));
}

// --- neighbours ------------------------------------------------------------------------------------------------------

TEST(RowSampler, DrawsColumnsFromTheTablesMarginals) {
  TemporaryFolder const folder;
  RunConfig const config = small_config(folder, {}, 30);
  TestSubject const subject(config);
  RowSampler const sampler(subject, config.seed);
  constexpr std::int64_t kRows = 20'000;
  auto const width = subject.view().low.size();
  std::vector<std::int32_t> rows(kRows * width);
  Row const home(subject.data()->rows.begin(),
                 subject.data()->rows.begin() + static_cast<std::ptrdiff_t>(width));
  for (bool const local : {false, true}) {
    sampler.draw(3, 0, kRows, local ? home.data() : nullptr, rows.data());
    for (std::size_t a = 0; a < width; ++a) {
      std::map<std::int32_t, double> share;
      std::map<std::int32_t, double> expected;
      for (std::size_t i = 0; i < kRows; ++i) share[rows[i * width + a]] += 1.0 / kRows;
      for (std::size_t i = 0; i < 30; ++i)
        expected[subject.data()->rows[i * width + a]] += (local ? 0.5 : 1.0) / 30.0;
      if (local) expected[home[a]] += 0.5;
      for (auto const& [value, part] : share) {
        ASSERT_TRUE(expected.contains(value)) << "attribute " << a;
        constexpr double kFiveDeviations = 5.0 * 0.5 / 141.0;
        EXPECT_NEAR(part, expected[value], kFiveDeviations) << "attribute " << a << " " << value;
      }
    }
  }
  // Any part of a stream is the same as within the whole.
  std::vector<std::int32_t> part(10 * width);
  sampler.draw(3, 1000, 10, nullptr, part.data());
  sampler.draw(3, 0, kRows, nullptr, rows.data());
  EXPECT_TRUE(std::equal(part.begin(), part.end(),
                         rows.begin() + 1000 * static_cast<std::ptrdiff_t>(width)));
  sampler.draw(4, 1000, 10, nullptr, part.data());
  EXPECT_FALSE(std::equal(part.begin(), part.end(),
                          rows.begin() + 1000 * static_cast<std::ptrdiff_t>(width)));
}

TEST(RowSampler, IsUniformOverTheDomainWithoutATable) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, {});
  config.data.clear();
  config.protected_attributes[0].values = {lowest(0), lowest(0) + 3};
  TestSubject const subject(config);
  constexpr std::int64_t kRows = 20'000;
  auto const& view = subject.view();
  std::vector<std::int32_t> rows(kRows * view.low.size());
  RowSampler(subject, config.seed).draw(0, 0, kRows, nullptr, rows.data());
  for (std::size_t a = 0; a < view.low.size(); ++a) {
    std::map<std::int32_t, double> share;
    for (std::size_t i = 0; i < kRows; ++i) share[rows[i * view.low.size() + a]] += 1.0 / kRows;
    std::size_t const values =
        a == 0 ? 2 : static_cast<std::size_t>(view.high[a] - view.low[a] + 1);
    EXPECT_EQ(share.size(), values);
    for (auto const& [value, part] : share) {
      constexpr double kFiveDeviations = 5.0 * 0.5 / 141.0;
      EXPECT_NEAR(part, 1.0 / static_cast<double>(values), kFiveDeviations);
    }
    EXPECT_GE(share.begin()->first, view.low[a]);
    EXPECT_LE(share.rbegin()->first, view.high[a]);
  }
}

// --- the search ------------------------------------------------------------------------------------------------------

class Symbolic : public ::testing::TestWithParam<char const*> {};

TEST_P(Symbolic, OneAtATimeIsTheSequentialProgram) {
  TemporaryFolder const folder;
  RunConfig config = symbolic_config(folder, shape_of(GetParam()), 20);
  config.global.num = 30;
  std::int64_t directed = 0;
  for (int const way : {0, 1, 2, 3, 4}) {
    SCOPED_TRACE(way);
    config.sg.neighbours = way == 1 ? Neighbours::kLocal : Neighbours::kMarginal;
    config.sg.solver = way == 2 ? ToggleSolver::kLowest : ToggleSolver::kSticky;
    config.sg.t2.reset();
    if (way == 3) config.sg.t2 = 0.4;
    config.local.num = way == 4 ? 0 : 1;
    config.sg.frontier = 1;
    TestSubject const subject(config);
    auto const expected = naive::SymbolicReference(config, subject).run();
    Finished const found = run_search(config, subject, {2, 0, "", How{}.memory, {}});
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
      std::vector<How> ways = {{3, 7, "portable", How{}.memory, {}}, {2, 0, "", How{}.memory, {}}};
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
      Finished const found = run_search(config, subject, {2, 3, "", How{}.memory, {}});
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

// A record without room: what it cannot hold goes to the findings, and nothing is tested twice all the same.
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

// A short run; README.md has the figures of 1000 tests, at which directed tests have had time to pay.
TEST(SymbolicSearch, FindsMoreThanRandomTests) {
  FL_NEED_BENCHMARKS(benchmarks);
  struct Case {
    char const* data;
    char const* attribute;
    double ratio;
  };
  for (Case const& c : {Case{"census", "age", 3.0}, Case{"bank", "age", 2.0},
                        Case{"credit", "PersonStatusSex", 1.5}}) {
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

// --- path coverage ---------------------------------------------------------------------------------------------------

TEST(PathCoverage, CountsTheLeavesThatVisitsReach) {
  TemporaryFolder const folder;
  for (bool const has_data : {true, false}) {
    RunConfig config = symbolic_config(folder, {}, 200);
    if (!has_data) config.data.clear();
    TestSubject const subject(config);
    Findings findings(make_cpu_backend(subject.view(), {})->subject(), folder.file("spill"),
                      1U << 26);
    CpuOptions options;
    options.seed = config.seed;
    options.overflow = [&](Visits const& visits) { findings.add(visits); };
    auto const backend = make_cpu_backend(subject.view(), options);
    SearchOptions trace;
    trace.trace = true;
    MethodSpec const& method = find_method("sg");
    SearchResult const result =
        search(config, method, SeedSource(config, method, subject), *backend, trace);

    // The same tree, from rows and labels by hand.
    auto const width = subject.view().low.size();
    std::vector<std::int32_t> rows;
    if (has_data) {
      rows = subject.data()->rows;
    } else {
      rows.resize(10'000 * width);
      RowSampler(subject, config.seed).draw(0xFFFFFFFEU, 0, 10'000, nullptr, rows.data());
    }
    naive::FloatReference const model(subject.view());
    std::vector<std::uint8_t> labels;
    for (auto at = rows.begin(); at != rows.end(); at += static_cast<std::ptrdiff_t>(width))
      labels.push_back(
          static_cast<std::uint8_t>(model.label(Row(at, at + static_cast<std::ptrdiff_t>(width)))));
    DecisionTree const tree({rows.data(), labels.data(), static_cast<std::int64_t>(labels.size()),
                             static_cast<int>(width)});
    for (std::int64_t const tests : {result.counts.iterations, std::int64_t{7}}) {
      std::uint64_t const cut = tests == 7 ? Finder::pack(Phase::kGlobal, 7, 0) : result.cut.finder;
      std::set<int> leaves;
      for (std::int64_t i = 0; i < tests; ++i) {
        leaves.insert(tree.leaf(&result.last_rows[static_cast<std::size_t>(i) * width]));
      }
      auto const coverage = path_coverage(subject, config.seed, *backend, findings, cut);
      EXPECT_EQ(coverage.paths, tree.leaves());
      if (tests == 7) {
        EXPECT_LE(coverage.covered, static_cast<std::int64_t>(leaves.size()));  // global ones only
        EXPECT_GT(coverage.covered, 0);
      } else {
        EXPECT_EQ(coverage.covered, static_cast<std::int64_t>(leaves.size()));
      }
    }
  }
}

}  // namespace
}  // namespace fairlane
