#include "engine/verify/certain_shares.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/kernels/random_subject.h"

namespace fairlane {
namespace {

/// Rounds of a queue over boxes of which depth says what is certain.
class Rounds {
 public:
  Rounds()
      : subject_(shape()),
        backend_(make_cpu_backend(subject_.view, {})),
        domain_(subject_.view, backend_->subject(), free_lists(subject_.view)),
        existing_(domain_, {}),
        queue_(domain_, existing_) {}

  /// Halving a box decides a twentieth of what is undecided of it, a closer look `by_closer` more.
  /// Returns how many of the counted boxes of the last rounds were looked at more closely.
  std::pair<int, int> closer_looks(double by_closer) {
    constexpr int kRounds = 120;
    constexpr int kLast = 30;
    int counted = 0;
    int closer = 0;
    for (int round = 0; round < kRounds; ++round) {
      auto const& boxes = queue_.next(4.0);
      std::vector<Decision> decisions(boxes.size());
      std::vector<CertainGroups> certain(boxes.size());
      for (std::size_t i = 0; i < boxes.size(); ++i) {
        decisions[i].box = boxes[i].box;
        decisions[i].cut = middle_cut(boxes[i].box, widest(boxes[i].box));
        if (!queue_.in_part()) continue;
        double const groups = existing_.count(boxes[i].box);
        double const undecided = groups * std::pow(0.95, boxes[i].depth);
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

 private:
  static RandomSubject::Shape shape() {
    RandomSubject::Shape shape;
    shape.attributes = 14;
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
  auto const [closer, counted] = Rounds().closer_looks(0.9);
  EXPECT_GT(counted, 1000);
  EXPECT_EQ(closer, counted);
}

TEST(ShareQueue, OnlyTriesItNowAndThenWhereItDoesNotPay) {
  auto const [closer, counted] = Rounds().closer_looks(0.0);
  EXPECT_GT(counted, 1000);
  EXPECT_LT(closer, counted / 16);
  EXPECT_GT(closer, 0);
}

}  // namespace
}  // namespace fairlane
