// Diversity against sums over all pairs.
#include "engine/compare/diversity.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tests/engine/search/small_subject.h"

namespace fairlane {
namespace {

TEST(Diversity, EqualsSumsOverAllPairs) {
  constexpr std::uint32_t kSeed = 3;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  TemporaryFolder const folder;
  SmallShape shape;
  shape.ranges = {4, 1, 100'000, 6, 2, 7};  // one value, and too many for an array
  TestSubject const subject(small_config(folder, shape));
  SmallSubject const small(shape);
  for (int const count : {0, 1, 2, 25}) {
    SCOPED_TRACE(count);
    std::vector<std::vector<std::int32_t>> rows;
    Diversity diversity(subject);
    for (int i = 0; i < count; ++i) {
      rows.push_back(small.random_row(random));
      diversity.add(rows.back().data(), 1);
    }
    double coverage = 0.0;
    double distance = 0.0;
    for (std::size_t const a : {1U, 2U, 3U, 5U}) {
      std::set<std::int32_t> values;
      for (auto const& row : rows) values.insert(row[a]);
      coverage += static_cast<double>(values.size()) / shape.ranges[a] / 4.0;
      if (a == 1U || count < 2) continue;
      for (auto const& x : rows) {
        for (auto const& y : rows) {
          distance += std::abs(x[a] - y[a]) / (shape.ranges[a] - 1.0) / 3.0 /
                      static_cast<double>(rows.size() * (rows.size() - 1));
        }
      }
    }
    EXPECT_NEAR(diversity.value_coverage(), coverage, 1e-12);
    EXPECT_NEAR(diversity.mean_distance(), distance, 1e-12);
  }
}

}  // namespace
}  // namespace fairlane
