#include "engine/verify/evaluation_choice.h"

#include <gtest/gtest.h>

#include "engine/verify/boxes/proof_tree.h"

namespace fairlane {
namespace {

constexpr MeasureCosts kCosts = {.closer = 6.0, .group = 1e-3, .walk = 0.5};

/// What becomes of a thousand boxes of each size up to a million groups.
EvaluationChoice learnt(int decided_of_ten) {
  EvaluationChoice choice;
  for (double groups = 64.0; groups <= 1 << 20; groups *= 2.0) {
    for (int i = 0; i < 1000; ++i) choice.learn(groups, i % 10 < decided_of_ten);
  }
  choice.weigh(kCosts);
  return choice;
}

TEST(EvaluationChoice, EvaluatesAllThatMayBeWhereNothingElseDecides) {
  EvaluationChoice const choice = learnt(0);
  EXPECT_TRUE(choice.evaluates(100.0));
  EXPECT_TRUE(choice.evaluates(kMostEvaluatedGroups));
  EXPECT_FALSE(choice.evaluates(kMostEvaluatedGroups + 1.0));
}

TEST(EvaluationChoice, SplitsWhereBoundsDecide) {
  EvaluationChoice const choice = learnt(9);
  // Two halves take two looks and little more: 0.7 / (1 - 0.2) each.
  EXPECT_TRUE(choice.evaluates(1000.0));
  EXPECT_FALSE(choice.evaluates(1500.0));
  EXPECT_FALSE(choice.evaluates(kMostEvaluatedGroups));
}

TEST(EvaluationChoice, HopesOfWhatItDoesNotKnow) {
  EvaluationChoice choice;
  choice.weigh(kCosts);
  EXPECT_TRUE(choice.evaluates(2048.0));
  EXPECT_FALSE(choice.evaluates(kMostEvaluatedGroups));
}

TEST(EvaluationChoice, ForgetsByAndBy) {
  EvaluationChoice choice = learnt(9);
  for (double groups = 64.0; groups <= 1 << 20; groups *= 2.0) {
    for (int i = 0; i < 100'000; ++i) choice.learn(groups, false);
  }
  choice.weigh(kCosts);
  EXPECT_TRUE(choice.evaluates(kMostEvaluatedGroups));
}

TEST(EvaluationChoice, NeverEvaluatesWhatNoWalkAnswers) {
  EvaluationChoice choice = learnt(0);
  choice.weigh({});
  EXPECT_FALSE(choice.evaluates(1.0));
}

}  // namespace
}  // namespace fairlane
