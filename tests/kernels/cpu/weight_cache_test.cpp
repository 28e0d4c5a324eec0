#include "kernels/cpu/weight_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace fairlane {
namespace {

/// Weights that tell which pair they are of.
std::vector<float> weights_of(WeightCache::Pair const& pair, int rows) {
  std::vector<float> weights;
  for (int r = 0; r < rows; ++r) {
    weights.push_back(static_cast<float>(pair.group) +
                      1000.0F * static_cast<float>(pair.variant + 10 * pair.partner) +
                      1e6F * static_cast<float>(r));
  }
  return weights;
}

// What it finds is what was put there, also after many pairs have taken each other's places.
TEST(WeightCache, NeverConfusesPairs) {
  for (int const rows : {1, 12, 300'000}) {  // the last leaves room for a single pair
    WeightCache cache(rows, 1000);
    std::mt19937 random(3);
    int found = 0;
    int const pairs = rows > 1000 ? 20 : 200'000;
    for (int i = 0; i < pairs; ++i) {
      std::uint64_t const groups = i < pairs / 2 ? 10 : 100'000;
      WeightCache::Pair const pair{random() % groups, static_cast<std::uint32_t>(random() % 4),
                                   static_cast<std::uint32_t>(random() % 4)};
      auto const expected = weights_of(pair, rows);
      if (float const* const known = cache.find(pair)) {
        ++found;
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), known));
      } else {
        std::copy(expected.begin(), expected.end(), cache.put(pair));
      }
      float const* const known = cache.find(pair);
      ASSERT_NE(known, nullptr);
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), known));
    }
    if (rows < 1000) {
      EXPECT_GT(found, pairs / 4);
    }
  }
}

TEST(WeightCache, ForgetsWhenCleared) {
  WeightCache cache(2, 1);
  EXPECT_EQ(cache.find({0, 0, 0}), nullptr);
  cache.put({7, 1, 2});
  EXPECT_NE(cache.find({7, 1, 2}), nullptr);
  EXPECT_EQ(cache.find({7, 2, 1}), nullptr);
  cache.clear();
  EXPECT_EQ(cache.find({7, 1, 2}), nullptr);
}

}  // namespace
}  // namespace fairlane
