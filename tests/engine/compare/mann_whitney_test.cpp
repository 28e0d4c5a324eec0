// Rank tests against every deal of the ranks, and against textbook values.
#include "engine/compare/mann_whitney.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace fairlane {
namespace {

/// Mean rank of each pooled value, by comparison with every other.
std::vector<double> ranks_of(std::vector<double> const& pool) {
  std::vector<double> ranks;
  for (double const v : pool) {
    double rank = 0.5;
    for (double const w : pool) rank += w < v ? 1.0 : w == v ? 0.5 : 0.0;
    ranks.push_back(rank);
  }
  return ranks;
}

/// The p-value from all ways to choose a's places.
double p_of_all_deals(std::vector<double> const& a, std::vector<double> const& b) {
  std::vector<double> pool = a;
  pool.insert(pool.end(), b.begin(), b.end());
  auto const ranks = ranks_of(pool);
  double const expected =
      static_cast<double>(a.size()) * (static_cast<double>(pool.size()) + 1.0) / 2.0;
  double own = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) own += ranks[i];
  int far = 0;
  int deals = 0;
  for (std::uint32_t chosen = 0; chosen < (1U << pool.size()); ++chosen) {
    if (static_cast<std::size_t>(std::popcount(chosen)) != a.size()) continue;
    double sum = 0.0;
    for (std::size_t i = 0; i < pool.size(); ++i) sum += (chosen >> i & 1U) != 0 ? ranks[i] : 0.0;
    ++deals;
    far += std::fabs(sum - expected) >= std::fabs(own - expected) - 1e-9 ? 1 : 0;
  }
  return static_cast<double>(far) / deals;
}

TEST(MannWhitney, EqualsEveryDeal) {
  constexpr std::uint32_t kSeed = 7;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  for (int i = 0; i < 200; ++i) {
    std::vector<double> a(1 + random() % 5);
    std::vector<double> b(1 + random() % 5);
    int const values = i % 2 == 0 ? 4 : 1000;  // ties, and hardly any
    for (auto* sample : {&a, &b}) {
      for (double& v : *sample) v = static_cast<double>(random() % static_cast<unsigned>(values));
    }
    if (i % 7 == 0) a[0] = std::numeric_limits<double>::infinity();
    ASSERT_NEAR(mann_whitney(a, b), p_of_all_deals(a, b), 1e-12) << i;
    ASSERT_EQ(mann_whitney(a, b), mann_whitney(b, a)) << i;
  }
}

TEST(MannWhitney, KnownValues) {
  using Values = std::vector<double>;
  EXPECT_DOUBLE_EQ(mann_whitney(Values{1, 2, 3}, Values{4, 5, 6}), 0.1);
  EXPECT_DOUBLE_EQ(mann_whitney(Values{1, 2, 3, 4, 5}, Values{6, 7, 8, 9, 10}), 2.0 / 252.0);
  EXPECT_EQ(mann_whitney(Values{5, 5}, Values{5, 5}), 1.0);
  EXPECT_EQ(mann_whitney(Values{}, Values{5, 5}), 1.0);
  EXPECT_EQ(a12(Values{1, 2, 3}, Values{1, 2, 3}), 0.5);
  EXPECT_EQ(a12(Values{4, 5}, Values{1, 4}), 0.875);
  EXPECT_EQ(a12(Values{}, Values{1}), 0.5);
}

// As many ways to deal as there are with the most values: the p-value of two samples apart is 2 of
// them.
TEST(MannWhitney, TheLargestSamples) {
  std::vector<double> low(kMostRanked);
  std::vector<double> high(kMostRanked);
  double deals = 1.0;
  for (std::size_t i = 0; i < kMostRanked; ++i) {
    low[i] = static_cast<double>(i);
    high[i] = static_cast<double>(i + kMostRanked);
    deals *= static_cast<double>(kMostRanked + i + 1) / static_cast<double>(i + 1);
  }
  EXPECT_NEAR(mann_whitney(low, high) * deals, 2.0, 1e-9);
}

/// Of samples that lie apart, which have the least p-value there is.
double p_apart(std::size_t n) {
  std::vector<double> low(n, 0.0);
  std::vector<double> high(n, 1.0);
  std::iota(low.begin(), low.end(), 0.0);
  std::iota(high.begin(), high.end(), 100.0);
  return mann_whitney(low, high);
}

TEST(MannWhitney, LeastPIsThatOfSamplesApart) {
  for (std::size_t n = 1; n <= 12; ++n) EXPECT_NEAR(least_p(n), p_apart(n), 1e-12) << n;
  EXPECT_EQ(least_p(4), 2.0 / 70.0);
}

TEST(MannWhitney, LeastSampleIsTheLeastThatReachesTheLevel) {
  auto const least_corrected = [](std::size_t n, std::size_t tests) {
    return holm(std::vector<double>(tests, p_apart(n)))[0];
  };
  for (double const level : {0.05, 0.01}) {
    for (std::size_t const tests : {1U, 2U, 5U, 9U, 40U}) {
      std::size_t const n = least_sample(tests, level);
      SCOPED_TRACE(testing::Message() << tests << " tests at " << level << ": " << n);
      EXPECT_LE(least_corrected(n, tests), level);
      EXPECT_GT(least_corrected(n - 1, tests), level);
    }
  }
  EXPECT_EQ(least_sample(9, 0.05), 6U);
  EXPECT_EQ(least_sample(1, 0.0), kMostRanked + 1);
}

TEST(MannWhitney, HolmsCorrection) {
  EXPECT_EQ(holm(std::vector<double>{}), std::vector<double>{});
  auto const p = holm(std::vector<double>{0.01, 0.04, 0.03, 0.9});
  ASSERT_EQ(p.size(), 4U);
  EXPECT_DOUBLE_EQ(p[0], 0.04);
  EXPECT_DOUBLE_EQ(p[1], 0.09) << "no less than that of the smaller p before it";
  EXPECT_DOUBLE_EQ(p[2], 0.09);
  EXPECT_DOUBLE_EQ(p[3], 0.9);
}

}  // namespace
}  // namespace fairlane
