// How long an enumeration takes, before one is begun.
#include <gtest/gtest.h>

#include "engine/count/domain_share.h"
#include "tests/engine/search/small_subject.h"

namespace fairlane {
namespace {

std::optional<double> seconds_of(SmallShape const& shape) {
  TemporaryFolder const folder;
  RunConfig const config = small_config(folder, shape);
  TestSubject const subject(config);
  return walk_seconds(config, subject, {});
}

TEST(WalkSeconds, GrowWithTheDomain) {
  SmallShape shape;
  EXPECT_GT(seconds_of(shape), 0.0);
  shape.ranges = {4, 100'000, 100'000, 100'000, 2, 100};  // 10^17 groups
  EXPECT_GT(seconds_of(shape), 1e6) << "weeks, told in milliseconds";
}

TEST(WalkSeconds, AreNoneForADomainThatEnumerateDoesNotTake) {
  SmallShape shape;
  shape.ranges = {4, 1 << 20, 1 << 20, 1 << 20, 2, 7};
  EXPECT_EQ(seconds_of(shape), std::nullopt);
}

TEST(WalkSeconds, AreNoneForANetworkThatTakesLongForAFewGroups) {
  SmallShape shape;
  shape.ranges = {10, 50, 10, 50, 10, 50};
  shape.selected = {0, 2, 4};  // 1,000 members of each group
  shape.widths = {400, 400, 1};
  EXPECT_EQ(seconds_of(shape), std::nullopt);
}

}  // namespace
}  // namespace fairlane
