// Where a search ends: random search's distinct inputs, budgets, the clock, and a full record.
#include <gtest/gtest.h>

#include <atomic>
#include <limits>

#include "tests/engine/search/run_search.h"
#include "tests/models/expect_error.h"

namespace fairlane {
namespace {

/// A configuration whose local phase takes a while.
RunConfig budget_config(TemporaryFolder const& folder) {
  SmallShape shape;
  shape.ranges = {4, 9, 8, 9, 2, 9};
  RunConfig config = small_config(folder, shape, 300);
  config.global.num = 100;
  config.local.num = 40;
  return config;
}

RunConfig themis_config(TemporaryFolder const& folder) {
  RunConfig config = small_config(folder, {});
  config.method = "themis";
  return config;
}

/// Searches of one subject, whose configuration a test may change in what the subject does not
/// depend on: the method, the phases, the budgets.
class SearchBudget : public ::testing::Test {
 protected:
  using MakeConfig = RunConfig (*)(TemporaryFolder const&);
  explicit SearchBudget(MakeConfig make = budget_config) : config(make(folder_)), subject(config) {}

  Finished run(How const& how = {}) const { return run_search(config, subject, how); }
  /// However it is executed.
  void expect_deterministic(Finished const& first) const {
    expect_all_same(first,
                    {{.threads = 2, .batch = 7}, {.threads = 3, .batch = 1}, {.batch = 4096}});
  }
  /// What the clock has ended is found again from its cut, with other threads and without a clock.
  void expect_repeated(Finished const& timed, Cut const& cut) const {
    expect_all_same(timed, {{.replay = cut},
                            {.threads = 3, .batch = 5, .isa = "portable", .replay = cut},
                            {.threads = 2, .batch = 1, .replay = cut}});
  }

 private:
  void expect_all_same(Finished const& first, std::vector<How> const& ways) const {
    for (How const& how : ways) {
      SCOPED_TRACE(describe(how));
      expect_same(first, run(how));
    }
  }

  TemporaryFolder const folder_;

 protected:
  RunConfig config;
  TestSubject const subject;
};

/// Random search of 5040 inputs.
class ThemisBudget : public SearchBudget {
 protected:
  ThemisBudget() : SearchBudget(themis_config) {}
};

// --- themis
// -------------------------------------------------------------------------------------------------

TEST_F(ThemisBudget, TestsDistinctInputs) {
  config.global.num = 2000;  // of 5040: many draws repeat
  Finished const some = run({.threads = 2});
  EXPECT_EQ(some.entries.size(), 2000U);
  EXPECT_EQ(some.result.counts.iterations, 2000);
  EXPECT_EQ(some.result.counts.global_found, some.hits());
  config.global.num = 1'000'000;
  Finished const all = run({.threads = 3});
  EXPECT_EQ(all.entries.size(), 5040U) << "the whole domain";
  naive::FloatReference const reference(subject.view());
  for (auto const& [row, entry] : all.entries) {
    ASSERT_EQ(entry.state == kVisitHit, reference.probe(row).pair >= 0);
  }
}

TEST_F(ThemisBudget, ReachesTheWholeDomain) {
  for (std::int64_t const num : {1, 5000, 5039, 5040}) {  // of 5040
    SCOPED_TRACE(num);
    config.global.num = num;
    Finished const first = run();
    EXPECT_EQ(first.entries.size(), static_cast<std::size_t>(num));
    EXPECT_EQ(first.result.counts.iterations, num);
    EXPECT_STREQ(first.result.cut.reason, "");
    expect_deterministic(first);
  }
}

TEST_F(ThemisBudget, ObeysBudgets) {
  config.global.num = 4000;
  Finished const whole = run();
  for (std::int64_t const limit : {1, 100, 1024, 3999}) {
    SCOPED_TRACE(limit);
    config.budget = {};
    config.budget.iterations = limit;
    Finished const tests = run();
    EXPECT_EQ(tests.result.counts.iterations, limit);
    EXPECT_EQ(tests.entries.size(), static_cast<std::size_t>(limit));
    EXPECT_STREQ(tests.result.cut.reason, "iterations");
    expect_deterministic(tests);
    config.budget = {};
    config.budget.seeds = limit;
    Finished const seeds = run();
    EXPECT_EQ(seeds.result.counts.iterations, limit);
    EXPECT_STREQ(seeds.result.cut.reason, "seeds");
    EXPECT_TRUE(seeds.entries == tests.entries);
  }
  for (std::int64_t const limit : {std::int64_t{1}, std::int64_t{3}, whole.hits() - 1}) {
    SCOPED_TRACE(limit);
    config.budget = {};
    config.budget.instances = limit;
    Finished const found = run();
    EXPECT_EQ(found.hits(), limit);
    EXPECT_EQ(found.result.counts.global_found, limit);
    EXPECT_STREQ(found.result.cut.reason, "instances");
    expect_deterministic(found);
  }
}

// Without a record of all inputs it cannot know which ones are new.
TEST_F(SearchBudget, ThemisNeedsItsWholeRecord) {
  config.method = "themis";
  config.global.num = 20'000;  // the least table has room for 12,288 inputs
  for (int const threads : {1, 3}) {
    expect_error(ExitCode::kMemory, {"record of visited inputs is full", "global.num"},
                 [&] { run({.threads = threads, .memory = 1}); });
  }
}

// --- budgets
// -------------------------------------------------------------------------------------------------

/// A frontier uses a budget that lasts longer than the search without one.
void expect_goes_on(Finished const& whole, Finished const& first) {
  EXPECT_GT(first.result.counts.iterations, whole.result.counts.iterations);
  for (auto const& [row, entry] : whole.entries) ASSERT_EQ(first.entries.at(row), entry);
}

TEST_F(SearchBudget, OfSeeds) {
  for (char const* method : {"eidig", "margin"}) {
    config.method = method;
    config.budget.seeds = 17;
    Finished const first = run();
    EXPECT_EQ(first.result.counts.global_seeds, 17);
    EXPECT_STREQ(first.result.cut.reason, "seeds");
    for (auto const& [row, entry] : first.entries) {
      bool const numbered_anew =
          find_method(method).frontier && Finder::phase(entry.finder) == Phase::kLocal;
      ASSERT_TRUE(numbered_anew || Finder::seed(entry.finder) < 17U);
    }
    expect_deterministic(first);
  }
}

TEST_F(SearchBudget, OfIterations) {
  for (char const* method : {"eidig", "adf", "margin"}) {
    SCOPED_TRACE(method);
    config.method = method;
    config.budget = {};
    Finished const whole = run();
    for (std::int64_t const limit :
         {std::int64_t{1}, std::int64_t{60}, whole.result.counts.iterations / 2,
          whole.result.counts.iterations - 1, whole.result.counts.iterations * 2}) {
      SCOPED_TRACE(limit);
      config.budget.iterations = limit;
      Finished const first = run();
      expect_deterministic(first);
      if (limit > whole.result.counts.iterations) {
        if (find_method(method).frontier) {
          expect_goes_on(whole, first);
          continue;
        }
        EXPECT_STREQ(first.result.cut.reason, "");
        EXPECT_TRUE(first.entries == whole.entries);
        continue;
      }
      // the seed that reaches the limit is the last one
      EXPECT_STREQ(first.result.cut.reason, "iterations");
      EXPECT_GE(first.result.counts.iterations, limit);
      EXPECT_LT(first.result.counts.iterations,
                limit + std::max<std::int64_t>(config.local.num, config.global.max_iter));
      for (auto const& [row, entry] : first.entries) ASSERT_EQ(whole.entries.at(row), entry);
    }
  }
}

TEST_F(SearchBudget, OfEvaluations) {
  for (MethodSpec const& method : methods()) {
    if (std::string(method.name) == "sg" || std::string(method.name) == "expga")
      continue;  // their surrogates take too long for so many runs
    SCOPED_TRACE(method.name);
    config.method = method.name;
    config.budget = {};
    Finished const whole = run();
    std::int64_t const all = whole.result.counts.model_evaluations;
    for (std::int64_t const limit : {std::int64_t{1}, all / 20, all / 2, all - 1, all * 2}) {
      SCOPED_TRACE(limit);
      config.budget.evaluations = limit;
      Finished const first = run();
      expect_deterministic(first);
      if (limit > all) {
        if (method.frontier) {
          expect_goes_on(whole, first);
          continue;
        }
        EXPECT_STREQ(first.result.cut.reason, "");
        EXPECT_TRUE(first.entries == whole.entries);
        continue;
      }
      EXPECT_STREQ(first.result.cut.reason, "evaluations");
      EXPECT_GE(first.result.counts.model_evaluations, limit);
      for (auto const& [row, entry] : first.entries) ASSERT_EQ(whole.entries.at(row), entry);
      // The seed that reaches the limit is the last one: without it the run stays below.
      Cut before = first.result.cut;
      if (before.local_seeds > 0) {
        --before.local_seeds;
      } else {
        --before.global_seeds;
      }
      if (before.global_seeds == 0) continue;
      config.budget = {};
      EXPECT_LT(run({.replay = before}).result.counts.model_evaluations, limit);
    }
  }
}

TEST_F(SearchBudget, OfEvaluationsAndInstancesEndAtTheFirst) {
  Finished const whole = run();
  config.budget.evaluations = whole.result.counts.model_evaluations / 2;
  Finished const half = run();
  for (std::int64_t const instances : {half.hits() / 2, half.hits() + 1}) {
    config.budget.instances = instances;
    Finished const first = run();
    EXPECT_STREQ(first.result.cut.reason, instances < half.hits() ? "instances" : "evaluations");
    EXPECT_LE(first.entries.size(), half.entries.size());
    expect_deterministic(first);
  }
}

TEST_F(SearchBudget, OfInstances) {
  for (char const* method : {"eidig", "margin", "grft"}) {
    SCOPED_TRACE(method);
    config.method = method;
    config.budget = {};
    Finished const whole = run();
    for (std::int64_t const limit :
         {std::int64_t{1}, std::int64_t{20}, whole.hits() / 2, whole.hits()}) {
      SCOPED_TRACE(limit);
      config.budget.instances = limit;
      Finished const first = run();
      expect_deterministic(first);
      EXPECT_GE(first.hits(), limit);
      EXPECT_STREQ(first.result.cut.reason, "instances");
      // without the last seed there are too few
      std::uint64_t last = 0;
      for (auto const& [row, entry] : first.entries) last = std::max(last, entry.finder);
      std::uint64_t const seed = Finder::pack(Finder::phase(last), Finder::seed(last), 0);
      std::int64_t before = 0;
      for (auto const& [row, entry] : first.entries)
        before += entry.state == kVisitHit && entry.finder < seed ? 1 : 0;
      EXPECT_LT(before, limit);
    }
  }
}

// What the clock ends can be repeated from its cut, with other threads and without a clock.
TEST_F(SearchBudget, OfSecondsReplays) {
  config.global.num = 300;
  config.local.num = 3000;
  for (char const* method : {"eidig", "margin", "themis", "grft"}) {
    for (double const seconds : {0.0, 0.003, 0.03}) {
      SCOPED_TRACE(std::string(method) + " " + std::to_string(seconds) + " s");
      config.method = method;
      config.budget.seconds = seconds;
      Finished const timed = run({.threads = 2});
      if (*timed.result.cut.reason == '\0') continue;  // it was done before
      EXPECT_STREQ(timed.result.cut.reason, "seconds");
      expect_repeated(timed, timed.result.cut);
    }
  }
}

/// A clock that goes on by a second whenever somebody looks.
std::function<double()> ticking() {
  auto const looks = std::make_shared<std::atomic<int>>(0);
  return [looks] { return static_cast<double>(++*looks); };
}

std::int64_t tests_of(SearchResult const& result) {
  std::int64_t tests = 0;
  for (auto const& outcome : result.global) tests += outcome.iterations;
  return tests;
}

// Seeds and origins on their way count up to where the clock found them, in every phase.
TEST_F(SearchBudget, WhatTheClockLeavesUnfinishedCounts) {
  config.global.num = 60;
  config.local.num = 300;
  config.aequitas.lanes = 16;
  for (char const* method : {"eidig", "adf", "maft", "margin-walk", "aequitas-random",
                             "aequitas-fully", "themis", "grft"}) {
    config.method = method;
    config.budget = {};
    Finished const whole = run();
    int in_global = 0;
    int in_local = 0;
    for (double const seconds : {1.0, 3.0, 6.0, 15.0, 25.0, 40.0, 100.0, 320.0, 700.0, 2000.0}) {
      SCOPED_TRACE(std::string(method) + " " + std::to_string(seconds) + " looks");
      config.budget.seconds = seconds;
      Finished const timed = run({.threads = 2, .batch = 7, .seconds = ticking()});
      auto const& cut = timed.result.cut;
      if (*cut.reason == '\0') continue;  // it was done before
      EXPECT_STREQ(cut.reason, "seconds");
      for (auto const& [row, entry] : timed.entries) ASSERT_TRUE(whole.entries.contains(row));
      std::int64_t unfinished = 0;
      for (StepLimit const& limit : cut.unfinished) unfinished += limit.count * limit.steps;
      if (cut.local_seeds != 0) {
        ++in_local;
        std::int64_t cut_short = 0;
        for (StepLimit const& limit : cut.unfinished) cut_short += limit.count;
        EXPECT_EQ(
            timed.result.counts.iterations,
            tests_of(timed.result) + (cut.local_seeds - cut_short) * config.local.num + unfinished);
      } else if (unfinished > 0) {
        ++in_global;
      }
      expect_repeated(timed, cut);
    }
    if (std::string(method) == "themis") continue;  // its tests are done at once
    EXPECT_GT(in_local, 0) << method;
    // These test a seed once, or its population, which has IDIs here.
    bool const tests_once =
        std::string(method).find("aequitas") != std::string::npos || std::string(method) == "grft";
    EXPECT_EQ(in_global > 0, !tests_once) << method;
  }
}

// An origin takes long: before the first one is finished, more time already finds more.
TEST_F(SearchBudget, MoreSecondsFindMore) {
  config.local.num = 100'000;
  for (char const* method : {"eidig", "margin-walk", "aequitas-fully", "grft"}) {
    config.method = method;
    std::int64_t before = -1;
    for (double const seconds : {30.0, 100.0, 300.0}) {
      SCOPED_TRACE(std::string(method) + " " + std::to_string(seconds) + " looks");
      config.budget.seconds = seconds;
      Finished const timed = run({.seconds = ticking()});
      EXPECT_STREQ(timed.result.cut.reason, "seconds");
      EXPECT_GT(timed.result.cut.local_seeds, 0);
      EXPECT_GT(timed.hits(), before);
      before = timed.hits();
    }
  }
}

// The other budgets hold for what the clock has left unfinished, too.
TEST_F(SearchBudget, BesideTheClockReplays) {
  config.local.num = 300;
  config.aequitas.lanes = 16;
  for (char const* method : {"eidig", "margin-walk", "aequitas-semi", "grft"}) {
    config.method = method;
    for (double const seconds : {4.0, 60.0, 250.0, 600.0}) {
      for (std::int64_t const limit : {20, 300, 1000, 20'000}) {
        for (int const kind : {0, 1, 2}) {
          SCOPED_TRACE(std::string(method) + " " + std::to_string(seconds) + " looks, " +
                       std::to_string(limit) + " of budget " + std::to_string(kind));
          config.budget = {};
          config.budget.seconds = seconds;
          (kind == 0   ? config.budget.instances
           : kind == 1 ? config.budget.evaluations
                       : config.budget.iterations) = limit;
          Finished const timed = run({.threads = 2, .batch = 9, .seconds = ticking()});
          Cut const& cut = timed.result.cut;
          // Another budget's end is not recorded: it is found again.
          expect_repeated(timed, std::string(cut.reason) == "seconds" ? cut : Cut{});
        }
      }
    }
  }
}

// A clock beside the budget of instances: whichever ends the run, its cut repeats it.
TEST_F(SearchBudget, OfInstancesAndSecondsReplay) {
  config.global.num = 300;
  config.local.num = 1000;
  for (char const* method : {"eidig", "margin", "themis", "grft"}) {
    config.method = method;
    for (std::int64_t const instances : {5, 500, 3000}) {
      for (double const seconds : {0.0, 0.002, 0.01}) {
        SCOPED_TRACE(std::string(method) + " " + std::to_string(seconds) + " s, " +
                     std::to_string(instances) + " instances");
        config.budget.instances = instances;
        config.budget.seconds = seconds;
        Finished const timed = run({.threads = 3});
        if (*timed.result.cut.reason == '\0') continue;  // it was done before
        expect_repeated(timed, timed.result.cut);
      }
    }
  }
}

TEST_F(SearchBudget, OfInstancesNeedsTheWholeRecord) {
  config.global.num = 300;
  config.local.num = 2000;
  config.budget.instances = 40'000;  // the least table has room for 12,288 inputs
  for (int const threads : {1, 2, 3}) {
    expect_error(ExitCode::kMemory, {"budget.instances", "record of visited inputs is full"},
                 [&] { run({.threads = threads, .memory = 1}); });
  }
}

TEST_F(SearchBudget, TheLargestEndNothing) {
  config.local.num =
      2000;  // more than the tests of the global phase: rounding up must not overflow
  for (char const* method : {"eidig", "margin-walk", "themis", "grft"}) {
    SCOPED_TRACE(method);
    config.method = method;
    config.budget = {};
    Finished const whole = run();
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    config.budget.iterations = config.budget.instances = config.budget.seeds = kMost;
    config.budget.evaluations = kMost;
    expect_same(whole, run());
  }
}

/// EIDIG on two threads, to be searched with options of a test's own.
class SearchOnTwoThreads : public SearchBudget {
 protected:
  SearchResult search_with(SearchOptions const& options) const {
    MethodSpec const& method = find_method("eidig");
    CpuOptions threads;
    threads.threads = 2;
    auto const backend = make_cpu_backend(subject.view(), threads);
    return search(config, method, SeedSource(config, method, subject), *backend, options);
  }
};

TEST_F(SearchOnTwoThreads, StopsWhenAsked) {
  std::atomic<bool> const stop{true};
  SearchOptions search_options;
  search_options.stop = &stop;
  expect_error(ExitCode::kInterrupted, {"interrupted"}, [&] { search_with(search_options); });
}

TEST_F(SearchOnTwoThreads, ProgressEndsAtTheCounts) {
  JobProgress progress;
  SearchOptions search_options;
  search_options.progress = &progress;
  auto const result = search_with(search_options);
  EXPECT_EQ(progress.phase, 1);
  EXPECT_EQ(progress.done, result.counts.global_unique);
  EXPECT_EQ(progress.total, result.counts.global_unique);
  EXPECT_EQ(progress.iterations, result.counts.iterations);
}

}  // namespace
}  // namespace fairlane
