// Neighbours: where their values come from, and how often.
#include "engine/search/symbolic/row_sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/engine/search/small_subject.h"
#include "tests/naive_reference.h"

namespace fairlane {
namespace {

using naive::Row;

TEST(RowSampler, DrawsColumnsFromTheTablesMarginals) {
  TemporaryFolder const folder;
  RunConfig const config = small_config(folder, {}, 30);
  TestSubject const subject(config);
  RowSampler const sampler(subject, config.seed);
  constexpr std::int64_t kRows = 20'000;
  auto const width = subject.view().low.size();
  std::vector<std::int32_t> rows(kRows * width);
  Row const home(subject.data()->rows.begin(),
                 subject.data()->rows.begin() + static_cast<std::ptrdiff_t>(width));
  for (bool const local : {false, true}) {
    sampler.draw(3, 0, kRows, local ? home.data() : nullptr, rows.data());
    for (std::size_t a = 0; a < width; ++a) {
      std::map<std::int32_t, double> share;
      std::map<std::int32_t, double> expected;
      for (std::size_t i = 0; i < kRows; ++i) share[rows[i * width + a]] += 1.0 / kRows;
      for (std::size_t i = 0; i < 30; ++i)
        expected[subject.data()->rows[i * width + a]] += (local ? 0.5 : 1.0) / 30.0;
      if (local) expected[home[a]] += 0.5;
      for (auto const& [value, part] : share) {
        ASSERT_TRUE(expected.contains(value)) << "attribute " << a;
        constexpr double kFiveDeviations = 5.0 * 0.5 / 141.0;
        EXPECT_NEAR(part, expected[value], kFiveDeviations) << "attribute " << a << " " << value;
      }
    }
  }
  // Any part of a stream is the same as within the whole.
  std::vector<std::int32_t> part(10 * width);
  sampler.draw(3, 1000, 10, nullptr, part.data());
  sampler.draw(3, 0, kRows, nullptr, rows.data());
  EXPECT_TRUE(std::equal(part.begin(), part.end(),
                         rows.begin() + 1000 * static_cast<std::ptrdiff_t>(width)));
  sampler.draw(4, 1000, 10, nullptr, part.data());
  EXPECT_FALSE(std::equal(part.begin(), part.end(),
                          rows.begin() + 1000 * static_cast<std::ptrdiff_t>(width)));
}

TEST(RowSampler, IsUniformOverTheDomainWithoutATable) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, {});
  config.data.clear();
  config.protected_attributes[0].values = {lowest(0), lowest(0) + 3};
  TestSubject const subject(config);
  constexpr std::int64_t kRows = 20'000;
  auto const& view = subject.view();
  std::vector<std::int32_t> rows(kRows * view.low.size());
  RowSampler(subject, config.seed).draw(0, 0, kRows, nullptr, rows.data());
  for (std::size_t a = 0; a < view.low.size(); ++a) {
    std::map<std::int32_t, double> share;
    for (std::size_t i = 0; i < kRows; ++i) share[rows[i * view.low.size() + a]] += 1.0 / kRows;
    std::size_t const values =
        a == 0 ? 2 : static_cast<std::size_t>(view.high[a] - view.low[a] + 1);
    EXPECT_EQ(share.size(), values);
    for (auto const& [value, part] : share) {
      constexpr double kFiveDeviations = 5.0 * 0.5 / 141.0;
      EXPECT_NEAR(part, 1.0 / static_cast<double>(values), kFiveDeviations);
    }
    EXPECT_GE(share.begin()->first, view.low[a]);
    EXPECT_LE(share.rbegin()->first, view.high[a]);
  }
}

}  // namespace
}  // namespace fairlane
