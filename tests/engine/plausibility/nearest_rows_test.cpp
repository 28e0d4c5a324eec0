// Distances against the definition, the nearest row against all rows.
#include "engine/plausibility/nearest_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>

#include "tests/engine/plausibility/small_table.h"

namespace fairlane {
namespace {

constexpr double kStep = 0x1p-32;  // distances are multiples of it

TEST(Gower, IsItsDefinition) {
  constexpr std::uint32_t kSeed = 1;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  Domain const domain = mixed_domain();
  Gower const gower(domain);
  EXPECT_EQ(gower.terms().size(), 7U);  // one attribute cannot differ
  auto const rows = random_people(domain, 200, 0.4, random);
  auto const width = static_cast<std::size_t>(domain.size());
  for (std::size_t i = 0; i + width < rows.size(); i += width) {
    std::int32_t const* const a = rows.data() + i;
    std::int32_t const* const b = a + width;
    EXPECT_NEAR(gower.distance(a, b), naive_distance(domain, a, b), kStep);
    EXPECT_EQ(gower.distance(a, b), gower.distance(b, a));
    EXPECT_EQ(gower.distance(a, a), 0.0);
  }
}

TEST(Gower, EqualDistancesCompareEqual) {
  Domain domain;
  domain.attributes = {ordered_attribute(0, 10), ordered_attribute(0, 5), ordered_attribute(0, 2)};
  Gower const gower(domain);
  std::vector<std::int32_t> const none = {0, 0, 0};
  std::vector<std::int32_t> const one_and_two = {3, 2, 0};    // 3/10 + 2/5
  std::vector<std::int32_t> const one_and_three = {2, 0, 1};  // 2/10 + 1/2
  std::vector<std::int32_t> const one = {7, 0, 0};
  EXPECT_EQ(gower.distance(one_and_two.data(), none.data()),
            gower.distance(one.data(), none.data()));
  EXPECT_EQ(gower.distance(one_and_three.data(), none.data()),
            gower.distance(one.data(), none.data()));
  std::vector<std::int32_t> const farthest = {10, 5, 2};
  EXPECT_EQ(gower.distance(farthest.data(), none.data()), 1.0);
}

TEST(Gower, OfAttributesThatCannotDifferIsNone) {
  Domain domain;
  domain.attributes = {ordered_attribute(4, 4)};
  std::int32_t const row = 4;
  EXPECT_EQ(Gower(domain).distance(&row, &row), 0.0);
  NearestRows const nearest(Gower(domain), distinct_rows(table_of(domain, {4, 4})));
  EXPECT_EQ(nearest.nearest(&row), 0.0);
}

TEST(DistinctRows, AreThoseOfTheTableInOrder) {
  Domain domain;
  domain.attributes = {ordered_attribute(0, 9), ordered_attribute(-5, 5)};
  auto const distinct = distinct_rows(table_of(domain, {3, 1, 0, 2, 3, -1, 0, 2, 3, 1, 0, 2}));
  EXPECT_EQ(distinct.rows, (std::vector<std::int32_t>{0, 2, 3, -1, 3, 1}));
  EXPECT_EQ(distinct.counts, (std::vector<std::int64_t>{3, 1, 2}));
}

TEST(NearestRows, AreTheNearestOfAll) {
  Domain const mixed = mixed_domain();
  Domain narrow;  // full of equal rows and equal distances
  narrow.attributes = {nominal_attribute(0, 2), ordered_attribute(1, 4), ordered_attribute(0, 2)};
  Domain many;  // so many terms that marks are coarse
  for (int i = 0; i < 30; ++i) {
    many.attributes.insert(many.attributes.end(), mixed.attributes.begin(), mixed.attributes.end());
  }
  for (std::uint32_t const seed : {1U, 2U, 3U}) {
    for (Domain const* const domain : std::array<Domain const*, 3>{&mixed, &narrow, &many}) {
      for (std::size_t const count : {1U, 2U, 17U, 200U, 900U}) {
        SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << count << " rows");
        if (domain == &many && count > 500) continue;  // takes seconds
        std::mt19937 random(seed);
        auto const table = table_of(*domain, random_people(*domain, count, 0.8, random));
        auto const rows = distinct_rows(table);
        Gower const gower(*domain);
        NearestRows const nearest(gower, rows);
        auto people = random_people(*domain, 150, 0.1, random);
        auto const likely = random_people(*domain, 150, 0.8, random);
        people.insert(people.end(), likely.begin(), likely.end());
        people.insert(people.end(), table.rows.begin(), table.rows.end());
        for (std::size_t i = 0; i < people.size(); i += rows.attributes) {
          std::int32_t const* const person = people.data() + i;
          double least = std::numeric_limits<double>::infinity();
          double least_other = least;
          for (std::size_t r = 0; r < rows.count(); ++r) {
            double const distance = gower.distance(person, rows.row(r));
            least = std::min(least, distance);
            if (!std::equal(person, person + rows.attributes, rows.row(r)))
              least_other = std::min(least_other, distance);
          }
          ASSERT_EQ(nearest.nearest(person), least);
          ASSERT_EQ(nearest.nearest_other(person), least_other);
        }
      }
    }
  }
}

}  // namespace
}  // namespace fairlane
