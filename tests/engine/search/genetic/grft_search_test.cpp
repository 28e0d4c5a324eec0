// GRFT: equal to a search of one seed and one origin after the other, however it is executed, and
// as strong as the authors' program.
#include "engine/search/genetic/grft_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "kernels/core/philox.h"
#include "tests/engine/search/golden_subject.h"
#include "tests/engine/search/run_search.h"

namespace fairlane {
namespace {

constexpr std::size_t kIndividuals = 100;

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
                                                 : probe.undefined                ? kVisitUncertain
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
    for (std::uint32_t generation = 1;; ++generation) {
      std::vector<Row> idis;
      for (Row const& x : individuals)
        if (visit(Phase::kGlobal, seed, x)) idis.push_back(x);
      bool const ends = !idis.empty() || generation == config_.global.max_iter;
      if (ends) {
        last.push_back(idis.empty() ? individuals.back() : idis.front());
        return idis;
      }
      individuals = next_individuals(seed, generation, individuals);
    }
  }
  std::vector<Row> first_individuals(std::uint32_t seed, Row const& row) const {
    GrftDraws of_all{seed, Phase::kGlobal, 0, 0, config_.seed};
    auto const moved = of_all.some_of(2, movable_.size());
    std::vector<Row> individuals = {row};
    for (std::uint32_t i = 1; i < kIndividuals; ++i) {
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
  TestSubject const subject(config);
  std::vector<Row> rows(12, Row(subject.view().low.size()));
  SeedSource const seeds(config, find_method("grft"), subject);
  for (std::int64_t s = 0; s < 12; ++s) seeds.rows(s, 1, rows[static_cast<std::size_t>(s)].data());
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

TEST_P(GrftSubjects, ExecutionNeverShows) {
  RunConfig const config = grft_config();
  expect_same_however_executed(config, TestSubject(config));
}

INSTANTIATE_TEST_SUITE_P(Subjects, GrftSubjects,
                         ::testing::Values("one output", "several outputs", "wide domain",
                                           "many variants", "undefined members"),
                         name_of_kind);

// Where few inputs are IDIs, populations go on for several generations, which leads to more of them.
TEST(Grft, PopulationsComeCloserToIdis) {
  TemporaryFolder const folder;
  SmallShape shape;
  shape.ranges = {2, 40, 30, 50, 2, 60, 40};
  shape.selected = {0};
  RunConfig config = small_config(folder, shape, 200);
  config.method = "grft";
  config.global.num = 60;
  config.local.num = 0;
  TestSubject const subject(config);
  std::int64_t before = -1;
  for (std::int64_t const generations : {1, 4, 10}) {
    config.global.max_iter = generations;
    Finished const found = run_search(config, subject, {});
    EXPECT_GT(found.result.counts.global_found, before) << generations << " generations";
    before = found.result.counts.global_found;
  }
}

}  // namespace
}  // namespace fairlane
