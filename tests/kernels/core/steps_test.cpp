// The decisions of a search on one lane: steps, weights, draws and accumulators.
#include "kernels/core/steps.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "kernels/core/labels.h"
#include "tests/kernels/core/special_values.h"
#include "tests/kernels/draws.h"

namespace fairlane {
namespace {

TEST(Steps, SignsAgreeOrNothingMoves) {
  EXPECT_EQ(sign_of<One>(0.25F), 1);
  EXPECT_EQ(sign_of<One>(-1e-40F), -1);
  EXPECT_EQ(sign_of<One>(0.0F), 0);
  EXPECT_EQ(sign_of<One>(-0.0F), 0);
  EXPECT_EQ(sign_of<One>(kNan), 0);
  EXPECT_EQ(sign_of<One>(-kInfinity), -1);
  EXPECT_EQ(agreed_sign<One>(1.0F, 2.0F), 1);
  EXPECT_EQ(agreed_sign<One>(-1.0F, -2.0F), -1);
  EXPECT_EQ(agreed_sign<One>(1.0F, -2.0F), 0);
  EXPECT_EQ(agreed_sign<One>(0.0F, 2.0F), 0);
  EXPECT_EQ(agreed_sign<One>(0.0F, 0.0F), 0);
}

TEST(Steps, ClipAndMomentum) {
  EXPECT_EQ(step_and_clip<One>(3, 1, 0, 3), 3);
  EXPECT_EQ(step_and_clip<One>(3, -5, 0, 3), 0);
  EXPECT_EQ(step_and_clip<One>(1, 1, 0, 3), 2);
  EXPECT_EQ(step_and_clip<One>(-2, -1, -3, 3), -3);
  EXPECT_EQ(decayed<One>(0.5F, 4.0F, 1.0F), 3.0F);
  EXPECT_EQ(decayed<One>(0.0F, 4.0F, 1.0F), 1.0F);
  for (float const bad : {kInfinity, -kInfinity, kNan}) {
    EXPECT_EQ(decayed<One>(0.0F, bad, 1.0F), 1.0F) << "without decay the past is forgotten";
    EXPECT_FALSE(std::isfinite(decayed<One>(0.5F, bad, 1.0F)));
  }
}

TEST(Steps, WeightsFavourSmallGradients) {
  EXPECT_EQ((attribute_weight<One>(0.0F, 0.0F, 0.5F)), 2.0F);
  EXPECT_EQ((attribute_weight<One>(-1.0F, 1.0F, 0.5F)), 1.0F / 2.5F);
  EXPECT_EQ((attribute_weight<One>(kInfinity, 0.0F, 1e-6F)), 0.0F);
}

TEST(Steps, ChooseTakesTheFirstThatExceeds) {
  float const weights[] = {1.0F, 2.0F, 1.0F};
  auto const choose = [&](std::uint32_t word) {
    return choose_attribute<One>(weights, 3, 1, 4.0F, word);
  };
  EXPECT_EQ(choose(0), 0);
  EXPECT_EQ(choose(0x3FFFFFFF), 0);
  EXPECT_EQ(choose(0x40000000), 1);
  EXPECT_EQ(choose(0xBFFFFFFF), 1);
  EXPECT_EQ(choose(0xC0000000), 2);
  EXPECT_EQ(choose(0xFFFFFFFF), 2);
  float const zero[] = {0.0F, 1.0F, 0.0F, 1.0F};  // what has no weight is never drawn
  for (std::uint32_t i = 0; i < 1000; ++i) {
    int const index = choose_attribute<One>(zero, 4, 1, 2.0F, word_of(i));
    EXPECT_TRUE(index == 1 || index == 3);
  }
}

TEST(Steps, DrawsFollowTheWeights) {
  constexpr int kDraws = 200'000;
  std::vector<float> const weights = {0.5F, 3.0F, 0.01F, 1.0F, 7.0F, 2.0F, 0.25F};
  float total = 0.0F;
  for (float const w : weights) total = total + w;
  std::vector<int> seen(weights.size());
  for (std::uint32_t i = 0; i < kDraws; ++i) {
    ++seen[static_cast<std::size_t>(choose_attribute<One>(
        weights.data(), static_cast<int>(weights.size()), 1, total, word_of(i)))];
  }
  double chi = 0.0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    double const expected = kDraws * static_cast<double>(weights[i]) / static_cast<double>(total);
    chi += std::pow(seen[i] - expected, 2) / expected;
  }
  EXPECT_LT(chi, chi_limit(static_cast<double>(weights.size() - 1)));
}

TEST(Steps, DirectionsAreEven) {
  EXPECT_EQ(choose_direction<One>(0U), 1);
  EXPECT_EQ(choose_direction<One>(0x80000000U), -1);
  constexpr int kDraws = 100'000;
  int sum = 0;
  for (std::uint32_t i = 0; i < kDraws; ++i) sum += choose_direction<One>(word_of(i, 1));
  EXPECT_LT(std::abs(sum), 6 * std::sqrt(kDraws));
}

TEST(Steps, MembersAreDrawnUniformly) {
  constexpr int kDraws = 60'000;
  for (std::uint32_t const members : {0x1U, 0x80000000U, 0xA5U, 0xFFFFFFFFU, 0x80010002U}) {
    std::map<std::uint32_t, int> seen;
    for (std::uint32_t i = 0; i < kDraws; ++i) {
      std::uint32_t const word = word_of(i, 2);
      std::uint32_t const v = pick_member(word, members, 5);
      ASSERT_NE((members >> v) & 1U, 0U);
      ++seen[v];
      ASSERT_EQ(v,
                pick_other_label(word, 32, 5, [&](int m) { return ((members >> m) & 1U) != 0; }));
    }
    auto const count = static_cast<double>(std::popcount(members));
    ASSERT_EQ(seen.size(), count);
    double chi = 0.0;
    for (auto const& [v, n] : seen) chi += std::pow(n - kDraws / count, 2) / (kDraws / count);
    EXPECT_LT(chi, chi_limit(count - 1) + 1e-9) << members;
  }
  EXPECT_EQ(pick_member(123U, 0, 5), 5U);
  EXPECT_EQ(pick_other_label(123U, 32, 5, [](int) { return false; }), 5U);
}

TEST(Accumulators, PartnerIsTheFirstOfTheLargest) {
  PartnerChoice<One> partner{};
  partner.clear();
  EXPECT_EQ(partner.variant, -1);
  partner.add(0, 0.0F);
  EXPECT_EQ(partner.variant, -1) << "no difference is no partner";
  partner.add(1, 0.25F);
  partner.add(2, 0.25F);
  EXPECT_EQ(partner.variant, 1);
  partner.add(3, kNan);
  EXPECT_EQ(partner.variant, 1);
  partner.add(4, 0.5F);
  EXPECT_EQ(partner.variant, 4);
}

TEST(Accumulators, LabelSetsKnowMixedAndUndefined) {
  auto const flags = [](std::vector<std::int32_t> const& labels) {
    LabelSet<One> set{};
    set.clear();
    for (std::int32_t const label : labels) set.add(label);
    return set.flags();
  };
  EXPECT_EQ(flags({0, 0, 0}), 0);
  EXPECT_EQ(flags({0, 1, 0}), kGroupMixed);
  EXPECT_EQ(flags({2, 2, 0}), kGroupMixed);
  EXPECT_EQ(flags({kUndefinedLabel, 1, 1}), kGroupUndefined);
  EXPECT_EQ(flags({1, kUndefinedLabel, 0}), kGroupMixed | kGroupUndefined);
  EXPECT_EQ(flags({kUndefinedLabel}), kGroupUndefined);
}

TEST(Accumulators, LabelsNeedFiniteOutputs) {
  float const one[] = {0.5F};
  EXPECT_EQ((label_of<One>(one, 1, 1, 0.0F)), 1);
  EXPECT_EQ((label_of<One>(one, 1, 1, 0.5F)), 0) << "the threshold itself is class 0";
  for (float const bad : {kInfinity, -kInfinity, kNan}) {
    EXPECT_EQ((label_of<One>(&bad, 1, 1, 0.0F)), kUndefinedLabel);
    float const several[] = {0.0F, 1.0F, bad};
    EXPECT_EQ((label_of<One>(several, 3, 1, 0.0F)), kUndefinedLabel);
  }
  float const ties[] = {1.0F, 2.0F, 2.0F};
  EXPECT_EQ((label_of<One>(ties, 3, 1, 0.0F)), 1) << "ties go to the lowest class";
}

}  // namespace
}  // namespace fairlane
