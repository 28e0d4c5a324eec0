// GRFT: equal to a search of one seed and one origin after the other, however it is executed, and
// as strong as the authors' program.
#include "engine/search/genetic/grft_search.h"
#include "engine/check/check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>

#include "kernels/core/philox.h"
#include "tests/engine/results/run_output.h"
#include "tests/engine/search/golden_subject.h"
#include "tests/engine/search/network_scorer.h"
#include "tests/engine/search/run_search.h"
#include "tests/models/expect_error.h"

namespace fairlane {
namespace {

constexpr std::size_t kGrftIndividuals = 100;

/// The random words of an individual, or of a step of the local phase.
struct GrftDraws {
  std::uint32_t lane;
  Phase phase;
  std::uint32_t iteration;
  std::uint32_t individual;
  std::uint64_t seed;
  std::uint32_t taken = 0;

  std::uint32_t below(std::uint64_t count) {
    auto const block = philox<ScalarPack>(lane, static_cast<std::uint32_t>(phase), iteration,
                                          (individual << 16) + taken / 4, seed);
    return static_cast<std::uint32_t>((block.w[taken++ % 4] * count) >> 32);
  }
  std::int32_t within(std::int32_t reach) {
    return static_cast<std::int32_t>(below(static_cast<std::uint64_t>(2 * reach + 1))) - reach;
  }
  /// The k-th draw is among those that are left, counted from the least.
  std::vector<std::size_t> some_of(std::size_t size, std::size_t count) {
    std::vector<std::size_t> left(count);
    std::iota(left.begin(), left.end(), std::size_t{0});
    std::vector<std::size_t> chosen;
    for (; chosen.size() < size && !left.empty(); std::sort(chosen.begin(), chosen.end())) {
      auto const at = left.begin() + below(left.size());
      chosen.push_back(*at);
      left.erase(at);
    }
    return chosen;
  }
};

/// The method as the authors' program runs it, in the contract's arithmetic and with its draws.
class SequentialGrft {
 public:
  SequentialGrft(TestSubject const& subject, RunConfig const& config)
      : view_(subject.view()),
        config_(config),
        reference_(view_),
        movable_(movable_attributes(view_)) {}

  void run(std::vector<Row> const& seeds) {
    std::map<Row, std::uint32_t> first;
    for (std::uint32_t s = 0; s < seeds.size(); ++s) {
      for (Row const& idi : evolve(s, seeds[s])) first.insert({idi, s});
    }
    for (auto const& [row, seed] : first) origins.emplace_back(seed, row);
    std::sort(origins.begin(), origins.end());
    for (std::uint32_t i = 0; i < origins.size(); ++i) walk(i, origins[i].second);
  }

  Entries visited;
  std::vector<Row> last;
  std::vector<std::pair<std::uint32_t, Row>> origins;
  std::int64_t tests = 0;

 private:
  bool visit(Phase phase, std::uint32_t number, Row const& x) {
    ++tests;
    auto const probe = reference_.probe(x);
    std::uint64_t const finder = Finder::pack(phase, number, 1);
    auto const state = static_cast<std::uint8_t>(probe.pair >= 0                  ? kVisitHit
                                                 : probe.label == kUndefinedLabel ? kVisitUndefined
                                                 : probe.irregular                ? kVisitUncertain
                                                                                  : 0);
    auto const [at, fresh] = visited.insert({x, {finder, state}});
    if (!fresh) at->second.finder = std::min(at->second.finder, finder);
    return probe.pair >= 0;
  }
  Row clipped(Row x) const {
    for (std::size_t a = 0; a < x.size(); ++a) x[a] = std::clamp(x[a], view_.low[a], view_.high[a]);
    return x;
  }
  std::vector<float> outputs(Row const& x) const {
    return reference_.probabilities(reference_.logits(x));
  }

  /// The IDIs of the first generation that has some.
  std::vector<Row> evolve(std::uint32_t seed, Row const& row) {
    std::vector<Row> individuals = first_individuals(seed, row);
    for (int generation = 1;; ++generation) {
      std::vector<Row> idis;
      for (Row const& x : individuals)
        if (visit(Phase::kGlobal, seed, x)) idis.push_back(x);
      bool const ends = !idis.empty() || generation == config_.global.max_iter;
      if (ends) {
        last.push_back(idis.empty() ? individuals.back() : idis.front());
        return idis;
      }
      individuals = next_individuals(seed, static_cast<std::uint32_t>(generation), individuals);
    }
  }
  std::vector<Row> first_individuals(std::uint32_t seed, Row const& row) const {
    GrftDraws of_all{seed, Phase::kGlobal, 0, 0, config_.seed};
    auto const moved = of_all.some_of(2, movable_.size());
    std::vector<Row> individuals = {row};
    for (std::uint32_t i = 1; i < kGrftIndividuals; ++i) {
      GrftDraws draws{seed, Phase::kGlobal, 0, i, config_.seed};
      Row x = row;
      for (std::size_t const m : moved) x[movable_[m]] += draws.within(5);
      individuals.push_back(clipped(x));
    }
    return individuals;
  }
  /// The sums over the members, with both arrays laid out as in the program.
  std::vector<float> fitness(std::vector<Row> const& individuals) const {
    std::vector<std::vector<float>> of_members;
    std::size_t const members = naive::similar_set(view_, individuals[0]).size();
    for (std::size_t m = 0; m < members; ++m)
      for (Row const& x : individuals)
        of_members.push_back(outputs(naive::similar_set(view_, x)[m]));
    std::vector<std::vector<float>> repeated;
    for (Row const& x : individuals) repeated.insert(repeated.end(), members, outputs(x));
    std::vector<float> sums(individuals.size());
    for (std::size_t k = 0; k < repeated.size(); ++k) {
      float difference = 0.0F;
      for (std::size_t c = 0; c < repeated[k].size(); ++c) {
        float const d = std::fabs(repeated[k][c] - of_members[k][c]);
        difference += std::isnan(d) ? 0.0F : d;
      }
      sums[k % individuals.size()] += difference;
    }
    return sums;
  }
  std::vector<Row> next_individuals(std::uint32_t seed, std::uint32_t generation,
                                    std::vector<Row> const& individuals) const {
    auto const fit = fitness(individuals);
    std::vector<std::size_t> ranks(individuals.size());
    std::iota(ranks.begin(), ranks.end(), std::size_t{0});
    std::stable_sort(ranks.begin(), ranks.end(),
                     [&](std::size_t a, std::size_t b) { return fit[a] > fit[b]; });
    std::vector<Row> next;
    for (std::uint32_t i = 0; i < individuals.size(); ++i) {
      if (i == ranks[0]) {
        next.push_back(individuals[i]);
        continue;
      }
      GrftDraws draws{seed, Phase::kGlobal, generation, i, config_.seed};
      auto const one = draws.some_of(3, 10);
      auto const other = draws.some_of(3, 10);
      Row const& father = individuals[ranks[one[0]]];
      Row const& mother = individuals[ranks[other[0] == one[0] ? other[1] : other[0]]];
      Row child = father;
      for (std::size_t const a : movable_) child[a] = draws.below(2) == 0 ? father[a] : mother[a];
      if (draws.below(2) == 0) {
        for (std::size_t const m : draws.some_of(3, movable_.size()))
          child[movable_[m]] += draws.within(3);
      }
      next.push_back(clipped(child));
    }
    return next;
  }
  void walk(std::uint32_t origin, Row x) {
    for (std::uint32_t step = 1; step <= config_.local.num; ++step) {
      GrftDraws draws{0, Phase::kLocal, step, 0, config_.seed};
      Row to = x;
      std::size_t const a = movable_[draws.below(movable_.size())];
      to[a] += draws.below(2) == 0 ? 1 : -1;
      if (visit(Phase::kLocal, origin, clipped(to))) x = to;
    }
  }

  SubjectView const& view_;
  RunConfig const& config_;
  naive::FloatReference reference_;
  std::vector<std::size_t> movable_;
};

/// What a search finds is what one seed and one origin after the other find.
void expect_sequential_grft(RunConfig const& config, TestSubject const& subject) {
  SeedSource const seeds(config, find_method("grft"), subject);
  std::vector<Row> rows(static_cast<std::size_t>(seeds.count()), Row(subject.view().low.size()));
  for (std::size_t s = 0; s < rows.size(); ++s)
    seeds.rows(static_cast<std::int64_t>(s), 1, rows[s].data());
  SequentialGrft expected(subject, config);
  expected.run(rows);
  Finished const found = run_search(config, subject, {.threads = 2});
  EXPECT_TRUE(found.entries == expected.visited)
      << found.entries.size() << " and " << expected.visited.size() << " inputs";
  EXPECT_EQ(found.result.counts.global_unique, std::ssize(expected.origins));
  EXPECT_EQ(found.result.counts.iterations, expected.tests);
  EXPECT_EQ(found.result.counts.model_evaluations, expected.tests * subject.variants());
  Row flat;
  for (Row const& row : expected.last) flat.insert(flat.end(), row.begin(), row.end());
  EXPECT_EQ(found.result.last_rows, flat);
}

class GrftSubjects : public ::testing::TestWithParam<char const*> {
 protected:
  RunConfig grft_config() const {
    RunConfig config = small_config(folder_, shape_of(GetParam()));
    config.method = "grft";
    config.global.num = 12;
    config.local.num = 25;
    return config;
  }
  TemporaryFolder const folder_;
};

TEST_P(GrftSubjects, IsOneSeedAfterTheOther) {
  RunConfig const config = grft_config();
  expect_sequential_grft(config, TestSubject(config));
}

TEST_P(GrftSubjects, ExecutionNeverShows) {
  RunConfig const config = grft_config();
  expect_same_however_executed(config, TestSubject(config));
}

INSTANTIATE_TEST_SUITE_P(Subjects, GrftSubjects,
                         ::testing::Values("one output", "several outputs", "wide domain",
                                           "many variants", "undefined members", "constrained",
                                           "plausible"),
                         name_of_kind);

/// Searches where few inputs are IDIs, so that populations go on for several generations.
class GrftOnRareIdis : public ::testing::Test {
 protected:
  static RunConfig rare_config(TemporaryFolder const& folder) {
    SmallShape shape;
    shape.ranges = {2, 40, 30, 50, 2, 60, 40};
    shape.selected = {0};
    RunConfig config = small_config(folder, shape, 200);
    config.method = "grft";
    config.global.num = 60;
    config.local.num = 40;
    return config;
  }
  /// Seeds whose first generation held no IDI.
  static std::int64_t second_generations(SearchResult const& result) {
    return std::ranges::count_if(result.global, [](GlobalOutcome const& seed) {
      return seed.iterations > kGrftIndividuals;
    });
  }

  TemporaryFolder const folder_;
  RunConfig config_ = rare_config(folder_);
  TestSubject const subject_{config_};
};

TEST_F(GrftOnRareIdis, GenerationsComeCloserToThem) {
  config_.local.num = 0;
  std::int64_t before = -1;
  for (int const generations : {1, 4, 10}) {
    config_.global.max_iter = generations;
    Finished const found = run_search(config_, subject_, {});
    EXPECT_GT(found.result.counts.global_found, before) << generations << " generations";
    before = found.result.counts.global_found;
  }
  EXPECT_LT(before, config_.global.num);
}

TEST_F(GrftOnRareIdis, IsOneSeedAfterTheOther) {
  config_.global.num = 20;
  expect_sequential_grft(config_, subject_);
}

TEST_F(GrftOnRareIdis, ExecutionNeverShows) {
  Finished const first = run_search(config_, subject_, {});
  EXPECT_GT(second_generations(first.result), 5);
  expect_same_however_executed(config_, subject_);
}

// A budget ends a run behind the seed that reaches it, wherever its waves end.
TEST_F(GrftOnRareIdis, BudgetsEndBehindASeed) {
  Finished const whole = run_search(config_, subject_, {});
  std::int64_t tests = 0;
  for (auto const& seed : whole.result.global) tests += seed.iterations;
  for (std::int64_t const limit : {std::int64_t{1}, tests / 3, tests - 1, tests}) {
    SCOPED_TRACE(limit);
    config_.budget.iterations = limit;
    Finished const first = run_search(config_, subject_, {.threads = 2, .batch = 64});
    EXPECT_STREQ(first.result.cut.reason, "iterations");
    EXPECT_EQ(first.result.cut.local_seeds, 0);
    EXPECT_GE(first.result.counts.iterations, limit);
    EXPECT_LT(first.result.counts.iterations - first.result.global.back().iterations, limit);
    for (auto const& [row, entry] : first.entries) ASSERT_EQ(whole.entries.at(row), entry);
    expect_same(first, run_search(config_, subject_, {.batch = 4096}));
  }
}

// Generations that the clock leaves unfinished count, and a repetition takes as many.
TEST_F(GrftOnRareIdis, TheClockEndsASeedBetweenGenerations) {
  int unfinished = 0;
  for (double const seconds : {1.0, 3.0, 8.0, 20.0}) {
    SCOPED_TRACE(seconds);
    config_.budget.seconds = seconds;
    double looks = 0.0;
    Finished const timed =
        run_search(config_, subject_, {.batch = 900, .seconds = [&] { return ++looks; }});
    Cut const& cut = timed.result.cut;
    EXPECT_STREQ(cut.reason, "seconds");
    unfinished += cut.local_seeds == 0 && !cut.unfinished.empty() ? 1 : 0;
    for (How const& how : {How{.batch = 7, .replay = cut}, How{.threads = 3, .replay = cut}})
      expect_same(timed, run_search(config_, subject_, how));
  }
  EXPECT_GT(unfinished, 0);
}

// What is on its way is saved between two generations, or two steps, and goes on there.
TEST_F(GrftOnRareIdis, ARunGoesOnFromAnyRound) {
  config_.output.trace = true;
  config_.local.num = 12;
  run(to(config_, folder_.file("whole")), options_with(1));
  int sessions = 0;
  for (bool finished = false; !finished; ++sessions) {
    ASSERT_LT(sessions, 200);
    std::atomic<bool> stop{false};
    int looks = 0;
    RunOptions options = options_with(1 + sessions % 2);
    options.execution.batch = 300 + 100 * (sessions % 3);
    options.execution.checkpoint = 1e9;
    options.search.stop = &stop;
    options.now = [&] {
      constexpr int kRounds = 3;  // of a session
      if (++looks > kRounds) stop = true;
      return 0.0;
    };
    try {
      run(to(config_, folder_.file("often")), options);
      finished = true;
    } catch (Error const& error) {
      ASSERT_EQ(error.code(), ExitCode::kStopped) << error.what();
    }
  }
  EXPECT_GT(sessions, 5);
  expect_same_output(folder_.file("whole"), folder_.file("often"));
  EXPECT_EQ(check_directory(folder_.file("often")).failed, 0);
}

// A model may fail while a generation is tested, or while the next one is bred: either way it is
// tested again.
TEST_F(GrftOnRareIdis, ARunGoesOnWhereItsModelHasFailed) {
  config_.global.num = 6;
  config_.global.max_iter = 4;
  config_.local.num = 4;
  config_.output.trace = true;
  auto const run_with = [&](char const* name, ScorerFaults const& faults) {
    RunOptions options = options_with(1);
    options.execution.batch = 150;
    options.execution.model = disguised(subject_.view(), ScoreKind::kProbabilities, faults);
    run(to(config_, folder_.file(name)), options);
  };
  ScorerFaults counted;
  counted.calls = std::make_shared<std::int64_t>(0);
  run_with("whole", counted);
  ASSERT_GT(*counted.calls, 20);
  for (std::int64_t at = 0; at < *counted.calls; at += 1 + *counted.calls / 20) {
    SCOPED_TRACE(at);
    ScorerFaults faults;
    faults.failing_call = at;
    expect_error(ExitCode::kStopped, {"has died", "the same command goes on"},
                 [&] { run_with("failed", faults); });
    run_with("failed", {});
    expect_same_output(folder_.file("whole"), folder_.file("failed"));
    std::filesystem::remove_all(folder_.file("failed"));
  }
}

/// Mean of what ten run seeds find on the first 100 golden seeds.
struct GrftMeans {
  double global = 0.0;
  double all = 0.0;
};
GrftMeans means_of_ten(RunConfig config) {
  TestSubject const subject(config);
  constexpr int kRuns = 10;
  GrftMeans means;
  for (config.seed = 1; config.seed <= kRuns; ++config.seed) {
    auto const found = run_method(config, subject);
    means.global += static_cast<double>(found.result.counts.global_unique) / kRuns;
    means.all += static_cast<double>(found.instances) / kRuns;
  }
  return means;
}

// The authors' program on the same rows: bench/results/README.md has how it was run.
TEST(Grft, FindsWhatTheAuthorsProgramFinds) {
  FL_NEED_BENCHMARKS(benchmarks);
  constexpr double kDeviations = 4.0;
  struct Theirs {
    char const* model;
    double global, global_deviation;
    double all, all_deviation;
  };
  for (Theirs const& theirs : {Theirs{"census.h5", 305.1, 23.4, 3090.6, 595.0},
                               Theirs{"repaired/flip_gender.h5", 114.5, 6.1, 212.8, 22.6}}) {
    SCOPED_TRACE(theirs.model);
    RunConfig config = golden_config(benchmarks, {"census", "gender"}, "grft");
    config.model = (benchmarks / "models" / theirs.model).string();
    config.global.num = 100;
    GrftMeans const ours = means_of_ten(config);
    std::printf("  %-24s global IDIs %6.1f, theirs %6.1f; all %7.1f, theirs %7.1f\n", theirs.model,
                ours.global, theirs.global, ours.all, theirs.all);
    double const runs = std::sqrt(10.0);  // of a mean
    EXPECT_NEAR(ours.global, theirs.global, kDeviations * theirs.global_deviation / runs);
    EXPECT_NEAR(ours.all, theirs.all, kDeviations * theirs.all_deviation / runs);
  }
}

}  // namespace
}  // namespace fairlane
