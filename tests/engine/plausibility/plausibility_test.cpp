// Percentiles against counts over all rows; threads and the table's order change nothing.
#include "engine/plausibility/plausibility.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "tests/engine/plausibility/small_table.h"

namespace fairlane {
namespace {

bool same(Plausibility const& a, Plausibility const& b) {
  return a.distance == b.distance && a.surprise == b.surprise &&
         a.distance_percentile == b.distance_percentile &&
         a.surprise_percentile == b.surprise_percentile;
}

TEST(Plausibility, PercentilesCountTheTablesRows) {
  Domain const domain = mixed_domain();
  auto const width = static_cast<std::size_t>(domain.size());
  for (std::uint32_t const seed : {1U, 2U}) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    auto rows = random_people(domain, 300, 0.9, random);
    rows.insert(rows.end(), rows.begin(), rows.begin() + 40 * domain.size());  // twice
    auto const table = table_of(domain, rows);
    PlausibilityModel const model(domain, table, 1);
    auto people = random_people(domain, 50, 0.6, random);
    people.insert(people.end(), rows.begin(), rows.begin() + 50 * domain.size());
    auto const scores = model.score(people);
    ASSERT_EQ(scores.size(), 100U);

    std::vector<double> own_distances;
    std::vector<double> own_surprises;
    for (std::size_t i = 0; i < rows.size(); i += width) {
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t j = 0; j < rows.size(); j += width)
        if (i != j) least = std::min(least, model.distance(rows.data() + i, rows.data() + j));
      own_distances.push_back(least);
      own_surprises.push_back(model.tree().surprise(rows.data() + i));
    }
    auto const percentile = [](std::vector<double> const& own, double value) {
      auto const as_ordinary =
          std::count_if(own.begin(), own.end(), [&](double one) { return one <= value; });
      return 100.0 * static_cast<double>(as_ordinary) / static_cast<double>(own.size());
    };
    for (std::size_t i = 0; i < scores.size(); ++i) {
      std::int32_t const* const person = people.data() + i * width;
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t j = 0; j < rows.size(); j += width)
        least = std::min(least, model.distance(person, rows.data() + j));
      EXPECT_EQ(scores[i].distance, least);
      EXPECT_EQ(scores[i].surprise, model.tree().surprise(person));
      EXPECT_EQ(scores[i].distance_percentile, percentile(own_distances, scores[i].distance));
      EXPECT_EQ(scores[i].surprise_percentile, percentile(own_surprises, scores[i].surprise));
      EXPECT_EQ(scores[i].implausibility(),
                std::max(scores[i].distance_percentile, scores[i].surprise_percentile));
    }
  }
}

TEST(Plausibility, NeitherThreadsNorTheOrderOfRowsChangeIt) {
  Domain const domain = mixed_domain();
  constexpr std::uint32_t kSeed = 3;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  constexpr std::size_t kRows = 6000;  // a sample's percentiles
  auto const rows = random_people(domain, kRows, 0.9, random);
  auto const width = static_cast<std::size_t>(domain.size());
  std::vector<std::int32_t> backwards;
  for (std::size_t i = rows.size(); i > 0; i -= width)
    backwards.insert(backwards.end(), rows.begin() + static_cast<std::ptrdiff_t>(i - width),
                     rows.begin() + static_cast<std::ptrdiff_t>(i));
  PlausibilityModel const one(domain, table_of(domain, rows), 1);
  PlausibilityModel const three(domain, table_of(domain, rows), 3);
  PlausibilityModel const turned(domain, table_of(domain, backwards), 3);
  auto const people = one.draw(1000, 42);
  EXPECT_EQ(three.draw(1000, 42), people);
  EXPECT_EQ(turned.draw(1000, 42), people);
  EXPECT_NE(one.draw(1000, 43), people);
  auto const fewer = one.draw(10, 42);
  EXPECT_TRUE(std::equal(fewer.begin(), fewer.end(), people.begin()));
  auto const scores = one.score(people);
  auto const of_three = three.score(people);
  auto const of_turned = turned.score(people);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    EXPECT_TRUE(same(scores[i], of_three[i])) << i;
    EXPECT_TRUE(same(scores[i], of_turned[i])) << i;
  }
}

/// A sample's percentiles against those of all rows.
TEST(Plausibility, ASampleOfTheRowsStandsForAll) {
  Domain const domain = mixed_domain();
  constexpr std::uint32_t kSeed = 4;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  auto const table = table_of(domain, random_people(domain, 9000, 0.9, random));
  PlausibilityModel const model(domain, table, 2);
  auto const rows = distinct_rows(table);
  NearestRows const nearest(Gower(domain), rows);
  std::vector<double> own(rows.count());
  for (std::size_t i = 0; i < own.size(); ++i)
    own[i] = rows.counts[i] > 1 ? 0.0 : nearest.nearest_other(rows.row(i));
  for (auto const& score : model.score(model.draw(300, 1))) {
    double as_ordinary = 0.0;
    for (std::size_t i = 0; i < own.size(); ++i)
      if (own[i] <= score.distance) as_ordinary += static_cast<double>(rows.counts[i]);
    constexpr double kFive = 100.0 * 5.0 * 0.5 / 64.0;  // five standard deviations of 4096 rows
    EXPECT_NEAR(score.distance_percentile, 100.0 * as_ordinary / 9000.0, kFive);
  }
}

TEST(Plausibility, OneRowIsEnoughAndNoneIsAnError) {
  Domain const domain = mixed_domain();
  std::mt19937 random(5);
  auto const row = random_people(domain, 1, 0.0, random);
  PlausibilityModel const model(domain, table_of(domain, row), 1);
  auto const scores = model.score(row);
  EXPECT_EQ(scores[0].distance, 0.0);
  EXPECT_EQ(scores[0].distance_percentile, 0.0);  // no other row is as near to it
  EXPECT_EQ(scores[0].surprise_percentile, 100.0);
  EXPECT_TRUE(model.score({}).empty());
  EXPECT_TRUE(model.draw(0, 1).empty());
  try {
    PlausibilityModel const none(domain, table_of(domain, {}), 1);
    FAIL();
  } catch (Error const& error) {
    EXPECT_EQ(error.code(), ExitCode::kData);
    EXPECT_STREQ(error.what(), "table.csv: no rows, expected at least one to compare people with");
  }
}

TEST(Plausibility, RefusesCodesThatMayNotOccur) {
  Domain const domain = mixed_domain();
  std::mt19937 random(6);
  auto const rows = random_people(domain, 10, 0.5, random);
  PlausibilityModel const model(domain, table_of(domain, rows), 1);
  auto people = rows;
  people[static_cast<std::size_t>(domain.size()) + 1] = 1'000'000;
  EXPECT_THROW((void)model.score(people), Error);
  EXPECT_THROW(PlausibilityModel(domain, table_of(domain, people), 1), Error);
}

}  // namespace
}  // namespace fairlane
