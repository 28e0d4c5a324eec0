// Limits that repeat what a clock has left unfinished.
#include "engine/search/cut.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace fairlane {
namespace {

using Limits = std::vector<StepLimit>;

TEST(StepLimits, AreRunsOfEqualSteps) {
  std::vector<std::uint8_t> const done{1, 0, 0, 1, 0, 0, 1, 0};
  std::vector<std::uint32_t> const steps{9, 4, 4, 9, 4, 5, 3, 5};
  // An item that is done lies within a run only where it needed no more steps.
  EXPECT_EQ(step_limits(done, steps), (Limits{{1, 2, 4}, {4, 1, 4}, {5, 3, 5}}));
  EXPECT_EQ(step_limits({}, {}), Limits{});
  EXPECT_EQ(step_limits(std::vector<std::uint8_t>(5, 1), std::vector<std::uint32_t>(5, 0)),
            Limits{});
}

TEST(StepLimits, RepeatWhatWasDone) {
  constexpr std::uint32_t kMost = 12;
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::size_t const count = random() % 40;
    std::vector<std::uint8_t> done(count);
    std::vector<std::uint32_t> steps(count);
    for (std::size_t i = 0; i < count; ++i) {
      done[i] = static_cast<std::uint8_t>(random() % 2);
      steps[i] = static_cast<std::uint32_t>(random() % (done[i] != 0 ? kMost + 1 : kMost));
    }
    Limits const limits = step_limits(done, steps);
    auto const end = static_cast<std::int64_t>(count);
    std::int64_t next = 0;
    while (next < end) {
      StepLimit const same = common_limit(limits, next, end, kMost);
      ASSERT_EQ(same.first, next);
      ASSERT_GT(same.count, 0);
      for (; next < same.first + same.count; ++next) {
        auto const i = static_cast<std::size_t>(next);
        if (done[i] != 0) {
          ASSERT_GE(same.steps, std::int64_t{steps[i]}) << next;
        } else {
          ASSERT_EQ(same.steps, std::int64_t{steps[i]}) << next;
        }
      }
      ASSERT_LE(next, end);
    }
  }
}

}  // namespace
}  // namespace fairlane
