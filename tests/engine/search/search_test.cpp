// The lockstep search: the same findings however it is executed, equal to a search of one input
// after the other.
#include "engine/search/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "kernels/core/steps.h"
#include "tests/engine/search/golden_subject.h"
#include "tests/engine/search/run_search.h"

namespace fairlane {
namespace {

using naive::Row;

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
    expect_same_however_executed(config, subject);
    if (HasFailure()) return;
  }
}

// Without and within a memory limit that the run exceeds: the same findings, some of them handed
// out early.
class SearchMemory : public ::testing::TestWithParam<char const*> {};

TEST_P(SearchMemory, LimitsDoNotShowEither) {
  TemporaryFolder const folder;
  RunConfig const config = overflowing_config(folder, GetParam());
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
                         ::testing::Values("one output", "several outputs", "tanh", "silu", "gelu",
                                           "wide domain", "many variants", "undefined members",
                                           "constrained", "plausible"),
                         name_of_kind);
INSTANTIATE_TEST_SUITE_P(Subjects, SearchMemory,
                         ::testing::Values("one output", "several outputs", "tanh", "silu", "gelu",
                                           "wide domain", "many variants", "undefined members",
                                           "constrained"),
                         name_of_kind);

TEST(Search, ExecutionNeverShowsOnCensus) {
  FL_NEED_BENCHMARKS(benchmarks);
  for (char const* method : {"adf", "eidig", "maft", "margin"}) {
    SCOPED_TRACE(method);
    RunConfig config = golden_config(benchmarks, {"census", "age+gender"}, method);
    config.local.num = 10;
    config.budget.seeds = 40;
    TestSubject const subject(config);
    Finished const first = run_search(config, subject, {.threads = 2, .batch = 64});
    EXPECT_GT(first.hits(), 0);
    auto const all = executions();
    // some of them, so that every instruction set, batch and number of threads occurs
    for (std::size_t i = 0; i < all.size(); i += 4) {
      SCOPED_TRACE(describe(all[i]));
      expect_same(first, run_search(config, subject, all[i]));
    }
  }
}

// --- one input after the other
// ---------------------------------------------------------------------------------------

/// EIDIG as its paper has it, in the contract's arithmetic and with its draws.
class SequentialEidig {
 public:
  SequentialEidig(TestSubject const& subject, RunConfig const& config, bool may_be_undefined)
      : view_(subject.view()),
        config_(config),
        may_be_undefined_(may_be_undefined),
        reference_(view_),
        movable_(movable_attributes(view_)) {}

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
    auto const state = static_cast<std::uint8_t>(probe.pair >= 0                  ? kVisitHit
                                                 : probe.label == kUndefinedLabel ? kVisitUndefined
                                                 : probe.irregular                ? kVisitUncertain
                                                                                  : 0);
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
      if (probe.labels[v] != probe.label && probe.labels[v] != kUndefinedLabel)
        others.push_back(static_cast<std::int32_t>(v));
    }
    auto const bits = static_cast<std::size_t>(
        view_.network.back().outputs > 2 ? 2 : 1);  // 3 or 4 classes at most here
    bool const by_trial = may_be_undefined_ || bits * probe.labels.size() > kPackedLabelBits;
    for (std::uint32_t t = 1; by_trial && t <= kPartnerTries; ++t) {
      auto const v = static_cast<std::int32_t>(draw(word(t, 0), probe.labels.size()));
      if (std::find(others.begin(), others.end(), v) != others.end()) return v;
    }
    return others[draw(word(0, 2), others.size())];
  }

  /// What a step from there may come to: one in 256 equally likely slacks is drawn.
  std::int64_t most_surprise(Row const& x, std::uint32_t seed, std::uint32_t iteration) const {
    if (view_.finding_constraints.empty()) return 0;
    std::int64_t const bound = view_.finding_constraints[0].bound;
    if (view_.finding_slack.empty()) return bound;
    auto const word = philox<ScalarPack>(seed, 1U, iteration, kStepDraw, config_.seed).w[2];
    return std::min(bound, naive::surprise(view_, x) + view_.finding_slack[word >> 24]);
  }

  void take_step(Floats const& now, RandomWords<ScalarPack> const& words, std::int32_t step,
                 Row& x) const {
    float total = 0.0F;
    for (float const w : now) total = total + w;
    float const target = static_cast<float>(words.w[0] >> 8) * 0x1p-24F * total;
    std::size_t pick = 0;
    for (float sum = now[0]; pick + 1 < now.size() && !(sum > target); sum = sum + now[pick])
      ++pick;
    move(x, movable_[pick], (words.w[1] >> 31) == 0 ? step : -step);
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
      Row const before = x;
      take_step(now, words, step, x);
      std::int64_t const most = most_surprise(before, seed, iteration);
      for (std::uint32_t t = 0; t < kStepDraws && naive::surprise(view_, x) > most; ++t) {
        x = before;
        take_step(now, philox<ScalarPack>(seed, 1U, iteration, kStepDraw + t, config_.seed), step,
                  x);
      }
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
  bool may_be_undefined_;  // labels are not kept, as where they are too many
  naive::FloatReference reference_;
  std::vector<std::size_t> movable_;
};

class SearchSequential : public ::testing::TestWithParam<char const*> {};

TEST_P(SearchSequential, IsTheLockstepSearch) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, shape_of(GetParam()));
  config.global.num = 20;
  config.local.num = 60;
  for (std::uint32_t const interval : {5U, 1U, 0U, kNeverUpdate}) {  // 0: before every step
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
    bool const may_be_undefined = shape_of(GetParam()).overflows ||
                                  !subject.constraints().empty() || subject.limits_findings();
    SequentialEidig sequential(subject, config, may_be_undefined);
    sequential.run(rows);
    Finished const lockstep = run_search(config, subject, {.threads = 2, .batch = 16});
    EXPECT_EQ(lockstep.entries.size(), sequential.visited.size());
    EXPECT_TRUE(lockstep.entries == sequential.visited);
    EXPECT_GT(lockstep.hits(), 0);
    Row last;
    for (auto const& row : sequential.last) last.insert(last.end(), row.begin(), row.end());
    EXPECT_EQ(lockstep.result.last_rows, last);
  }
}

INSTANTIATE_TEST_SUITE_P(Subjects, SearchSequential,
                         ::testing::Values("one output", "several outputs", "tanh", "silu", "gelu",
                                           "wide domain", "many variants", "undefined members",
                                           "constrained", "many undefined", "many constrained",
                                           "plausible", "many plausible"),
                         name_of_kind);

TEST(Search, WideDomainsUseSeveralWords) {
  TemporaryFolder const folder;
  RunConfig const config = small_config(folder, shape_of("wide domain"));
  TestSubject const subject(config);
  EXPECT_GT(PackedSubject(subject.view(), 4).keys().words, 1);
}

}  // namespace
}  // namespace fairlane
