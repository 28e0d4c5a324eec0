#include "engine/verify/certain_shares.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/kernels/random_subject.h"

namespace fairlane {
namespace {

/// Rounds of a queue over boxes of which depth says what is certain.
class Rounds {
 public:
  /// attributes  of 40 values each
  explicit Rounds(int attributes)
      : subject_(shape(attributes)),
        backend_(make_cpu_backend(subject_.view, {})),
        domain_(subject_.view, backend_->subject(), free_lists(subject_.view)),
        existing_(domain_, {}),
        queue_(domain_, existing_) {}

  /// Halving a box decides that much of what is undecided of it, a closer look `by_closer` more.
  /// Returns how many of the counted boxes of the last rounds were looked at more closely.
  std::pair<int, int> closer_looks(double by_halving, double by_closer) {
    constexpr int kRounds = 120;
    constexpr int kLast = 30;
    int counted = 0;
    int closer = 0;
    for (int round = 0; round < kRounds; ++round) {
      auto const& boxes = queue_.next({4.0});
      std::vector<Decision> decisions(boxes.size());
      std::vector<CertainGroups> certain(boxes.size());
      for (std::size_t i = 0; i < boxes.size(); ++i) {
        decisions[i].box = boxes[i].box;
        decisions[i].cut = middle_cut(boxes[i].box, widest(boxes[i].box));
        if (!queue_.in_part()) continue;
        double const groups = existing_.count(boxes[i].box);
        double const undecided = groups * std::pow(1.0 - by_halving, boxes[i].depth);
        bool const looks = boxes[i].wait == 0;
        certain[i] = {groups - undecided * (looks ? 1.0 - by_closer : 1.0), 0.0, looks,
                      groups - undecided};
        if (round < kRounds - kLast) continue;
        ++counted;
        closer += looks ? 1 : 0;
      }
      queue_.take(decisions, certain);
      EXPECT_EQ(queue_.settled(), queue_.in_part());
    }
    return {closer, counted};
  }

  /// Halving a box decides that much of what is undecided of it, and evaluating a group costs as
  /// much as measuring so many boxes. Counts all groups, and returns the share that was evaluated.
  double evaluated(double by_halving, double group_cost) {
    double evaluated = 0.0;
    for (;;) {
      auto const& boxes = queue_.next({4.0, group_cost});
      if (boxes.empty()) break;
      std::vector<Decision> decisions(boxes.size());
      std::vector<CertainGroups> certain(boxes.size());
      for (std::size_t i = 0; i < boxes.size(); ++i) {
        double const groups = existing_.count(boxes[i].box);
        decisions[i].box = boxes[i].box;
        decisions[i].cut = middle_cut(boxes[i].box, widest(boxes[i].box));
        bool const evaluates = i < queue_.to_evaluate();
        if (evaluates || (queue_.in_part() && is_small(domain_, boxes[i].box))) {
          certain[i].fair = groups;
          decisions[i].verdict = BoxVerdict::kEnumerated;
          evaluated += evaluates ? groups : 0.0;
        } else if (queue_.in_part()) {
          certain[i].fair = groups - groups * std::pow(1.0 - by_halving, boxes[i].depth);
        }
      }
      queue_.take(decisions, certain);
    }
    CertainShares const shares = queue_.shares();
    EXPECT_NEAR(shares.fair, shares.groups, 1e-6 * shares.groups);
    return evaluated / shares.groups;
  }
  std::int64_t boxes() const { return queue_.boxes(); }

 private:
  static RandomSubject::Shape shape(int attributes) {
    RandomSubject::Shape shape;
    shape.attributes = attributes;
    shape.range = 40;
    return shape;
  }
  static std::size_t widest(GroupBox const& box) {
    auto const size = [](AxisRange const& range) { return range.size(); };
    return static_cast<std::size_t>(std::ranges::max_element(box, {}, size) - box.begin());
  }

  RandomSubject subject_;
  std::unique_ptr<Backend> backend_;
  BoxDomain domain_;
  ExistingGroups existing_;
  ShareQueue queue_;
};

TEST(ShareQueue, LooksMoreCloselyWhereThatPays) {
  auto const [closer, counted] = Rounds(14).closer_looks(0.05, 0.9);
  EXPECT_GT(counted, 1000);
  EXPECT_EQ(closer, counted);
}

TEST(ShareQueue, OnlyTriesItNowAndThenWhereItDoesNotPay) {
  for (double const by_halving : {0.05, 0.0}) {
    auto const [closer, counted] = Rounds(14).closer_looks(by_halving, 0.0);
    EXPECT_GT(counted, 1000);
    EXPECT_LT(closer, counted / 16);
    EXPECT_GT(closer, 0);
  }
}

TEST(ShareQueue, EvaluatesBoxesWhoseHalvesBoundsDoNotDecide) {
  Rounds rounds(5);
  EXPECT_GT(rounds.evaluated(0.0, 1e-3), 0.9);
  EXPECT_LT(rounds.boxes(), 3000);
  EXPECT_EQ(Rounds(3).evaluated(0.0, 1e-9), 1.0);  // all at once
}

TEST(ShareQueue, LeavesToBoundsWhatTheyDecideForLess) {
  EXPECT_LT(Rounds(5).evaluated(0.5, 0.3), 0.2);
  EXPECT_EQ(Rounds(3).evaluated(0.0, std::numeric_limits<double>::infinity()), 0.0);
}

}  // namespace
}  // namespace fairlane
