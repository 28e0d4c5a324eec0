#include "kernels/core/philox.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

namespace fairlane {
namespace {

struct KnownAnswer {
  std::array<std::uint32_t, 4> counter;
  std::array<std::uint32_t, 2> key;
  std::array<std::uint32_t, 4> words;
};

// Source: kat_vectors of Random123 (philox4x32, 10 rounds).
constexpr KnownAnswer kKnown[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

TEST(Philox, GivesTheKnownAnswers) {
  for (auto const& known : kKnown) {
    std::uint64_t const seed = known.key[0] | static_cast<std::uint64_t>(known.key[1]) << 32;
    auto const got = philox<ScalarPack>(known.counter[0], known.counter[1], known.counter[2],
                                        known.counter[3], seed);
    for (std::size_t i = 0; i < known.words.size(); ++i) EXPECT_EQ(got.w[i], known.words[i]) << i;
  }
}

// Every part of the counter and of the key changes all words.
TEST(Philox, DependsOnEverything) {
  auto const base = philox<ScalarPack>(1, 2, 3, 4, 5);
  auto const expect_other = [&](RandomWords<ScalarPack> const& other) {
    for (int i = 0; i < 4; ++i) EXPECT_NE(base.w[i], other.w[i]);
  };
  expect_other(philox<ScalarPack>(9, 2, 3, 4, 5));
  expect_other(philox<ScalarPack>(1, 9, 3, 4, 5));
  expect_other(philox<ScalarPack>(1, 2, 9, 4, 5));
  expect_other(philox<ScalarPack>(1, 2, 3, 9, 5));
  expect_other(philox<ScalarPack>(1, 2, 3, 4, 9));
  expect_other(philox<ScalarPack>(1, 2, 3, 4, 5 + (9ULL << 32)));
}

TEST(Philox, UnitFloatIsBelowOne) {
  EXPECT_EQ(unit_float<ScalarPack>(0U), 0.0F);
  EXPECT_EQ(unit_float<ScalarPack>(0xFFU), 0.0F);
  EXPECT_EQ(unit_float<ScalarPack>(0x80000000U), 0.5F);
  EXPECT_EQ(unit_float<ScalarPack>(0xFFFFFFFFU), 1.0F - 1.0F / 16777216.0F);
}

TEST(Philox, BelowStaysBelow) {
  for (std::uint32_t const count : {1U, 2U, 3U, 7U, 1000U, 0xFFFFFFFFU}) {
    EXPECT_EQ(below<ScalarPack>(0U, count), 0U);
    EXPECT_EQ(below<ScalarPack>(0xFFFFFFFFU, count), count - 1);
  }
}

// Chi-square over neighbouring counters, the kind that the searches use.
TEST(Philox, LooksUniform) {
  constexpr std::uint32_t kBins = 64;
  constexpr int kDraws = 64 * 1000;
  // 63 degrees of freedom: beyond 112 with a probability of 1e-4; the draws are fixed.
  constexpr double kMost = 112.0;
  for (int word = 0; word < 4; ++word) {
    std::vector<int> seen(kBins);
    for (std::uint32_t i = 0; i < kDraws; ++i) {
      auto const r =
          philox<ScalarPack>(i % 100, static_cast<std::uint32_t>(Phase::kLocal), i / 100, 0, 42);
      ++seen[below<ScalarPack>(r.w[word], kBins)];
    }
    double chi = 0.0;
    constexpr double kExpected = static_cast<double>(kDraws) / kBins;
    for (int const n : seen) chi += std::pow(n - kExpected, 2) / kExpected;
    EXPECT_LT(chi, kMost) << "word " << word;
  }
}

}  // namespace
}  // namespace fairlane
