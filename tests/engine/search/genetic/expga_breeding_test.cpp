// Genetic operators against a plain loop, and what they are known for.
#include "engine/search/genetic/expga_breeding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/core/philox.h"
#include "tests/naive_reference.h"

namespace fairlane {
namespace {

using naive::Row;

std::vector<std::int32_t> const kListed = {-3, 1, 4, 9};
// The fourth is immutable.
std::vector<Gene> const kGenes = {{0, 10}, {-2, 5}, {-3, 4, kListed}, {0, 8, {}, true}, {7, 1},
                                  {0, 2},  {0, 3}};

std::vector<Row> random_people(std::size_t count, std::uint32_t seed) {
  std::vector<Row> people;
  for (std::uint32_t i = 0; i < count; ++i) {
    Row row;
    for (std::uint32_t a = 0; a < kGenes.size(); ++a) {
      auto const word = philox<ScalarPack>(i, 9, a, seed, 1).w[0];
      row.push_back(kGenes[a].code(word % static_cast<std::uint32_t>(kGenes[a].count)));
    }
    people.push_back(row);
  }
  return people;
}

std::vector<Row> bred(std::vector<Row> const& people, std::vector<std::uint32_t> const& fitness,
                      Brood const& brood) {
  std::vector<std::int32_t> rows;
  for (Row const& row : people) rows.insert(rows.end(), row.begin(), row.end());
  breed(kGenes, fitness, brood, rows);
  std::vector<Row> result;
  for (std::size_t i = 0; i < people.size(); ++i) {
    auto const first = rows.begin() + static_cast<std::ptrdiff_t>(i * kGenes.size());
    result.emplace_back(first, first + static_cast<std::ptrdiff_t>(kGenes.size()));
  }
  return result;
}

/// The same, one person and one attribute after the other.
std::vector<Row> plainly_bred(std::vector<Row> const& people,
                              std::vector<std::uint32_t> const& fitness, Brood const& brood) {
  auto const word = [&](std::size_t person, std::uint32_t draw, int w) {
    return philox<ScalarPack>(brood.first_person + static_cast<std::uint32_t>(person),
                              static_cast<std::uint32_t>(Phase::kLocal), brood.generation, draw,
                              brood.run_seed)
        .w[w];
  };
  auto const under = [](std::uint32_t w, std::size_t count) {
    return static_cast<std::size_t>((std::uint64_t{w} * count) >> 32);
  };
  auto const unit = [](std::uint32_t w) { return static_cast<float>(w >> 8) / 16777216.0F; };
  std::vector<std::size_t> wheel;  // a parent as often as its fitness says
  for (std::size_t i = 0; i < people.size(); ++i) wheel.insert(wheel.end(), fitness[i], i);
  std::vector<Row> next;
  for (std::size_t i = 0; i < people.size(); ++i)
    next.push_back(people[wheel[under(word(i, 0, 0), wheel.size())]]);
  for (std::size_t i = 0; i < people.size(); ++i) {
    if (!(unit(word(i, 1, 0)) < 0.9F)) continue;
    std::size_t const other = under(word(i, 1, 1), people.size());
    std::size_t const begin = under(word(i, 1, 2), kGenes.size());
    std::size_t const end = under(word(i, 1, 3), kGenes.size() - begin);
    for (std::size_t a = begin; a < end; ++a) {
      if (!kGenes[a].fixed) next[i][a] = next[other][a];
    }
  }
  for (std::size_t i = 0; i < people.size(); ++i) {
    for (std::size_t a = 0; a < kGenes.size(); ++a) {
      auto const draw = static_cast<std::uint32_t>(2 + a / 2);
      int const first = static_cast<int>(a % 2) * 2;
      auto const count = static_cast<std::size_t>(kGenes[a].count);
      if (kGenes[a].fixed || count == 1 || !(unit(word(i, draw, first)) < 0.05F)) continue;
      next[i][a] =
          kGenes[a].code(static_cast<std::int64_t>(under(word(i, draw, first + 1), count - 1)));
    }
  }
  return next;
}

TEST(ExpgaBreeding, IsThePlainLoop) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    auto people = random_people(1 + 7 * seed, seed);
    Brood brood{100 * seed, 0, 42 + seed};
    for (; brood.generation < 30; ++brood.generation) {
      std::vector<std::uint32_t> fitness;
      for (std::size_t i = 0; i < people.size(); ++i)
        fitness.push_back(i % 3 == brood.generation % 3 ? 3 : 1);
      auto const next = bred(people, fitness, brood);
      ASSERT_EQ(next, plainly_bred(people, fitness, brood));
      people = next;
    }
  }
}

TEST(ExpgaBreeding, DrawsInProportionToFitness) {
  constexpr std::size_t kPeople = 4000;
  auto people = random_people(kPeople, 1);
  std::vector<std::uint32_t> fitness;
  for (std::size_t i = 0; i < kPeople; ++i) {
    people[i][3] = i % 2 == 0 ? 1 : 0;  // which no operator changes
    fitness.push_back(i % 2 == 0 ? 3 : 1);
  }
  auto const next = bred(people, fitness, {0, 0, 42});
  auto const fit = std::count_if(next.begin(), next.end(), [](Row const& r) { return r[3] == 1; });
  EXPECT_NEAR(static_cast<double>(fit) / kPeople, 0.75, 4.0 * std::sqrt(0.1875 / kPeople));
}

TEST(ExpgaBreeding, NeverMutatesToTheHighestCode) {
  std::vector<Row> people(3000, Row{0, -2, -3, 5, 7, 0, 0});  // all alike: nothing to cross
  auto const next = bred(people, std::vector<std::uint32_t>(people.size(), 1), {0, 3, 42});
  int changed = 0;
  for (Row const& row : next) {
    EXPECT_LT(row[0], 9);
    EXPECT_LT(row[1], 2);
    EXPECT_LT(row[2], 9);
    EXPECT_EQ(row[3], 5);
    EXPECT_EQ(row[4], 7);
    EXPECT_EQ(row[5], 0);
    changed += row[0] != 0 ? 1 : 0;
  }
  // One in twenty is drawn anew, and one in nine of those is as before.
  double const share = 0.05 * 8.0 / 9.0;
  EXPECT_NEAR(changed / 3000.0, share, 4.0 * std::sqrt(share / 3000.0));
}

}  // namespace
}  // namespace fairlane
