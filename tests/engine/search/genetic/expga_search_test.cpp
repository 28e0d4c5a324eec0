// ExpGA against a plain sequential program, and however it is executed.
#include "engine/search/genetic/expga_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "engine/search/genetic/expga_breeding.h"
#include "engine/search/genetic/lime.h"
#include "tests/engine/search/network_scorer.h"
#include "tests/engine/search/run_search.h"

namespace fairlane {
namespace {

RunConfig expga_config(TemporaryFolder const& folder, SmallShape const& shape) {
  RunConfig config = small_config(folder, shape);
  config.method = "expga";
  config.global.num = 40;
  config.global.seeding = "uniform";
  config.local.num = 12;
  config.expga.samples = 60;
  config.expga.rank = 2;
  return config;
}

/// One population, one individual and one member of a similar set after the other.
class PlainExpga {
 public:
  PlainExpga(RunConfig const& config, TestSubject const& subject)
      : config_(config), subject_(subject), model_(subject.view()) {}

  void run() {
    find_seeds();
    std::vector<std::uint32_t> fitness;
    for (std::size_t i = 0; i < people.size(); ++i)
      fitness.push_back(evaluate(people[i], Phase::kGlobal, numbers[i]));
    auto const genes = genes_of(subject_.view());
    std::uint32_t test = 0;
    for (std::int64_t g = 0; g < config_.local.num && !people.empty(); ++g) {
      std::vector<std::int32_t> rows;
      for (Row const& row : people) rows.insert(rows.end(), row.begin(), row.end());
      breed(genes, fitness, {0, static_cast<std::uint32_t>(g), config_.seed}, rows);
      for (std::size_t i = 0; i < people.size(); ++i) {
        std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(i * genes.size()), genes.size(),
                    people[i].begin());
        fitness[i] = evaluate(people[i], Phase::kLocal, test++);
      }
    }
  }

  std::vector<std::uint8_t> chosen;    // of every input that was explained
  std::vector<std::uint32_t> numbers;  // of the seeds
  std::vector<Row> people;
  std::map<Row, std::uint64_t> finder;
  std::set<Row> idis;

 private:
  void find_seeds() {
    SeedSource const inputs(config_, find_method("expga"), subject_);
    LimeExplainer const explainer(subject_, config_.expga.samples, config_.seed);
    for (std::uint32_t i = 0; i < inputs.count() && people.size() < 100; ++i) {
      Row row(subject_.view().low.size());
      inputs.rows(i, 1, row.data());
      for (std::size_t s = 0; s < subject_.selected().size(); ++s)
        row[static_cast<std::size_t>(subject_.selected()[s])] = subject_.values()[s].front();
      auto const coefficients = explainer.explain(row.data(), i);
      bool seed = false;
      for (std::int32_t const a : subject_.selected())
        seed = seed || rank_of(coefficients, static_cast<std::size_t>(a)) < *config_.expga.rank;
      chosen.push_back(seed ? 1 : 0);
      if (!seed) continue;
      numbers.push_back(i);
      people.push_back(row);
      seeds_.insert(row);
    }
  }

  std::uint32_t evaluate(Row const& row, Phase phase, std::uint32_t number) {
    finder.emplace(row, Finder::pack(phase, number, 1));
    std::int32_t const own = model_.label(row);
    std::uint32_t difference = 0;
    for (Row const& member : naive::similar_set(subject_.view(), row)) {
      if (member == row) continue;
      std::int32_t const label = model_.label(member);
      bool const defined = own != kUndefinedLabel && label != kUndefinedLabel;
      difference = defined ? static_cast<std::uint32_t>(std::abs(own - label)) : 0;
      if (difference == 0) continue;
      bool const is_new = !seeds_.contains(row) && !idis.contains(row);
      idis.insert(row);
      if (is_new) break;
    }
    return 2 * difference + 1;
  }

  RunConfig const& config_;
  TestSubject const& subject_;
  naive::FloatReference model_;
  std::set<Row> seeds_;
};

class Expga : public ::testing::TestWithParam<char const*> {};

TEST_P(Expga, OnePopulationIsTheSequentialProgram) {
  TemporaryFolder const folder;
  RunConfig config = expga_config(folder, shape_of(GetParam()));
  for (std::uint64_t const seed : {1U, 2U, 3U}) {
    SCOPED_TRACE(seed);
    config.seed = seed;
    TestSubject const subject(config);
    PlainExpga plain(config, subject);
    plain.run();
    EXPECT_GT(plain.numbers.size(), 1U);
    bool const always = GetParam() == std::string("many variants");  // its attributes rank high
    EXPECT_EQ(plain.numbers.size() == plain.chosen.size(), always);
    EXPECT_GT(plain.idis.size(), 0U);
    Finished const found = run_search(config, subject, {.threads = 2});
    auto const& counts = found.result.counts;
    EXPECT_EQ(counts.global_seeds, static_cast<std::int64_t>(plain.chosen.size()));
    auto const people = static_cast<std::int64_t>(plain.numbers.size());
    EXPECT_EQ(counts.iterations, people * (1 + config.local.num));
    EXPECT_EQ(counts.model_evaluations,
              counts.iterations * subject.variants() + counts.global_seeds * config.expga.samples);
    for (std::size_t i = 0; i < plain.chosen.size(); ++i)
      EXPECT_EQ(found.result.global[i].iterations, plain.chosen[i]);
    ASSERT_EQ(found.entries.size(), plain.finder.size());
    for (auto const& [row, entry] : found.entries) {
      auto const at = plain.finder.find(row);
      ASSERT_NE(at, plain.finder.end());
      EXPECT_EQ(entry.finder, at->second);
      EXPECT_EQ((entry.state & kVisitHit) != 0, plain.idis.contains(row));
    }
  }
}

TEST_P(Expga, IsTheSameHoweverItIsExecuted) {
  TemporaryFolder const folder;
  RunConfig config = expga_config(folder, shape_of(GetParam()));
  config.global.num = 150;
  config.expga.samples = 20;
  config.expga.rank = 5;
  config.expga.populations = 3;
  config.local.num = 4;
  TestSubject const subject(config);
  expect_same_however_executed(config, subject);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Expga,
                         ::testing::Values("one output", "several outputs", "many variants",
                                           "undefined"),
                         name_of_kind);

TEST(ExpgaSearch, EndsWithAFullPopulation) {
  TemporaryFolder const folder;
  RunConfig config = expga_config(folder, {});
  config.global.num = 350;
  config.expga.samples = 1;  // without another sample all coefficients are 0
  config.expga.rank = 6;
  config.local.num = 2;
  for (std::int64_t const populations : {1, 2, 9}) {
    config.expga.populations = populations;
    TestSubject const subject(config);
    Finished const found = run_search(config, subject, {.threads = 3});
    std::int64_t const people = std::min<std::int64_t>(100 * populations, config.global.num);
    EXPECT_EQ(found.result.counts.global_seeds, people);
    EXPECT_EQ(found.result.counts.iterations, 3 * people);
    EXPECT_STREQ(found.result.cut.reason, "");
  }
}

// Populations breed among themselves.
TEST(ExpgaSearch, MorePopulationsLeaveTheFirstAsItIs) {
  TemporaryFolder const folder;
  RunConfig config = expga_config(folder, {});
  config.global.num = 200;
  config.expga.rank = 6;
  config.local.num = 1;
  TestSubject const subject(config);
  Finished const one = run_search(config, subject, {});
  config.expga.populations = 2;
  Finished const two = run_search(config, subject, {});
  for (auto const& [row, entry] : one.entries) {
    ASSERT_TRUE(two.entries.contains(row));
    EXPECT_LE(two.entries.at(row).finder, entry.finder);
  }
  EXPECT_GT(two.entries.size(), one.entries.size());
}

TEST(ExpgaSearch, WithoutSeedsThereIsNothingToBreed) {
  TemporaryFolder const folder;
  SmallShape shape;
  shape.selected = {4};
  RunConfig config = expga_config(folder, shape);
  config.expga.rank = 1;
  TestSubject const subject(config);
  Finished const found = run_search(config, subject, {});
  EXPECT_STREQ(found.result.cut.reason, "");
  EXPECT_EQ(found.entries.size(), 0U);
  EXPECT_EQ(found.result.counts.model_evaluations, config.global.num * config.expga.samples);
}

TEST(ExpgaSearch, BudgetsEndItBehindATest) {
  TemporaryFolder const folder;
  RunConfig config = expga_config(folder, {});
  TestSubject const subject(config);
  Finished const whole = run_search(config, subject, {});
  auto const& all = whole.result.counts;
  std::int64_t const variants = subject.variants();
  for (std::int64_t const part : {1, 3, 10, 60, 99}) {
    SCOPED_TRACE(part);
    auto const check = [&](Finished const& some, char const* reason) {
      EXPECT_STREQ(some.result.cut.reason, reason);
      for (auto const& [row, entry] : some.entries) ASSERT_EQ(whole.entries.at(row), entry);
      expect_same(some, run_search(config, subject, {.threads = 3, .batch = 7}));
    };
    config.budget.iterations = std::max<std::int64_t>(1, all.iterations * part / 100);
    Finished const tests = run_search(config, subject, {});
    EXPECT_EQ(tests.result.counts.iterations, *config.budget.iterations);
    check(tests, "iterations");
    config.budget = {};
    config.budget.evaluations = all.model_evaluations * part / 100;
    Finished const evaluations = run_search(config, subject, {});
    std::int64_t const spent = evaluations.result.counts.model_evaluations;
    EXPECT_GE(spent, *config.budget.evaluations);
    EXPECT_LT(spent, *config.budget.evaluations + config.expga.samples + variants);
    check(evaluations, "evaluations");
    config.budget = {};
    config.budget.instances = std::max<std::int64_t>(1, whole.hits() * part / 100);
    Finished const instances = run_search(config, subject, {});
    EXPECT_EQ(instances.hits(), *config.budget.instances);
    check(instances, "instances");
    config.budget = {};
  }
  config.budget.seeds = 10;
  Finished const seeds = run_search(config, subject, {});
  EXPECT_EQ(seeds.result.counts.global_seeds, 10);
  EXPECT_STREQ(seeds.result.cut.reason, "seeds");
}

TEST(ExpgaSearch, TheClockEndsItWhereItIsAndItIsRepeated) {
  TemporaryFolder const folder;
  RunConfig config = expga_config(folder, {});
  TestSubject const subject(config);
  std::int64_t looks = 0;
  auto const ticking = [&] { return static_cast<double>(looks++); };
  bool in_global = false;
  bool in_local = false;
  for (double const seconds : {2.0, 9.0, 20.0, 45.0, 48.0, 52.0}) {
    config.budget.seconds = seconds;
    looks = 0;
    Finished const timed = run_search(config, subject, {.seconds = ticking});
    if (*timed.result.cut.reason == '\0') continue;
    EXPECT_STREQ(timed.result.cut.reason, "seconds");
    (timed.result.cut.local_seeds > 0 ? in_local : in_global) = true;
    Cut const& cut = timed.result.cut;
    expect_same(timed, run_search(config, subject, {.threads = 2, .batch = 3, .replay = cut}));
  }
  EXPECT_TRUE(in_global);
  EXPECT_TRUE(in_local);
}

TEST(ExpgaSearch, ScorersAreSearchedAsNetworks) {
  TemporaryFolder const folder;
  RunConfig const config = expga_config(folder, shape_of("several outputs"));
  TestSubject const network(config);
  TestSubject const scorer(config, disguised(network.view(), ScoreKind::kLogits));
  auto const make = [&](VisitSink overflow) {
    CpuOptions options;
    options.seed = config.seed;
    options.overflow = std::move(overflow);
    return make_scorer_backend(scorer.view(), options);
  };
  expect_same(run_search(config, network, {}), run_search_on(config, scorer, make));
}

}  // namespace
}  // namespace fairlane
