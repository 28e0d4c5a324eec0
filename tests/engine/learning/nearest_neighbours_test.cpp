#include "engine/learning/nearest_neighbours.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

namespace fairlane {
namespace {

/// Rows of two numbers and two categories; the numbers make all distances distinct.
std::vector<float> random_rows(std::mt19937& random, std::size_t count) {
  std::normal_distribution<float> normal;
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i) {
    values.insert(values.end(), {normal(random), static_cast<float>(random() % 5), normal(random),
                                 static_cast<float>(random() % 3)});
  }
  return values;
}

float square(float x) { return x * x; }

TEST(NearestNeighbours, AreThoseOfAComparisonWithEveryRow) {
  std::mt19937 random(7);
  constexpr std::size_t kRows = 400;
  constexpr std::size_t kColumns = 4;
  std::vector<float> const table = random_rows(random, kRows);
  std::vector<std::int32_t> labels;
  for (std::size_t i = 0; i < kRows; ++i) labels.push_back(static_cast<std::int32_t>(random() % 3));
  NearestNeighbours const neighbours({table, {0, 1, 0, 1}}, labels);
  std::vector<float> const asked = random_rows(random, 300);
  for (std::size_t at = 0; at < asked.size(); at += kColumns) {
    std::vector<std::pair<float, std::int32_t>> all;
    for (std::size_t i = 0; i < kRows; ++i) {
      float const* const a = &asked[at];
      float const* const b = &table[i * kColumns];
      float const other = (a[1] == b[1] ? 0.0F : 2.0F) + (a[3] == b[3] ? 0.0F : 2.0F);
      all.emplace_back(square(a[0] - b[0]) + square(a[2] - b[2]) + other, labels[i]);
    }
    std::ranges::sort(all);
    std::vector<float> expected(3);
    for (std::size_t i = 0; i < 15; ++i)
      expected[static_cast<std::size_t>(all[i].second)] += 1.0F / 15.0F;
    std::vector<float> shares(3);
    neighbours.vote(&asked[at], shares.data());
    for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(shares[c], expected[c], 1e-6F);
  }
}

TEST(NearestNeighbours, AreAllWhereATableHasFew) {
  NearestNeighbours const neighbours({{1.0F, 2.0F, 5.0F}, {0}}, {0, 1, 1});
  std::vector<float> shares(2);
  float const row = 100.0F;
  neighbours.vote(&row, shares.data());
  EXPECT_NEAR(shares[0], 1.0F / 3.0F, 1e-6F);
  EXPECT_NEAR(shares[1], 2.0F / 3.0F, 1e-6F);
}

}  // namespace
}  // namespace fairlane
