#include "engine/verify/deciders/network_decider.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>

#include "tests/engine/verify/deciders/decided_network.h"

namespace fairlane {
namespace {

// On thousands of boxes, against every group evaluated by itself.
TEST(NetworkDecider, AgreesWithEvaluatingEveryGroup) {
  constexpr int kBoxes = 250;  // of each subject
  std::array<int, kBoxVerdicts> all{};
  for_subjects([&](RandomSubject& subject, DecidedSubject& decided, std::uint32_t seed) {
    for (int i = 0; i < kBoxes; ++i) {
      decided.expect_right(random_part(subject, decided.domain().whole()),
                           seed * 1000 + static_cast<std::uint64_t>(i));
      if (HasFatalFailure()) return;
    }
    for (std::size_t v = 0; v < all.size(); ++v) all[v] += decided.verdicts[v];
  });
  for (BoxVerdict const verdict :
       {BoxVerdict::kOpen, BoxVerdict::kUnfair, BoxVerdict::kMerged, BoxVerdict::kVariants,
        BoxVerdict::kSplit, BoxVerdict::kEnumerated}) {
    EXPECT_GT(all[static_cast<std::size_t>(verdict)], 20) << static_cast<int>(verdict);
  }
}

TEST(NetworkDecider, EvaluatesWholeWhatItCannotDecide) {
  constexpr int kBoxes = 100;  // of each subject
  std::array<int, kBoxVerdicts> all{};
  for_subjects([&](RandomSubject& subject, DecidedSubject& decided, std::uint32_t seed) {
    if (!decided.compares_all()) return;
    decided.evaluate_open();
    for (int i = 0; i < kBoxes; ++i) {
      decided.expect_right(random_part(subject, decided.domain().whole()),
                           seed * 1000 + static_cast<std::uint64_t>(i));
      if (HasFatalFailure()) return;
    }
    for (std::size_t v = 0; v < all.size(); ++v) all[v] += decided.verdicts[v];
  });
  EXPECT_EQ(all[static_cast<std::size_t>(BoxVerdict::kOpen)], 0);
  EXPECT_GT(all[static_cast<std::size_t>(BoxVerdict::kUnfair)], 100);
  EXPECT_GT(all[static_cast<std::size_t>(BoxVerdict::kEnumerated)], 100);
}

// Outputs that are no numbers make a box neither fair nor unfair.
TEST(NetworkDecider, LeavesWhatOverflowsUndefined) {
  constexpr int kBoxes = 40;  // of each subject
  int undefined = 0;
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomSubject::Shape shape;
    shape.attributes = 5;
    shape.counts = {3};
    shape.range = 6;
    bool const one_sign = seed % 2 == 0;
    shape.widths = one_sign ? std::vector<int>{8, 6, 1} : std::vector<int>{8, 6, 5, 1};
    shape.scale = 3.0e12F;
    shape.seed = seed;
    RandomSubject subject(shape);
    if (one_sign) {
      // Only the output may overflow: its lines are numbers, far above the threshold.
      for (std::size_t layer = 0; layer < shape.widths.size(); ++layer) {
        for (float& w : subject.weights(layer)) w = std::abs(w);
      }
    }
    DecidedSubject decided(subject, false);
    for (int i = 0; i < kBoxes; ++i) {
      if (i == kBoxes / 2) decided.evaluate_open();
      decided.expect_right(random_part(subject, decided.domain().whole()),
                           seed * 1000 + static_cast<std::uint64_t>(i));
      decided.expect_certain(random_part(subject, decided.domain().whole()), i % 2);
      decided.expect_walked(random_part(subject, decided.domain().whole()));
      if (HasFatalFailure()) return;
    }
    undefined += decided.verdicts[static_cast<std::size_t>(BoxVerdict::kUndefined)];
  }
  EXPECT_GT(undefined, 0);
}

TEST(NetworkDecider, CountsNoGroupThatIsNotCertain) {
  constexpr int kBoxes = 60;  // of each subject
  double counted = 0.0;
  double counted_unfair = 0.0;
  double groups = 0.0;
  for_subjects([&](RandomSubject& subject, DecidedSubject& decided, std::uint32_t) {
    for (int i = 0; i < kBoxes; ++i) {
      decided.expect_certain(random_part(subject, decided.domain().whole()), i % 2);
      if (HasFatalFailure()) return;
    }
    counted += decided.counted;
    counted_unfair += decided.counted_unfair;
    groups += decided.groups;
  });
  EXPECT_GT(counted, 0.3 * groups);
  EXPECT_GT(counted_unfair, 100.0);
}

// Beside what every query has: values that may differ, limits, a margin, more than two classes.
TEST(NetworkDecider, ComparesAlsoRelaxedAttributesAndSeveralClasses) {
  constexpr int kBoxes = 30;  // of each query
  std::array<int, kBoxVerdicts> all{};
  std::array<int, kBoxVerdicts> of_several{};
  for (std::uint32_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomSubject::Shape shape;
    shape.counts = seed % 2 == 0 ? std::vector<int>{2} : std::vector<int>{3, 2};
    shape.attributes = (seed % 3 == 1 ? 5 : 4) + static_cast<int>(shape.counts.size());
    shape.activation = seed % 7 == 0 ? Activation::kTanh : Activation::kRelu;
    shape.encoded = seed % 5 == 0;
    shape.seed = seed;
    shape.range = 6;
    int const classes = seed % 3 == 0 ? 2 : seed % 4 == 2 ? 3 : seed % 4 == 3 ? 4 : 1;
    shape.widths = classes == 2 ? std::vector<int>{6, 2} : std::vector<int>{6, 5, classes};
    double const margin = classes > 2 || seed % 2 == 0 ? 0.0 : 0.05;
    if (classes > 2) shape.widths.insert(shape.widths.begin(), 6);
    RandomSubject subject(shape);
    RegionRules rules;
    auto const lists = free_lists(subject.view);
    for (ValueList const& list : lists) {
      if (list.attributes.size() == 1 && subject.uniform(0, 1) == 1 && seed % 4 != 0)
        rules.relaxed.push_back({list.attributes.front(), subject.uniform(1, 3)});
    }
    for (std::uint32_t i = 0; i < seed % 3; ++i) {
      LinearLimit limit;
      limit.coefficients.assign(subject.view.low.size(), 0);
      for (ValueList const& list : lists) {
        auto const a = static_cast<std::size_t>(list.attributes.front());
        limit.coefficients[a] = subject.uniform(-3, 3);
        limit.most += limit.coefficients[a] * list.values[list.values.size() / 2];
      }
      rules.limits.push_back(limit);
    }
    DecidedSubject decided(subject, seed % 6 == 0, rules, margin);
    // Whoever is compared may have any value nearby, beyond the region too.
    auto const part = DecidedSubject::part_of(lists, rules);
    for (RelaxedAttribute const& relaxed : rules.relaxed) {
      for (std::size_t a = 0; a < lists.size(); ++a) {
        if (lists[a].attributes.front() != relaxed.attribute) continue;
        auto const& region = part[a].values;
        std::vector<std::int32_t> values = lists[a].values;
        std::erase_if(values, [&](std::int32_t v) {
          return v < region.front() - relaxed.by || v > region.back() + relaxed.by;
        });
        ASSERT_EQ(decided.domain().axis(a).values, values);
      }
    }
    for (int i = 0; i < kBoxes; ++i) {
      decided.expect_right(random_part(subject, decided.domain().whole()),
                           seed * 1000 + static_cast<std::uint64_t>(i));
      if (HasFatalFailure()) return;
    }
    for (std::size_t v = 0; v < all.size(); ++v) {
      all[v] += decided.verdicts[v];
      if (classes > 2) of_several[v] += decided.verdicts[v];
    }
  }
  EXPECT_GT(of_several[static_cast<std::size_t>(BoxVerdict::kSplit)], 20);
  for (std::size_t v = 0; v < all.size(); ++v) {
    bool const is_none = v == static_cast<std::size_t>(BoxVerdict::kUndefined) ||
                         v == static_cast<std::size_t>(BoxVerdict::kKinds);
    EXPECT_TRUE(is_none || all[v] > 5) << v;
  }
}

// Of several classes as of one output: no count is too high, and the last ones are exact.
TEST(NetworkDecider, CountsSeveralClasses) {
  constexpr int kBoxes = 100;  // of each subject
  double counted = 0.0;
  double counted_unfair = 0.0;
  double groups = 0.0;
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomSubject::Shape shape;
    shape.counts = seed % 2 == 0 ? std::vector<int>{2} : std::vector<int>{3, 2};
    shape.attributes = 4 + static_cast<int>(shape.counts.size());
    shape.activation = seed % 7 == 0 ? Activation::kTanh : Activation::kRelu;
    shape.encoded = seed % 5 == 0;
    shape.seed = seed;
    shape.range = 7;
    shape.widths = {6, 5, seed % 3 == 0 ? 5 : 3};
    RandomSubject subject(shape);
    DecidedSubject decided(subject, seed % 6 == 0);
    for (int i = 0; i < kBoxes; ++i) {
      decided.expect_certain(random_part(subject, decided.domain().whole()), i % 2);
      if (HasFatalFailure()) return;
    }
    decided.expect_shares(MeasureCosts{}.group);
    if (HasFatalFailure()) return;
    counted += decided.counted;
    counted_unfair += decided.counted_unfair;
    groups += decided.groups;
  }
  EXPECT_GT(counted, 0.2 * groups);
  EXPECT_GT(counted_unfair, 10.0);
}

TEST(BoxWalk, CountsWhatEvaluatingEveryGroupDoes) {
  constexpr int kBoxes = 60;  // of each subject, each evaluated in one of several ways
  double groups = 0.0;
  for_subjects([&](RandomSubject& subject, DecidedSubject& decided, std::uint32_t) {
    if (!decided.compares_all()) return;
    for (int i = 0; i < kBoxes; ++i) {
      decided.expect_walked(random_part(subject, decided.domain().whole()));
      if (HasFatalFailure()) return;
    }
    groups += decided.groups;
  });
  EXPECT_GT(groups, 1e5);
}

// Whatever is evaluated: nothing, small parts, or all at once.
TEST(ShareQueue, EndsWithTheExactCounts) {
  std::size_t parts = 0;
  for_subjects([&](RandomSubject&, DecidedSubject& decided, std::uint32_t) {
    EXPECT_EQ(decided.expect_shares(MeasureCosts{}.group), 0U);
    if (HasFatalFailure() || !decided.compares_all()) return;
    parts += decided.expect_shares(0.5);
    EXPECT_LE(decided.expect_shares(1e-9), 1U);
  });
  EXPECT_GT(parts, 100U);
}

}  // namespace
}  // namespace fairlane
