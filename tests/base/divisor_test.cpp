#include "base/divisor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>

namespace fairlane {
namespace {

TEST(Divisor, DividesAsTheProcessorDoes) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  std::mt19937_64 random(5);
  for (int i = 0; i < 20000; ++i) {
    std::uint64_t const divisor = (random() >> (random() % 64)) | 1;
    Divisor const by(divisor);
    for (std::uint64_t const x : {random(), random() >> (random() % 64), divisor - 1, divisor,
                                  kMost, kMost / divisor * divisor - 1, std::uint64_t{0}}) {
      std::uint64_t rest = x;
      ASSERT_EQ(by.divide(rest), x / divisor) << x << " / " << divisor;
      ASSERT_EQ(rest, x % divisor) << x << " / " << divisor;
    }
  }
}

}  // namespace
}  // namespace fairlane
