// A bound on surprise against the percentiles that a plausibility model gives.
#include "engine/plausibility/surprise_bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "engine/plausibility/plausibility.h"
#include "tests/engine/plausibility/small_table.h"

namespace fairlane {
namespace {

TEST(SurpriseBound, KeepsWhatThePercentilesSay) {
  Domain const domain = mixed_domain();
  auto const width = static_cast<std::size_t>(domain.size());
  std::int64_t kept = 0;
  std::int64_t left_out = 0;
  for (std::uint32_t const seed : {1U, 2U, 3U}) {
    std::mt19937 random(seed);
    auto const rows = random_people(domain, 300, 0.9, random);
    auto const table = table_of(domain, rows);
    auto people = random_people(domain, 300, 0.7, random);
    people.insert(people.end(), rows.begin(), rows.end());
    auto const scores = PlausibilityModel(domain, table, 1).score(people);
    // 1.0 / 3.0: between two rows; 100.0 * 7 / 300: at one
    for (double const percentile : {0.0, 1.0 / 3.0, 100.0 * 7 / 300, 50.0, 95.0, 99.9, 100.0}) {
      SCOPED_TRACE(percentile);
      SurpriseBound const bound(domain, table, percentile);
      for (std::size_t i = 0; i < scores.size(); ++i) {
        bool const is_within = scores[i].surprise_percentile <= percentile;
        ASSERT_EQ(bound.allows(people.data() + i * width), is_within)
            << seed << " " << scores[i].surprise_percentile;
        kept += is_within ? 1 : 0;
        left_out += is_within ? 0 : 1;
      }
    }
  }
  EXPECT_GT(kept, 1000);
  EXPECT_GT(left_out, 1000);
}

// Of moves that add d nats, so many are taken as there are slacks of at least d.
TEST(SurpriseBound, SlackTakesMovesWithTheProbabilityOfTheirWeight) {
  Domain const domain = mixed_domain();
  std::mt19937 random(1);
  SurpriseBound const bound(domain, table_of(domain, random_people(domain, 9, 0.9, random)), 100.0);
  for (double const weight : {0.01, 0.5, 1.0, 30.0}) {
    auto const slack = bound.slack(weight);
    ASSERT_EQ(slack.size(), static_cast<std::size_t>(kSlacks));
    for (double const probability : {0.9, 0.5, 0.25, 0.02}) {
      double const nats = -std::log(probability) / weight;
      auto const taken =
          std::ranges::count_if(slack, [&](std::int32_t steps) { return steps * 0x1p-16 >= nats; });
      EXPECT_NEAR(static_cast<double>(taken) / kSlacks, probability, 1.0 / kSlacks) << weight;
    }
  }
  // So small a weight takes everything, but for what int32 cannot hold.
  EXPECT_EQ(bound.slack(1e-9).front(), std::numeric_limits<std::int32_t>::max());
}

TEST(SurpriseBound, NeedsRowsAndTablesOfCodes) {
  Domain domain = mixed_domain();
  EXPECT_THROW(SurpriseBound(domain, table_of(domain, {}), 95.0), Error);
  domain.attributes = {ordered_attribute(0, 1 << 20), ordered_attribute(0, 1)};
  try {
    SurpriseBound const bound(domain, table_of(domain, {5, 1}), 95.0);
    FAIL() << "expected an error";
  } catch (Error const& error) {
    EXPECT_EQ(error.code(), ExitCode::kUnavailable);
    EXPECT_NE(std::string(error.what()).find("1048577 codes"), std::string::npos) << error.what();
  }
}

// Steps are 2^-16 nats; more attributes than would fit int32 so have coarser ones.
TEST(SurpriseBound, SumsStayWithinInt32) {
  Domain domain;
  constexpr int kFew = 3;
  constexpr int kMany = 1500;
  for (int const attributes : {kFew, kMany}) {
    domain.attributes.assign(static_cast<std::size_t>(attributes),
                             ordered_attribute(0, std::numeric_limits<std::int32_t>::max() - 1));
    std::vector<std::int32_t> rows(2 * domain.attributes.size(), 3);
    rows.back() = 9;
    auto const table = table_of(domain, rows);
    ThreadPool pool;
    ChowLiuTree const tree(domain, distinct_rows(table), pool, 1);
    std::vector<std::int32_t> const strange(domain.attributes.size(), 1'000'000);
    double const each = tree.surprise(strange.data()) / attributes;
    EXPECT_GT(each, 20.0);  // of some 2^31 equally likely codes, and a few rows
    EXPECT_LT(each, 24.0);
    EXPECT_EQ(tree.nats_per_step(), attributes == kFew ? 0x1p-16 : 0x1p-15);
    EXPECT_EQ(tree.surprise(strange.data()), tree.steps(strange.data()) * tree.nats_per_step());
  }
}

}  // namespace
}  // namespace fairlane
