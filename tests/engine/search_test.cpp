// The lockstep search: the same findings however it is executed, equal to a search of one input after the other.
#include "engine/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "kernels/core/steps.h"
#include "tests/engine/golden_subject.h"
#include "tests/engine/small_subject.h"
#include "tests/models/expect_error.h"
#include "tests/naive_reference.h"

namespace fairlane {
namespace {

using naive::Row;

/// What the record says about an input.
struct Entry {
  std::uint64_t finder;
  std::uint8_t state;
  bool operator==(Entry const&) const = default;
};
using Entries = std::map<Row, Entry>;

/// How a search is executed; none of it may show in the findings.
struct How {
  int threads = 1;
  int batch = 0;
  std::string isa;
  std::uint64_t memory = 1ULL << 28;
  std::optional<Cut> replay;
};

std::string describe(How const& how) {
  return std::to_string(how.threads) + " threads, batch " + std::to_string(how.batch) + " " +
         how.isa;
}

/// A finished search: findings that count, and what it says about itself.
struct Finished {
  SearchResult result;
  Entries entries;
  std::uint64_t overflowed = 0;

  std::int64_t hits() const {
    return std::count_if(entries.begin(), entries.end(),
                         [](auto const& e) { return (e.second.state & kVisitHit) != 0; });
  }
};

/// Row of a recorded input, from its key digit by digit.
Row row_of(PackedSubject const& packed, std::uint64_t const* group, std::uint32_t variant) {
  auto const& s = packed.get();
  Row row(static_cast<std::size_t>(s.columns));
  for (int c = 0; c < s.columns; ++c) {
    auto const column = static_cast<std::size_t>(c);
    if (packed.keys().word[column] < 0) continue;
    auto const count = static_cast<std::uint64_t>(s.high[c] - s.low[c] + 1);
    std::uint64_t const digit =
        group[packed.keys().word[column]] / packed.keys().stride[column] % count;
    row[static_cast<std::size_t>(packed.attribute_of()[column])] =
        s.low[c] + static_cast<std::int32_t>(digit);
  }
  for (int i = 0; i < s.selected; ++i) {
    row[static_cast<std::size_t>(
        packed.attribute_of()[static_cast<std::size_t>(s.selected_column[i])])] =
        packed.variant_value(static_cast<int>(variant), i);
  }
  return row;
}

Finished run_search(RunConfig const& config, TestSubject const& subject, How const& how) {
  Finished finished;
  MethodSpec const& method = find_method(config.method);
  SeedSource const seeds(config, method, subject);
  std::unique_ptr<Backend> backend;
  Entries all;
  auto const take = [&](Visits const& visits) {
    for (std::size_t i = 0; i < visits.count; ++i) {
      auto const* group = visits.group + i * static_cast<std::size_t>(visits.words);
      Entry const entry{visits.finder[i], visits.state[i]};
      auto const [at, fresh] =
          all.insert({row_of(backend->subject(), group, visits.variant[i]), entry});
      if (!fresh) at->second.finder = std::min(at->second.finder, entry.finder);
      EXPECT_EQ(at->second.state, entry.state);
    }
  };
  CpuOptions options;
  options.threads = how.threads;
  options.lanes = how.batch;
  options.isa = how.isa;
  options.seed = config.seed;
  options.memory_limit = how.memory;
  options.overflow = [&](Visits const& visits) {
    finished.overflowed += visits.count;
    take(visits);
  };
  backend = make_cpu_backend(subject.view(), options);
  SearchOptions search_options;
  search_options.trace = true;
  search_options.replay = how.replay;
  finished.result = search(config, method, seeds, *backend, search_options);
  backend->collect(take);
  for (auto const& [row, entry] : all) {
    if (entry.finder < finished.result.cut.finder) finished.entries.insert({row, entry});
  }
  return finished;
}

void expect_same(Finished const& a, Finished const& b) {
  EXPECT_TRUE(a.entries == b.entries)
      << a.entries.size() << " and " << b.entries.size() << " inputs";
  EXPECT_EQ(a.result.cut.finder, b.result.cut.finder);
  EXPECT_STREQ(a.result.cut.reason, b.result.cut.reason);
  EXPECT_EQ(a.result.cut.global_seeds, b.result.cut.global_seeds);
  EXPECT_EQ(a.result.cut.local_seeds, b.result.cut.local_seeds);
  auto const& x = a.result.counts;
  auto const& y = b.result.counts;
  EXPECT_EQ(x.global_seeds, y.global_seeds);
  EXPECT_EQ(x.global_found, y.global_found);
  EXPECT_EQ(x.global_unique, y.global_unique);
  EXPECT_EQ(x.iterations, y.iterations);
  EXPECT_EQ(x.model_evaluations, y.model_evaluations);
  EXPECT_EQ(a.result.last_rows, b.result.last_rows);
  ASSERT_EQ(a.result.global.size(), b.result.global.size());
  for (std::size_t s = 0; s < a.result.global.size(); ++s) {
    EXPECT_EQ(a.result.global[s].found, b.result.global[s].found);
    EXPECT_EQ(a.result.global[s].iterations, b.result.global[s].iterations);
  }
}

std::vector<How> executions() {
  // Without vectors every value once: a sanitizer's run would take too long.
  std::vector<How> all = {{1, 7, "portable", How{}.memory, {}},
                          {2, 1, "portable", How{}.memory, {}},
                          {3, 4096, "portable", How{}.memory, {}}};
  for (auto const& isa : cpu_instruction_sets()) {
    for (int const threads : {1, 2, 3}) {
      for (int const batch : {1, 7, 4096}) {
        if (isa != "portable") all.push_back({threads, batch, isa, How{}.memory, {}});
      }
    }
  }
  return all;
}

SmallShape shape_of(char const* kind) {
  SmallShape shape;
  std::string const name = kind;
  if (name == "several outputs") shape.widths = {9, 5, 3};
  if (name == "tanh") shape.activation = Activation::kTanh;
  if (name == "wide domain") shape.ranges.assign(36, 5);
  if (name == "many variants") {
    shape.ranges = {9, 5, 3, 6, 8, 7};
    shape.widths = {7, 1};
  }
  return shape;
}

class SearchExecution : public ::testing::TestWithParam<char const*> {};

TEST_P(SearchExecution, NeverShowsInTheFindings) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, shape_of(GetParam()));
  config.global.num = 30;
  config.local.num = 12;
  for (char const* method : {"themis", "adf", "eidig", "maft", "margin"}) {
    SCOPED_TRACE(method);
    config.method = method;
    TestSubject const subject(config);
    Finished const first = run_search(config, subject, {1, 64, "portable", How{}.memory, {}});
    EXPECT_GT(first.hits(), 0);
    for (auto const& how : executions()) {
      SCOPED_TRACE(describe(how));
      expect_same(first, run_search(config, subject, how));
      if (HasFatalFailure() || HasNonfatalFailure()) return;
    }
  }
}

// Without and within a memory limit that the run exceeds: the same findings, some of them handed out early.
TEST_P(SearchExecution, MemoryLimitsDoNotShowEither) {
  TemporaryFolder const folder;
  SmallShape shape = shape_of(GetParam());
  for (auto& range : shape.ranges) range += 6;
  for (std::int32_t const s : shape.selected) shape.ranges[static_cast<std::size_t>(s)] -= 6;
  constexpr int kRows = 600;
  RunConfig config = small_config(folder, shape, kRows);
  config.global.num = kRows;
  config.local.num = 500;  // the least table has room for 12,288 inputs
  TestSubject const subject(config);
  Finished const plenty = run_search(config, subject, {});
  EXPECT_EQ(plenty.overflowed, 0U);
  for (int const threads : {1, 3}) {
    Finished const little = run_search(config, subject, {threads, 0, "", 1, {}});
    EXPECT_GT(little.overflowed, 0U);
    expect_same(plenty, little);
  }
}

INSTANTIATE_TEST_SUITE_P(Subjects, SearchExecution,
                         ::testing::Values("one output", "several outputs", "tanh", "wide domain",
                                           "many variants"),
                         [](auto const& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

TEST(Search, ExecutionNeverShowsOnCensus) {
  FL_NEED_BENCHMARKS(benchmarks);
  for (char const* method : {"adf", "eidig", "maft", "margin"}) {
    SCOPED_TRACE(method);
    RunConfig config = golden_config(benchmarks, {"census", "age+gender"}, method);
    config.local.num = 10;
    config.budget.seeds = 40;
    TestSubject const subject(config);
    Finished const first = run_search(config, subject, {2, 64, "", How{}.memory, {}});
    EXPECT_GT(first.hits(), 0);
    auto const all = executions();
    // some of them, so that every instruction set, batch and number of threads occurs
    for (std::size_t i = 0; i < all.size(); i += 4) {
      SCOPED_TRACE(describe(all[i]));
      expect_same(first, run_search(config, subject, all[i]));
    }
  }
}

// --- one input after the other ---------------------------------------------------------------------------------------

/// EIDIG as its paper has it, in the contract's arithmetic and with its draws.
class SequentialEidig {
 public:
  SequentialEidig(TestSubject const& subject, RunConfig const& config)
      : view_(subject.view()), config_(config), reference_(view_) {
    for (std::size_t const a :
         naive::column_order(view_)) {  // attributes that move, in kernel order
      if (std::find(view_.selected.begin(), view_.selected.end(), static_cast<std::int32_t>(a)) ==
          view_.selected.end()) {
        movable_.push_back(a);
      }
    }
  }

  /// Both phases from these seeds.
  void run(std::vector<Row> const& seeds) {
    std::map<Row, std::uint32_t> origins;
    for (std::uint32_t s = 0; s < seeds.size(); ++s) {
      Row x = seeds[s];
      if (global(s, x)) origins.insert({x, s});
      last.push_back(x);
    }
    for (auto const& [row, seed] : origins) local(seed, row);
  }

  Entries visited;
  std::vector<Row> last;

 private:
  using Probe = naive::FloatReference::Probe;
  using Floats = std::vector<float>;

  Probe visit(Phase phase, std::uint32_t seed, std::uint32_t iteration, Row const& x) {
    Probe probe = reference_.probe(x);
    std::uint64_t const finder = Finder::pack(phase, seed, iteration);
    auto const state = static_cast<std::uint8_t>(
        (probe.pair >= 0 ? kVisitHit : 0) | (probe.label == kUndefinedLabel ? kVisitUndefined : 0));
    auto const [at, fresh] = visited.insert({x, {finder, state}});
    if (!fresh) at->second.finder = std::min(at->second.finder, finder);
    return probe;
  }
  Row member(Row const& x, std::int32_t variant) const {
    return variant < 0 ? x : naive::similar_set(view_, x)[static_cast<std::size_t>(variant)];
  }
  Floats gradient(Row const& x) const {
    return reference_.gradient({GradientKind::kProbability, 1.0F}, x);
  }
  void move(Row& x, std::size_t a, std::int32_t step) const {
    x[a] = std::clamp(x[a] + step, view_.low[a], view_.high[a]);
  }

  bool global(std::uint32_t seed, Row& x) {
    Floats m1(x.size());
    Floats m2(x.size());
    auto const decay = static_cast<float>(config_.global.decay);
    auto const step = static_cast<std::int32_t>(config_.global.step);
    for (std::uint32_t iteration = 1;
         iteration <= static_cast<std::uint32_t>(config_.global.max_iter); ++iteration) {
      Probe const probe = visit(Phase::kGlobal, seed, iteration, x);
      if (probe.pair >= 0) return true;
      Floats const g1 = gradient(x);
      Floats const g2 = gradient(member(x, probe.partner));
      for (std::size_t const a : movable_) {
        m1[a] = std::fma(decay, m1[a], g1[a]);
        m2[a] = std::fma(decay, m2[a], g2[a]);
        if (m1[a] > 0 && m2[a] > 0) move(x, a, -step);
        if (m1[a] < 0 && m2[a] < 0) move(x, a, step);
      }
    }
    return false;
  }

  Floats weights(Row const& x, Row const& partner) const {
    Floats const g1 = gradient(x);
    Floats const g2 = gradient(partner);
    Floats result;
    for (std::size_t const a : movable_) {
      result.push_back(
          1.0F / (std::fabs(g1[a]) + std::fabs(g2[a]) + static_cast<float>(config_.local.epsilon)));
    }
    return result;
  }

  static std::size_t draw(std::uint32_t word, std::size_t count) {
    return static_cast<std::size_t>((std::uint64_t{word} * count) >> 32);
  }

  /// A member with another label, uniformly. Where so many labels are not kept, by trial first.
  std::int32_t draw_partner(Probe const& probe, std::uint32_t seed, std::uint32_t iteration) const {
    auto const word = [&](std::uint32_t t, int w) {
      return philox<ScalarPack>(seed, 1U, iteration, t, config_.seed).w[w];
    };
    std::vector<std::int32_t> others;
    for (std::size_t v = 0; v < probe.labels.size(); ++v) {
      if (probe.labels[v] != probe.label) others.push_back(static_cast<std::int32_t>(v));
    }
    auto const bits = static_cast<std::size_t>(
        view_.network.back().outputs > 2 ? 2 : 1);  // 3 or 4 classes at most here
    bool const by_trial = bits * probe.labels.size() > kPackedLabelBits;
    for (std::uint32_t t = 1; by_trial && t <= kPartnerTries; ++t) {
      auto const v = static_cast<std::int32_t>(draw(word(t, 0), probe.labels.size()));
      if (std::find(others.begin(), others.end(), v) != others.end()) return v;
    }
    return others[draw(word(0, 2), others.size())];
  }

  void local(std::uint32_t seed, Row const& origin) {
    Row x = origin;
    Probe probe = reference_.probe(x);
    Floats const first = weights(x, member(x, probe.partner));
    Floats now = first;
    std::uint32_t streak = 0;
    auto const step = static_cast<std::int32_t>(config_.local.step);
    for (std::uint32_t iteration = 1; iteration <= static_cast<std::uint32_t>(config_.local.num);
         ++iteration) {
      auto const words = philox<ScalarPack>(seed, 1U, iteration, 0U, config_.seed);
      if (streak >= config_.local.update_interval) {
        now = weights(x, member(x, draw_partner(probe, seed, iteration)));
        streak = 0;
      }
      float total = 0.0F;
      for (float const w : now) total = total + w;
      float const target = static_cast<float>(words.w[0] >> 8) * 0x1p-24F * total;
      std::size_t pick = 0;
      for (float sum = now[0]; pick + 1 < now.size() && !(sum > target); sum = sum + now[pick])
        ++pick;
      move(x, movable_[pick], (words.w[1] >> 31) == 0 ? step : -step);
      probe = visit(Phase::kLocal, seed, iteration, x);
      if (probe.pair >= 0) {
        ++streak;
        continue;
      }
      x = origin;
      probe = reference_.probe(x);
      now = first;
      streak = 0;
    }
  }

  SubjectView view_;
  RunConfig const& config_;
  naive::FloatReference reference_;
  std::vector<std::size_t> movable_;
};

class SearchSequential : public ::testing::TestWithParam<char const*> {};

TEST_P(SearchSequential, IsTheLockstepSearch) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, shape_of(GetParam()));
  config.global.num = 20;
  config.local.num = 60;
  for (std::uint32_t const interval : {5U, 1U, kNeverUpdate}) {
    SCOPED_TRACE("update_interval " + std::to_string(interval));
    config.local.update_interval = interval;
    config.seed = 40 + interval % 100;
    TestSubject const subject(config);
    SeedSource const seeds(config, find_method("eidig"), subject);
    auto const width = subject.view().low.size();
    std::vector<Row> rows;
    for (std::int64_t s = 0; s < seeds.count(); ++s) {
      rows.emplace_back(width);
      seeds.rows(s, 1, rows.back().data());
    }
    SequentialEidig sequential(subject, config);
    sequential.run(rows);
    Finished const lockstep = run_search(config, subject, {2, 16, "", How{}.memory, {}});
    EXPECT_EQ(lockstep.entries.size(), sequential.visited.size());
    EXPECT_TRUE(lockstep.entries == sequential.visited);
    EXPECT_GT(lockstep.hits(), 0);
    Row last;
    for (auto const& row : sequential.last) last.insert(last.end(), row.begin(), row.end());
    EXPECT_EQ(lockstep.result.last_rows, last);
  }
}

INSTANTIATE_TEST_SUITE_P(Subjects, SearchSequential,
                         ::testing::Values("one output", "several outputs", "tanh", "wide domain",
                                           "many variants"),
                         [](auto const& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

TEST(Search, WideDomainsUseSeveralWords) {
  TemporaryFolder const folder;
  RunConfig const config = small_config(folder, shape_of("wide domain"));
  TestSubject const subject(config);
  EXPECT_GT(PackedSubject(subject.view(), 4).keys().words, 1);
}

// --- themis ----------------------------------------------------------------------------------------------------------

TEST(Search, ThemisTestsDistinctInputs) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, {});
  config.method = "themis";
  config.global.num = 2000;  // of 5040: many draws repeat
  TestSubject const subject(config);
  Finished const some = run_search(config, subject, {2, 0, "", How{}.memory, {}});
  EXPECT_EQ(some.entries.size(), 2000U);
  EXPECT_EQ(some.result.counts.iterations, 2000);
  EXPECT_EQ(some.result.counts.global_found, some.hits());
  config.global.num = 1'000'000;
  Finished const all = run_search(config, subject, {3, 0, "", How{}.memory, {}});
  EXPECT_EQ(all.entries.size(), 5040U) << "the whole domain";
  naive::FloatReference const reference(subject.view());
  for (auto const& [row, entry] : all.entries) {
    ASSERT_EQ(entry.state == kVisitHit, reference.probe(row).pair >= 0);
  }
}

// --- budgets ---------------------------------------------------------------------------------------------------------

/// A configuration whose local phase takes a while.
RunConfig budget_config(TemporaryFolder const& folder) {
  SmallShape shape;
  shape.ranges = {4, 9, 8, 9, 2, 9};
  RunConfig config = small_config(folder, shape, 300);
  config.global.num = 100;
  config.local.num = 40;
  return config;
}

void expect_deterministic(RunConfig const& config, TestSubject const& subject,
                          Finished const& first) {
  for (auto const& how : {How{2, 7, "", How{}.memory, {}}, How{3, 1, "", How{}.memory, {}},
                          How{1, 4096, "", How{}.memory, {}}}) {
    SCOPED_TRACE(describe(how));
    expect_same(first, run_search(config, subject, how));
  }
}

TEST(Search, BudgetOfSeeds) {
  TemporaryFolder const folder;
  RunConfig config = budget_config(folder);
  TestSubject const subject(config);
  for (char const* method : {"eidig", "margin"}) {
    config.method = method;
    config.budget.seeds = 17;
    Finished const first = run_search(config, subject, {});
    EXPECT_EQ(first.result.counts.global_seeds, 17);
    EXPECT_STREQ(first.result.cut.reason, "seeds");
    for (auto const& [row, entry] : first.entries) ASSERT_LT(Finder::seed(entry.finder), 17U);
    expect_deterministic(config, subject, first);
  }
}

TEST(Search, BudgetOfIterations) {
  TemporaryFolder const folder;
  RunConfig config = budget_config(folder);
  TestSubject const subject(config);
  for (char const* method : {"eidig", "adf", "margin"}) {
    SCOPED_TRACE(method);
    config.method = method;
    config.budget = {};
    Finished const whole = run_search(config, subject, {});
    for (std::int64_t const limit :
         {std::int64_t{1}, std::int64_t{60}, whole.result.counts.iterations / 2,
          whole.result.counts.iterations - 1, whole.result.counts.iterations * 2}) {
      SCOPED_TRACE(limit);
      config.budget.iterations = limit;
      Finished const first = run_search(config, subject, {});
      expect_deterministic(config, subject, first);
      if (limit > whole.result.counts.iterations) {
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

TEST(Search, BudgetOfInstances) {
  TemporaryFolder const folder;
  RunConfig config = budget_config(folder);
  TestSubject const subject(config);
  for (char const* method : {"eidig", "margin"}) {
    SCOPED_TRACE(method);
    config.method = method;
    config.budget = {};
    Finished const whole = run_search(config, subject, {});
    for (std::int64_t const limit :
         {std::int64_t{1}, std::int64_t{20}, whole.hits() / 2, whole.hits()}) {
      SCOPED_TRACE(limit);
      config.budget.instances = limit;
      Finished const first = run_search(config, subject, {});
      expect_deterministic(config, subject, first);
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
TEST(Search, BudgetOfSecondsReplays) {
  TemporaryFolder const folder;
  RunConfig config = budget_config(folder);
  config.global.num = 300;
  config.local.num = 3000;
  TestSubject const subject(config);
  for (char const* method : {"eidig", "margin", "themis"}) {
    for (double const seconds : {0.0, 0.003, 0.03}) {
      SCOPED_TRACE(std::string(method) + " " + std::to_string(seconds) + " s");
      config.method = method;
      config.budget.seconds = seconds;
      Finished const timed = run_search(config, subject, {2, 0, "", How{}.memory, {}});
      if (*timed.result.cut.reason == '\0') continue;  // it was done before
      EXPECT_STREQ(timed.result.cut.reason, "seconds");
      expect_same(timed, run_search(config, subject, {1, 0, "", How{}.memory, timed.result.cut}));
      expect_same(timed,
                  run_search(config, subject, {3, 5, "portable", How{}.memory, timed.result.cut}));
    }
  }
}

TEST(Search, StopsWhenAsked) {
  TemporaryFolder const folder;
  RunConfig const config = budget_config(folder);
  TestSubject const subject(config);
  SeedSource const seeds(config, find_method("eidig"), subject);
  CpuOptions options;
  options.threads = 2;
  auto const backend = make_cpu_backend(subject.view(), options);
  std::atomic<bool> const stop{true};
  SearchOptions search_options;
  search_options.stop = &stop;
  expect_error(ExitCode::kInterrupted, {"interrupted"},
               [&] { search(config, find_method("eidig"), seeds, *backend, search_options); });
}

TEST(Search, ProgressEndsAtTheCounts) {
  TemporaryFolder const folder;
  RunConfig const config = budget_config(folder);
  TestSubject const subject(config);
  SeedSource const seeds(config, find_method("eidig"), subject);
  CpuOptions options;
  options.threads = 2;
  auto const backend = make_cpu_backend(subject.view(), options);
  SearchProgress progress;
  SearchOptions search_options;
  search_options.progress = &progress;
  auto const result = search(config, find_method("eidig"), seeds, *backend, search_options);
  EXPECT_EQ(progress.phase, 1);
  EXPECT_EQ(progress.done, result.counts.global_unique);
  EXPECT_EQ(progress.total, result.counts.global_unique);
  EXPECT_EQ(progress.iterations, result.counts.iterations);
}

}  // namespace
}  // namespace fairlane
