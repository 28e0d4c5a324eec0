#include "engine/search/lockstep/search_effort.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fairlane {
namespace {

constexpr double kTestEvaluations = 2.0;

/// A wave of 100 origins whose test of rank r, from 0, meets an IDI at rate(r); what one spends
/// beside its tests: `beside`.
template <class Rate>
EffortResult wave_of(OriginEffort effort, double beside, Rate const& rate) {
  constexpr double kOrigins = 100.0;
  EffortResult result;
  result.evaluations = kOrigins * (beside + effort.trials * kTestEvaluations);
  for (int rank = 0; rank < effort.trials; ++rank) {
    auto const at = static_cast<std::size_t>(rank);
    result.tests[at] = kOrigins;
    result.found[at] = kOrigins * rate(rank);
  }
  return result;
}

/// Trials of an origin after many waves.
template <class Rate>
int settled_trials(double beside, Rate const& rate) {
  SearchEffort effort(false);
  for (std::uint32_t wave = 1; wave <= 60; ++wave)
    effort.learn(effort.of_wave(wave), wave_of(effort.of_wave(wave), beside, rate),
                 kTestEvaluations);
  return effort.of_wave(61).trials;
}

TEST(SearchEffort, TestsAsLongAsTheLastTestsPay) {
  auto const steady = [](int) { return 0.5; };
  auto const falling = [](int rank) { return 0.8 / (1 + rank); };
  EXPECT_EQ(settled_trials(20.0, steady), kMostTrials);
  EXPECT_LE(settled_trials(0.0, falling), 5);
  int const dear = settled_trials(20.0, falling);
  EXPECT_GT(dear, settled_trials(2.0, falling));
  EXPECT_LT(dear, kMostTrials);
}

TEST(SearchEffort, TakesGradientsWhereTheyBringMore) {
  for (bool const worth : {false, true}) {
    SearchEffort effort(true);
    double spent[2] = {0.0, 0.0};
    double longest_wave = 0.0;
    for (std::uint32_t wave = 1; wave <= 640; ++wave) {
      OriginEffort const now = effort.of_wave(wave);
      double const rate = now.gradients && worth ? 0.9 : 0.2;
      auto const result = wave_of(now, now.gradients ? 4.0 : 0.0, [&](int) { return rate; });
      spent[now.gradients ? 1 : 0] += result.evaluations;
      longest_wave = std::max(longest_wave, result.evaluations);
      effort.learn(now, result, kTestEvaluations);
    }
    // The other kind gets its share of the evaluations, to compare.
    double const other = spent[worth ? 0 : 1];
    double const share = (spent[0] + spent[1]) / 64.0;
    EXPECT_GE(other, share - longest_wave);
    EXPECT_LE(other, share + longest_wave);
  }
}

TEST(SearchEffort, AlwaysTakesGradientsThatAreThere) {
  SearchEffort effort(false);
  for (std::uint32_t wave = 1; wave <= 200; ++wave) EXPECT_TRUE(effort.of_wave(wave).gradients);
}

TEST(SearchEffort, IsSaved) {
  SearchEffort effort(true);
  for (std::uint32_t wave = 1; wave <= 50; ++wave) {
    OriginEffort const now = effort.of_wave(wave);
    effort.learn(now, wave_of(now, 3.0, [&](int rank) { return 0.7 / (1 + rank); }),
                 kTestEvaluations);
  }
  SearchEffort again(true);
  again.restore(effort.state());
  for (std::uint32_t wave = 51; wave <= 70; ++wave) {
    EXPECT_EQ(again.of_wave(wave).gradients, effort.of_wave(wave).gradients);
    EXPECT_EQ(again.of_wave(wave).trials, effort.of_wave(wave).trials);
  }
}

}  // namespace
}  // namespace fairlane
