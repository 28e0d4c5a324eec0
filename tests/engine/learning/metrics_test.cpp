#include "engine/learning/metrics.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

namespace fairlane {
namespace {

constexpr double kRounding = 1e-12;

TEST(Metrics, AreThoseCountedByHand) {
  //                                  hit hit  miss false right
  std::vector<std::int32_t> const labels = {1, 1, 1, 0, 0, 0};
  std::vector<std::int32_t> const decided = {1, 1, 0, 1, 0, -1};
  std::vector<float> const scores = {3.0F, 2.0F, -1.0F, 2.0F, -2.0F, -3.0F};
  Metrics const metrics = measure(labels, scores, decided, 2);
  EXPECT_EQ(metrics.rows, 6);
  EXPECT_NEAR(metrics.accuracy, 3.0 / 6.0, kRounding);
  EXPECT_NEAR(metrics.precision, 2.0 / 3.0, kRounding);
  EXPECT_NEAR(metrics.recall, 2.0 / 3.0, kRounding);
  EXPECT_NEAR(metrics.f1, 2.0 / 3.0, kRounding);
  // Of 9 pairs: 3 above all three, 2 above two and equal to one, -1 above two.
  EXPECT_NEAR(metrics.auc.value(), (3.0 + 2.5 + 2.0) / 9.0, kRounding);
  EXPECT_EQ(metrics.decided_classes, 2);
}

TEST(Metrics, AverageOverSeveralClasses) {
  std::vector<std::int32_t> const labels = {0, 0, 1, 2};
  std::vector<std::int32_t> const decided = {0, 1, 1, 1};
  Metrics const metrics = measure(labels, std::vector<float>(12), decided, 3);
  EXPECT_NEAR(metrics.accuracy, 0.5, kRounding);
  EXPECT_NEAR(metrics.precision, (1.0 + 1.0 / 3.0 + 0.0) / 3.0, kRounding);
  EXPECT_NEAR(metrics.recall, (0.5 + 1.0 + 0.0) / 3.0, kRounding);
  EXPECT_NEAR(metrics.f1, (2.0 / 3.0 + 0.5 + 0.0) / 3.0, kRounding);
  EXPECT_EQ(metrics.decided_classes, 2);
  EXPECT_FALSE(metrics.auc);
}

TEST(Metrics, CountEqualScoresAsHalf) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<std::int32_t> labels;
    std::vector<float> scores;
    for (int i = 0; i < 40; ++i) {
      labels.push_back(static_cast<std::int32_t>(random() % 2));
      scores.push_back(static_cast<float>(random() % 6));
    }
    double sum = 0.0;
    double pairs = 0.0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      for (std::size_t j = 0; j < labels.size(); ++j) {
        if (labels[i] != 1 || labels[j] != 0) continue;
        pairs += 1.0;
        sum += scores[i] > scores[j] ? 1.0 : scores[i] == scores[j] ? 0.5 : 0.0;
      }
    }
    EXPECT_NEAR(measure(labels, scores, labels, 2).auc.value(), sum / pairs, kRounding);
  }
}

TEST(Metrics, HaveNoAucWhereItMeansNothing) {
  std::vector<std::int32_t> const ones = {1, 1};
  EXPECT_FALSE(measure(ones, std::vector<float>{1.0F, 2.0F}, ones, 2).auc);
  std::vector<std::int32_t> const both = {1, 0};
  float const nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(measure(both, std::vector<float>{nan, 2.0F}, both, 2).auc);
  EXPECT_EQ(measure({}, {}, {}, 2).rows, 0);
}

}  // namespace
}  // namespace fairlane
