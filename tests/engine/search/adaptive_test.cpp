// AEQUITAS: one lane at a time it is the published rule step by step, and however a population is
// executed it is the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "engine/search/lockstep/step_adaptation.h"
#include "tests/engine/search/run_search.h"

namespace fairlane {
namespace {

constexpr std::array kAequitas = {"aequitas-random", "aequitas-semi", "aequitas-fully"};

/// What the rule has learnt: P(-1) in thousandths and P(attribute), for each attribute that may
/// change.
struct Learnt {
  std::vector<int> dp;
  std::vector<double> pp;
};

/// A local step as the rule takes it.
struct Step {
  std::size_t attribute;  // number among those that may change
  int direction;
  bool hit;
  bool accepted;
  Row row;  // where the lane then stands
};

/// The rule as the paper and the authors' program have it, one input at a time; with `lanes` above
/// one, the steps of so many origins are taken with the same probabilities, and then learnt from
/// together.
class SequentialAequitas {
 public:
  SequentialAequitas(RunConfig const& config, TestSubject const& subject)
      : config_(config),
        view_(subject.view()),
        reference_(view_),
        kind_(config.method),
        movable_(movable_attributes(view_)) {
    learnt_.dp.assign(movable_.size(), 500);
    learnt_.pp.assign(movable_.size(), 1.0 / static_cast<double>(movable_.size()));
    SeedSource const seeds(config, find_method(config.method), subject);
    std::set<Row> known;
    Row row(view_.low.size());
    for (std::uint32_t draw = 0; draw < seeds.count(); ++draw) {
      seeds.rows(draw, 1, row.data());
      bool const hit = visit(row, Finder::pack(Phase::kGlobal, draw, 1));
      if (hit && known.insert(row).second) origins_.push_back({draw, row});
    }
  }

  using Origins = std::vector<std::pair<std::uint32_t, Row>>;
  Origins const& origins() const { return origins_; }
  Entries const& entries() const { return entries_; }
  Learnt const& learnt() const { return learnt_; }

  void run() {
    auto const lanes = static_cast<std::size_t>(config_.aequitas.lanes);
    for (std::size_t first = 0; first < origins_.size(); first += lanes) {
      std::vector<Lane> population;
      for (std::size_t i = first; i < std::min(origins_.size(), first + lanes); ++i)
        population.push_back(begin(i));
      for (std::uint32_t i = 1; i <= config_.local.num; ++i) {
        std::vector<Step> steps;
        for (auto& lane : population) steps.push_back(step(lane, i));
        learn(steps);
      }
    }
  }

  struct Lane {
    std::uint32_t seed;
    Row origin;
    Row row;
    bool on_hit = true;
  };
  Lane begin(std::size_t origin) const {
    return {origins_[origin].first, origins_[origin].second, origins_[origin].second};
  }

  Step step(Lane& lane, std::uint32_t iteration) {
    auto const words = philox<ScalarPack>(lane.seed, static_cast<std::uint32_t>(Phase::kLocal),
                                          iteration, 0, config_.seed);
    Step step{};
    double const lot = std::floor(words.w[0] / 4.0);
    double sum = 0.0;
    while (step.attribute + 1 < movable_.size()) {
      sum += learnt_.pp[step.attribute];
      if (lot < std::round(std::min(sum, 1.0) * 1073741824.0)) break;
      ++step.attribute;
    }
    std::size_t const a = movable_[step.attribute];
    bool const at_bound = lane.row[a] == view_.low[a] || lane.row[a] == view_.high[a];
    int const odds = at_bound ? 500 : learnt_.dp[step.attribute];
    step.direction = std::floor(words.w[1] * 1000.0 / 4294967296.0) < odds ? -1 : 1;
    Row to = lane.row;
    to[a] = std::clamp(lane.row[a] + step.direction * static_cast<std::int32_t>(config_.local.step),
                       view_.low[a], view_.high[a]);
    step.hit = visit(to, Finder::pack(Phase::kLocal, lane.seed, iteration));
    bool const likely = words.w[2] / 4294967296.0 < std::exp(-1.0);
    switch (config_.aequitas.acceptance) {
      case Acceptance::kMetropolis:
        step.accepted = step.hit || !lane.on_hit || likely;
        if (step.accepted) lane.row = to;
        break;
      case Acceptance::kAlways:
        step.accepted = true;
        lane.row = to;
        break;
      case Acceptance::kReset:
        step.accepted = step.hit;
        lane.row = step.hit ? to : lane.origin;
        break;
    }
    if (step.accepted) lane.on_hit = step.hit;
    step.row = lane.row;
    return step;
  }

  void learn(std::vector<Step> const& steps) {
    int const unit = static_cast<int>(config_.local.step);
    if (kind_ != "aequitas-random") {
      std::vector<int> change(movable_.size());
      for (auto const& s : steps) change[s.attribute] += s.hit == (s.direction < 0) ? unit : -unit;
      for (std::size_t i = 0; i < change.size(); ++i)
        learnt_.dp[i] = std::clamp(learnt_.dp[i] + change[i], 0, 1000);
    }
    if (kind_ != "aequitas-fully") return;
    if (steps.size() == 1) {  // the program's lines, to the letter
      double& p = learnt_.pp[steps[0].attribute];
      p = steps[0].hit ? p + 0.001 : std::max(p - 0.001, 0.0);
      normalise();
      return;
    }
    std::vector<double> net(movable_.size());
    for (auto const& s : steps) net[s.attribute] += s.hit ? 1 : -1;
    auto const parts = (steps.size() + 7) / 8;
    for (std::size_t part = 0; part < parts; ++part) {
      for (std::size_t i = 0; i < net.size(); ++i)
        learnt_.pp[i] =
            std::max(learnt_.pp[i] + 0.001 * (net[i] / static_cast<double>(parts)), 0.0);
      normalise();
    }
  }

 private:
  void normalise() {
    double sum = 0.0;
    for (double const p : learnt_.pp) sum += p;
    for (double& p : learnt_.pp) p /= sum;
  }

  bool visit(Row const& row, std::uint64_t finder) {
    auto const probe = reference_.probe(row);
    bool const hit = probe.pair >= 0;
    auto const state = static_cast<std::uint8_t>(hit                              ? kVisitHit
                                                 : probe.label == kUndefinedLabel ? kVisitUndefined
                                                 : probe.irregular                ? kVisitUncertain
                                                                                  : 0);
    auto const [at, fresh] = entries_.insert({row, {finder, state}});
    if (!fresh) at->second.finder = std::min(at->second.finder, finder);
    return hit;
  }

  RunConfig const& config_;
  SubjectView const& view_;
  naive::FloatReference reference_;
  std::string kind_;
  std::vector<std::size_t> movable_;
  Learnt learnt_;
  Origins origins_;
  Entries entries_;
};

RunConfig adaptive_config(TemporaryFolder const& folder, char const* kind) {
  RunConfig config = small_config(folder, shape_of(kind));
  config.global.num = 40;
  config.local.num = 40;
  config.aequitas.lanes = 1;
  return config;
}

class Aequitas : public ::testing::TestWithParam<char const*> {};

// Attribute, direction, outcome, acceptance and both kinds of probabilities after every single
// step.
TEST_P(Aequitas, OneLaneIsTheSequentialRuleStepByStep) {
  TemporaryFolder const folder;
  RunConfig config = adaptive_config(folder, GetParam());
  config.global.num = 100;
  config.local.num = 150;
  for (char const* method : kAequitas) {
    for (auto const acceptance :
         {Acceptance::kMetropolis, Acceptance::kAlways, Acceptance::kReset}) {
      SCOPED_TRACE(std::string(method) + ", " + name_of(acceptance));
      config.method = method;
      config.aequitas.acceptance = acceptance;
      TestSubject const subject(config);
      SequentialAequitas rule(config, subject);
      ASSERT_GE(rule.origins().size(), 3U);
      CpuOptions options;
      options.seed = config.seed;
      auto const backend = make_cpu_backend(subject.view(), options);
      auto const block = backend->make_block(1, Phase::kLocal);
      int const movable = backend->subject().get().movable_count;
      StepAdaptation adaptation(find_method(method), movable, 1);
      std::int64_t refused = 0;
      for (std::size_t origin = 0; origin < 3; ++origin) {
        auto lane = rule.begin(origin);
        block->place({&lane.seed, 1}, lane.row.data());
        block->begin(OddsStep{});
        for (std::uint32_t i = 1; i <= config.local.num; ++i) {
          Step const wanted = rule.step(lane, i);
          rule.learn({wanted});
          std::vector<std::uint64_t> events(static_cast<std::size_t>(movable) *
                                            kEventsPerAttribute);
          block->step(OddsStep{adaptation.odds(), 1, acceptance, events.data()});
          adaptation.learn(events);
          std::vector<std::uint64_t> expected(events.size());
          ++expected[4 * wanted.attribute + (wanted.direction > 0 ? 2U : 0U) +
                     (wanted.hit ? 1U : 0U)];
          Row row(lane.row.size());
          block->row(0, row.data());
          ASSERT_EQ(events, expected) << "step " << i << " of origin " << origin;
          ASSERT_EQ(row, wanted.row) << "step " << i << " of origin " << origin;
          ASSERT_EQ(adaptation.down(), rule.learnt().dp) << "step " << i;
          ASSERT_EQ(adaptation.share(), rule.learnt().pp) << "step " << i;  // the same doubles
          refused += wanted.accepted ? 0 : 1;
        }
        block->retain(std::vector<std::uint8_t>{0});
      }
      EXPECT_EQ(refused > 0, acceptance != Acceptance::kAlways);
    }
  }
}

// Whole runs: every input that they visit, when it was first met, and the counts.
TEST_P(Aequitas, IsTheRuleInPopulationsOfAnySize) {
  TemporaryFolder const folder;
  RunConfig config = adaptive_config(folder, GetParam());
  for (char const* method : kAequitas) {
    for (std::int64_t const lanes : {1, 7, 4096}) {
      SCOPED_TRACE(std::string(method) + ", lanes " + std::to_string(lanes));
      config.method = method;
      config.aequitas.lanes = lanes;
      TestSubject const subject(config);
      SequentialAequitas rule(config, subject);
      rule.run();
      for (int const threads : {1, 3}) {
        Finished const found = run_search(config, subject, {.threads = threads, .batch = 2});
        EXPECT_TRUE(found.entries == rule.entries())
            << found.entries.size() << " and " << rule.entries().size() << " inputs";
        auto const& counts = found.result.counts;
        auto const origins = static_cast<std::int64_t>(rule.origins().size());
        EXPECT_EQ(counts.global_seeds, config.global.num);
        EXPECT_EQ(counts.global_unique, origins);
        EXPECT_EQ(counts.iterations, config.global.num + origins * config.local.num);
        EXPECT_EQ(counts.model_evaluations, counts.iterations * subject.variants());
      }
    }
  }
}

TEST_P(Aequitas, ExecutionNeverShows) {
  TemporaryFolder const folder;
  RunConfig config = adaptive_config(folder, GetParam());
  config.method = "aequitas-fully";
  config.local.num = 15;
  for (std::int64_t const lanes : {3, 200}) {
    SCOPED_TRACE(lanes);
    config.aequitas.lanes = lanes;
    TestSubject const subject(config);
    expect_same_however_executed(config, subject);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Subjects, Aequitas,
                         ::testing::Values("one output", "several outputs", "wide domain",
                                           "many variants", "undefined members", "constrained",
                                           "plausible"),
                         name_of_kind);

// A budget ends a run between populations, or at an origin; and wherever the clock ends it, it can
// be repeated.
TEST(AequitasBudgets, EndWhereItDoesNotMatterHowTheRunIsExecuted) {
  TemporaryFolder const folder;
  RunConfig config = adaptive_config(folder, "one output");
  config.method = "aequitas-semi";
  config.global.num = 100;
  config.aequitas.lanes = 4;
  TestSubject const subject(config);
  Finished const whole = run_search(config, subject, {});
  std::int64_t const origins = whole.result.counts.global_unique;
  ASSERT_GT(origins, 12);
  How const other{.threads = 3, .batch = 1};
  for (std::int64_t const steps : {std::int64_t{1}, std::int64_t{200}, origins * 20}) {
    SCOPED_TRACE(steps);
    config.budget = {};
    config.budget.iterations = config.global.num + steps;
    Finished const found = run_search(config, subject, {});
    std::int64_t const counted = (steps + config.local.num - 1) / config.local.num;
    EXPECT_EQ(found.result.counts.iterations, config.global.num + counted * config.local.num);
    EXPECT_STREQ(found.result.cut.reason, "iterations");
    expect_same(found, run_search(config, subject, other));
  }
  config.budget = {};
  config.budget.instances = whole.hits() / 2;
  Finished const found = run_search(config, subject, {});
  EXPECT_GE(found.hits(), *config.budget.instances);
  EXPECT_LT(found.hits(), whole.hits());
  EXPECT_STREQ(found.result.cut.reason, "instances");
  expect_same(found, run_search(config, subject, other));
  for (auto const& [row, entry] : found.entries) {
    ASSERT_TRUE(whole.entries.contains(row));
    EXPECT_TRUE(whole.entries.at(row) == entry);
  }
  config.budget = {};
  How repeat;
  repeat.replay = Cut{0, config.global.num, 8, "seconds", {}};
  Finished const part = run_search(config, subject, repeat);
  EXPECT_EQ(part.result.counts.iterations, config.global.num + 8 * config.local.num);
  for (auto const& [row, entry] : part.entries) EXPECT_TRUE(whole.entries.at(row) == entry);
}

TEST(StepAdaptation, StaysBetweenItsBounds) {
  constexpr int kAttributes = 3;
  // Attribute 0: only hits, downwards. 1: only misses, downwards. 2: never drawn.
  std::vector<std::uint64_t> events(kAttributes * kEventsPerAttribute);
  events[1] = 100;
  events[4] = 100;
  StepAdaptation fully(find_method("aequitas-fully"), kAttributes, 2);
  for (int round = 0; round < 20; ++round) {
    fully.learn(events);
    double sum = 0.0;
    for (double const share : fully.share()) {
      EXPECT_GE(share, 0.0);
      sum += share;
    }
    EXPECT_NEAR(sum, 1.0, 1e-12);
  }
  EXPECT_EQ(fully.down(), (std::vector<std::int32_t>{1000, 0, 500}));
  EXPECT_EQ(fully.share()[1], 0.0);
  auto const odds = fully.odds();
  EXPECT_EQ(odds.up_to[0], odds.up_to[1]) << "an attribute without a share is never drawn";
  EXPECT_EQ(odds.up_to[2], kAttributeOdds);
  // Only misses, everywhere: no sum of zero.
  std::vector<std::uint64_t> const misses(kAttributes * kEventsPerAttribute, 100'000);
  std::vector<std::uint64_t> none = misses;
  for (std::size_t i = 1; i < none.size(); i += 2) none[i] = 0;
  fully.learn(none);
  for (double const share : fully.share()) EXPECT_TRUE(std::isfinite(share));

  StepAdaptation random(find_method("aequitas-random"), kAttributes, 1);
  StepAdaptation semi(find_method("aequitas-semi"), kAttributes, 1);
  random.learn(events);
  semi.learn(events);
  EXPECT_EQ(random.down(), std::vector<std::int32_t>(kAttributes, 500));
  EXPECT_EQ(semi.down(), (std::vector<std::int32_t>{600, 400, 500}));
  EXPECT_EQ(random.share(), semi.share());
}

// The last attribute takes no rounding error either.
TEST(StepAdaptation, DrawsNoAttributeWithoutAShare) {
  StepAdaptation fully(find_method("aequitas-fully"), 3, 1);
  fully.restore({500, 500, 500}, {0.7, 0.3 - 1e-16, 0.0});
  for (std::uint32_t const word : {0U, 0x7FFFFFFFU, 0xFFFFFFFFU})
    EXPECT_NE(attribute_by_odds<ScalarPack>(fully.odds().up_to, 3, word), 2) << word;
}

// As many steps at once come to about the same as one after the other, whose mean a long sequence
// shows.
TEST(StepAdaptation, ManyStepsAtOnceAreAboutAsManySingleOnes) {
  constexpr std::size_t kAttributes = 4;
  std::array<std::uint64_t, kAttributes> const hits = {40, 30, 20, 5};
  std::array<std::uint64_t, kAttributes> const misses = {10, 20, 30, 45};
  MethodSpec const& method = find_method("aequitas-fully");
  StepAdaptation together(method, kAttributes, 1);
  StepAdaptation single(method, kAttributes, 1);
  std::vector<std::uint64_t> all(kAttributes * kEventsPerAttribute);
  for (std::size_t i = 0; i < kAttributes; ++i) {
    all[4 * i] = misses[i];
    all[4 * i + 1] = hits[i];
  }
  together.learn(all);
  auto left = all;
  for (bool any = true; any;) {  // in turn
    any = false;
    for (std::size_t e = 0; e < left.size(); ++e) {
      if (left[e] == 0) continue;
      --left[e];
      any = true;
      std::vector<std::uint64_t> one(left.size());
      one[e] = 1;
      single.learn(one);
    }
  }
  EXPECT_EQ(together.down(), single.down());
  constexpr double kClose = 0.005;
  for (std::size_t i = 0; i < kAttributes; ++i)
    EXPECT_NEAR(together.share()[i], single.share()[i], kClose) << i;
}

}  // namespace
}  // namespace fairlane
