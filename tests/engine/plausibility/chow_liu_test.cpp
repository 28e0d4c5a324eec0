// The tree against definitions: information, all spanning trees, likelihoods that add up to one.
#include "engine/plausibility/chow_liu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "tests/engine/plausibility/small_table.h"

namespace fairlane {
namespace {

Domain five_attributes() {
  Domain domain;
  domain.attributes = {ordered_attribute(1, 4), nominal_attribute(0, 2), ordered_attribute(2, 2),
                       listed_attribute({0, 5, 6}), ordered_attribute(-1, 2)};
  return domain;
}

ChowLiuTree tree_of(Domain const& domain, Dataset const& table, int threads = 1) {
  ThreadPool pool;
  return {domain, distinct_rows(table), pool, threads};
}

/// Mutual information of two attributes of few codes, counted with a half each.
double naive_information(Domain const& domain, Dataset const& table, std::size_t a, std::size_t b) {
  std::map<std::pair<std::int32_t, std::int32_t>, double> pairs;
  for (std::int64_t i = 0; i < domain.attributes[a].code_count(); ++i)
    for (std::int64_t j = 0; j < domain.attributes[b].code_count(); ++j)
      pairs[{domain.attributes[a].code_at(i), domain.attributes[b].code_at(j)}] = 0.5;
  for (std::size_t i = 0; i < table.rows.size(); i += domain.attributes.size())
    pairs[{table.rows[i + a], table.rows[i + b]}] += 1.0;
  double all = 0.0;
  std::map<std::int32_t, double> of_a;
  std::map<std::int32_t, double> of_b;
  for (auto const& [codes, count] : pairs) {
    all += count;
    of_a[codes.first] += count;
    of_b[codes.second] += count;
  }
  double sum = 0.0;
  for (auto const& [codes, count] : pairs) {
    double const independent = of_a[codes.first] / all * of_b[codes.second] / all;
    sum += count / all * std::log(count / all / independent);
  }
  return sum;
}

/// The greatest sum of information over the edges of any spanning tree.
double heaviest_tree(std::size_t attributes,
                     std::function<double(std::size_t, std::size_t)> const& weight) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t a = 0; a < attributes; ++a)
    for (std::size_t b = a + 1; b < attributes; ++b) pairs.emplace_back(a, b);
  double best = 0.0;
  for (std::uint32_t chosen = 0; chosen < 1U << pairs.size(); ++chosen) {
    if (std::popcount(chosen) != static_cast<int>(attributes) - 1) continue;
    std::vector<std::size_t> part(attributes);
    std::iota(part.begin(), part.end(), std::size_t{0});
    double sum = 0.0;
    bool is_tree = true;
    for (std::size_t p = 0; p < pairs.size(); ++p) {
      if ((chosen >> p & 1U) == 0) continue;
      auto const [a, b] = pairs[p];
      std::size_t const from = part[a];
      std::size_t const to = part[b];
      is_tree = is_tree && from != to;
      std::replace(part.begin(), part.end(), from, to);
      sum += weight(a, b);
    }
    if (is_tree) best = std::max(best, sum);
  }
  return best;
}

/// Calls visit(row) for every input of the domain.
void for_each_input(Domain const& domain,
                    std::function<void(std::vector<std::int32_t> const&)> const& visit) {
  std::vector<std::int32_t> row(domain.attributes.size());
  std::function<void(std::size_t)> const from = [&](std::size_t a) {
    if (a == row.size()) return visit(row);
    for (std::int64_t i = 0; i < domain.attributes[a].code_count(); ++i) {
      row[a] = domain.attributes[a].code_at(i);
      from(a + 1);
    }
  };
  from(0);
}

constexpr double kRounding = 1e-9;      // of sums of some thousand terms
constexpr double kSteps = 5 * 0x1p-17;  // of surprise: five attributes, each to the nearest 2^-16

TEST(ChowLiu, SpansTheMostInformation) {
  Domain const domain = five_attributes();
  for (std::uint32_t const seed : {1U, 2U, 3U, 4U, 5U}) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    auto const table = table_of(domain, random_people(domain, 60, 0.6, random));
    auto const tree = tree_of(domain, table);
    for (std::size_t a = 0; a < 5; ++a) {
      for (std::size_t b = 0; b < 5; ++b) {
        if (a == b) continue;
        EXPECT_NEAR(tree.mutual_information(a, b), naive_information(domain, table, a, b),
                    kRounding);
      }
    }
    double sum = 0.0;
    EXPECT_EQ(tree.parents()[0], -1);
    for (std::size_t a = 1; a < 5; ++a) {
      ASSERT_GE(tree.parents()[a], 0);
      sum += naive_information(domain, table, a, static_cast<std::size_t>(tree.parents()[a]));
      int root = static_cast<int>(a);
      for (int step = 0; step < 5 && root > 0; ++step)
        root = tree.parents()[static_cast<std::size_t>(root)];
      EXPECT_EQ(root, 0);
    }
    double const heaviest = heaviest_tree(
        5, [&](std::size_t a, std::size_t b) { return naive_information(domain, table, a, b); });
    EXPECT_NEAR(sum, heaviest, kRounding);
  }
}

TEST(ChowLiu, TiesGoByTheAttributesOrder) {
  Domain domain;
  domain.attributes = {ordered_attribute(0, 1), ordered_attribute(0, 1), ordered_attribute(0, 1),
                       ordered_attribute(0, 1)};
  auto const tree = tree_of(domain, table_of(domain, {0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(tree.parents(), (std::vector<int>{-1, 0, 0, 0}));
}

TEST(ChowLiu, SurpriseIsTheProductOfItsFactors) {
  Domain domain;
  domain.attributes = {ordered_attribute(0, 1), ordered_attribute(0, 2)};
  auto const table = table_of(domain, {0, 0, 0, 0, 0, 1, 1, 2, 1, 2});
  auto const tree = tree_of(domain, table);
  std::vector<std::int32_t> const usual = {0, 0};
  EXPECT_NEAR(tree.surprise(usual.data()), -std::log(3.5 / 6.0 * (2.5 / 4.5)), kSteps);
  std::vector<std::int32_t> const unseen = {1, 0};
  EXPECT_NEAR(tree.surprise(unseen.data()), -std::log(2.5 / 6.0 * (0.5 / 3.5)), kSteps);
}

TEST(ChowLiu, LikelihoodsAddUpToOne) {
  Domain wide;  // an attribute whose codes share cells
  wide.attributes = {nominal_attribute(0, 2), ordered_attribute(10, 3000), ordered_attribute(0, 1)};
  for (Domain const& domain : {five_attributes(), wide}) {
    constexpr std::uint32_t kSeed = 6;
    SCOPED_TRACE(kSeed);
    std::mt19937 random(kSeed);
    auto const tree = tree_of(domain, table_of(domain, random_people(domain, 200, 0.7, random)));
    double sum = 0.0;
    for_each_input(domain, [&](auto const& row) { sum += std::exp(-tree.surprise(row.data())); });
    EXPECT_NEAR(sum, 1.0, kSteps);
  }
}

TEST(ChowLiu, DrawsFollowTheLikelihoods) {
  Domain const domain = five_attributes();
  constexpr std::uint32_t kSeed = 7;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  auto const tree = tree_of(domain, table_of(domain, random_people(domain, 100, 0.7, random)));
  constexpr int kDraws = 100'000;
  std::map<std::vector<std::int32_t>, double> drawn;
  std::vector<std::int32_t> row(5);
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    tree.draw(i, 42, row.data());
    drawn[row] += 1.0 / kDraws;
  }
  for_each_input(domain, [&](auto const& input) {
    double const likelihood = std::exp(-tree.surprise(input.data()));
    // Five standard deviations, of 144 inputs.
    double const bound = 5.0 * std::sqrt(likelihood * (1.0 - likelihood) / kDraws);
    EXPECT_NEAR(drawn[input], likelihood, bound);
  });
  EXPECT_LE(drawn.size(), 144U);  // none outside the domain
}

TEST(ChowLiu, RefusesCodesThatMayNotOccur) {
  Domain const domain = five_attributes();
  auto const tree = tree_of(domain, table_of(domain, {1, 0, 2, 5, 0}));
  std::vector<std::int32_t> const row = {1, 0, 2, 4, 0};
  try {
    (void)tree.surprise(row.data());
    FAIL();
  } catch (Error const& error) {
    EXPECT_EQ(error.code(), ExitCode::kBug);
    EXPECT_STREQ(error.what(),
                 "attribute \"listed\": 4 is not a code of the domain, one of 0, 5, 6");
  }
}

TEST(CodeCells, FrequentCodesAreAloneAndNoneIsLost) {
  Domain domain;
  domain.attributes = {ordered_attribute(-5, 5000)};
  constexpr std::uint32_t kSeed = 8;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  auto rows = random_people(domain, 500, 0.0, random);
  rows.insert(rows.end(), 300, 40);  // as many as 12 cells hold
  CodeCells const cells(domain, 0, distinct_rows(table_of(domain, rows)));
  std::int32_t next = -5;
  for (std::size_t cell = 0; cell < cells.count(); ++cell) {
    for (std::int64_t i = 0; i < cells.width(cell); ++i, ++next) {
      ASSERT_EQ(cells.code(cell, i), next);
      ASSERT_EQ(cells.cell_of(next), cell);
    }
  }
  EXPECT_EQ(next, 5001);
  EXPECT_EQ(cells.width(cells.cell_of(40)), 1);
  EXPECT_GT(cells.count(), 16U);
  EXPECT_LE(cells.count(), 2U * 32U + 1U);
}

}  // namespace
}  // namespace fairlane
