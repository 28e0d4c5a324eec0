#include "engine/learning/training_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "engine/learning/training_draws.h"
#include "tests/engine/learning/small_table.h"
#include "tests/models/expect_error.h"

namespace fairlane {
namespace {

/// How often each row with its label stands in some rows.
std::map<std::vector<std::int32_t>, int> rows_of(std::vector<TrainingRows const*> const& parts) {
  std::map<std::vector<std::int32_t>, int> count;
  for (TrainingRows const* part : parts) {
    auto const width = static_cast<std::size_t>(part->attributes);
    for (std::size_t i = 0; i < part->count(); ++i) {
      auto const at = part->rows.begin() + static_cast<std::ptrdiff_t>(i * width);
      std::vector<std::int32_t> row(at, at + part->attributes);
      row.push_back(part->labels[i]);
      ++count[row];
    }
  }
  return count;
}

TEST(TrainingTable, DividesAllRowsWithTheirLabels) {
  SmallTable const small;
  TrainingTable const table = read_training_table(small.config());
  EXPECT_EQ(table.classes, 2);
  EXPECT_EQ(table.outputs(), 1);
  EXPECT_EQ(table.test.count(), 120U);
  EXPECT_EQ(table.validation.count(), 60U);
  EXPECT_EQ(table.train.count(), 420U);
  auto const all = rows_of({&table.train, &table.validation, &table.test});
  int sum = 0;
  for (auto const& [row, count] : all) {
    EXPECT_EQ(row.back(), row[0] + 2 * row[2] > 5 ? 1 : 0);
    sum += count;
  }
  EXPECT_EQ(sum, 600);
  EXPECT_EQ(all.size(), 60U);  // every input of the domain, ten times
  for (auto const& [row, count] : all) EXPECT_EQ(count, 10);
}

TEST(TrainingTable, EncodesAsTheDomainSays) {
  SmallTable const small;
  TrainingTable const table = read_training_table(small.config());
  ASSERT_EQ(table.train.columns, 4);
  for (std::size_t i = 0; i < table.train.count(); ++i) {
    std::int32_t const* const row = &table.train.rows[i * 3];
    float const* const inputs = &table.train.inputs[i * 4];
    EXPECT_EQ(inputs[0], static_cast<float>(row[0]));
    EXPECT_EQ(inputs[1], static_cast<float>(row[1]));
    EXPECT_EQ(inputs[2], row[2] == 0 ? 1.0F : 0.0F);
    EXPECT_EQ(inputs[3], row[2] == 1 ? 1.0F : 0.0F);
  }
}

TEST(TrainingTable, IsDividedByTheSeed) {
  SmallTable const small;
  auto const test_rows = [&](char const* more) {
    return read_training_table(small.config(more)).test.rows;
  };
  EXPECT_EQ(test_rows("seed: 1\n"), test_rows("seed: 1\n"));
  EXPECT_NE(test_rows("seed: 1\n"), test_rows("seed: 2\n"));
}

TEST(TrainingTable, SaysWhatCannotBeLearntFrom) {
  SmallTable const small;
  small.write("one.csv", "skill,group,side,hired\n1,0,0,1\n2,0,1,1\n3,1,1,1\n");
  auto const with = [&](std::string const& data, std::string const& more = "") {
    RunConfig config = small.config(more);
    config.data = small.file(data);
    return config;
  };
  expect_error(ExitCode::kData, {"one.csv", "every row has the label 1", "two classes"},
               [&] { read_training_table(with("one.csv")); });
  small.write("few.csv", "skill,group,side,hired\n1,0,0,1\n2,0,1,0\n3,1,1,1\n");
  expect_error(ExitCode::kData, {"few.csv", "3 rows are too few", "train.validation: 0.1"},
               [&] { read_training_table(with("few.csv")); });
  small.write("negative.csv", "skill,group,side,hired\n1,0,0,1\n2,0,1,-1\n");
  expect_error(ExitCode::kData, {"negative.csv:3", "-1", "a class"},
               [&] { read_training_table(with("negative.csv")); });
  RunConfig none = small.config();
  none.data.clear();
  expect_error(ExitCode::kConfig, {"has no \"data\""}, [&] { read_training_table(none); });
}

TEST(TrainingDraws, ShuffleToAPermutationEachTimeAnother) {
  auto const first = shuffled(1000, TrainingDraw::kOrder, 1, 42);
  auto sorted = first;
  std::ranges::sort(sorted);
  std::vector<std::uint32_t> all(1000);
  std::iota(all.begin(), all.end(), 0U);
  EXPECT_EQ(sorted, all);
  EXPECT_NE(first, all);
  EXPECT_EQ(first, shuffled(1000, TrainingDraw::kOrder, 1, 42));
  EXPECT_NE(first, shuffled(1000, TrainingDraw::kOrder, 2, 42));
  EXPECT_NE(first, shuffled(1000, TrainingDraw::kSplit, 1, 42));
  EXPECT_NE(first, shuffled(1000, TrainingDraw::kOrder, 1, 43));
  EXPECT_TRUE(shuffled(0, TrainingDraw::kOrder, 1, 42).empty());
}

TEST(TrainingDraws, PutEveryItemAtEveryPlaceAboutAsOften) {
  constexpr int kTrials = 6000;
  constexpr double kExpected = kTrials / 4.0;
  int at[4][4] = {};
  for (int trial = 0; trial < kTrials; ++trial) {
    auto const order = shuffled(4, TrainingDraw::kOrder, static_cast<std::uint32_t>(trial), 42);
    for (int i = 0; i < 4; ++i) ++at[i][order[static_cast<std::size_t>(i)]];
  }
  for (auto const& row : at) {
    for (int const count : row) EXPECT_NEAR(count, kExpected, 5.0 * std::sqrt(kExpected));
  }
}

}  // namespace
}  // namespace fairlane
