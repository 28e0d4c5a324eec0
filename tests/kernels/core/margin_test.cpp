// The margin method's functions on one lane: choices among members, steps and moves.
#include "kernels/core/margin.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "tests/kernels/core/special_values.h"
#include "tests/kernels/draws.h"
#include "tests/naive_reference.h"

namespace fairlane {
namespace {

/// MarginChoice over variants, against the doc comments: least and largest margin of the first
/// variant's label, best members of either side.
TEST(Margin, ChoiceFollowsItsDescription) {
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    int const outputs = 1 + round % 4;
    int const variants = 1 + static_cast<int>(random() % 9);
    int const classes = std::max(outputs, 2);
    float const threshold = outputs == 1 ? 0.25F : 0.0F;
    SubjectView view;
    view.threshold = threshold;
    naive::FloatReference const reference(view);
    std::vector<std::vector<float>> logits;
    for (int v = 0; v < variants; ++v) {
      logits.emplace_back();
      for (int c = 0; c < outputs; ++c) {
        logits.back().push_back(static_cast<float>(static_cast<int>(random() % 7)) * 0.5F -
                                1.5F);  // many ties
      }
    }
    auto const side_a = static_cast<std::int32_t>(random() % static_cast<unsigned>(classes));
    auto const side_b = static_cast<std::int32_t>(random() % static_cast<unsigned>(classes));
    MarginChoice<One> choice{};
    choice.clear(side_a, side_b);
    std::vector<std::int32_t> labels;
    for (int v = 0; v < variants; ++v) {
      auto const& z = logits[static_cast<std::size_t>(v)];
      labels.push_back(reference.label(z));
      choice.add(v, labels.back(), z.data(), outputs, 1, threshold);
    }
    int low = 0;
    int high = 0;
    int best = 0;
    float margin_a = -kInfinity;
    float margin_b = -kInfinity;
    auto const margin = [&](std::int32_t label, int v) {
      return reference.class_margin(label, logits[static_cast<std::size_t>(v)]);
    };
    auto const own = [&](int v) { return margin(labels[static_cast<std::size_t>(v)], v); };
    for (int v = 0; v < variants; ++v) {
      if (margin(labels[0], v) < margin(labels[0], low)) low = v;
      if (margin(labels[0], v) > margin(labels[0], high)) high = v;
      if (own(v) > own(best)) best = v;
      margin_a = std::max(margin_a, margin(side_a, v));
      margin_b = std::max(margin_b, margin(side_b, v));
    }
    ASSERT_EQ(choice.low, low);
    ASSERT_EQ(choice.high, high);
    ASSERT_EQ(choice.low_margin, margin(labels[0], low));
    ASSERT_EQ(choice.margin_a, margin_a);
    ASSERT_EQ(choice.margin_b, margin_b);
    ASSERT_EQ(choice.member_a, best);
    ASSERT_EQ(choice.best_a, labels[static_cast<std::size_t>(best)]);
    ASSERT_EQ(choice.best_margin_a, own(best));
    float best_other = -kInfinity;
    for (int v = 0; v < variants; ++v) {
      if (labels[static_cast<std::size_t>(v)] != choice.best_a)
        best_other = std::max(best_other, own(v));
    }
    if (best_other == -kInfinity) {
      ASSERT_EQ(choice.best_b, -1);
    } else {
      ASSERT_NE(choice.best_b, choice.best_a);
      ASSERT_EQ(choice.best_margin_b, best_other);
      ASSERT_EQ(own(choice.member_b), best_other);
      ASSERT_EQ(labels[static_cast<std::size_t>(choice.member_b)], choice.best_b);
    }
  }
}

/// A subject without a network, for functions that need its bounds only.
struct Box {
  explicit Box(std::mt19937& random, unsigned most = 6) {
    int const columns = 2 + static_cast<int>(random() % most);
    for (int c = 0; c < columns; ++c) {
      low.push_back(static_cast<std::int32_t>(random() % 5) - 2);
      high.push_back(low.back() + static_cast<std::int32_t>(random() % 30));
      x.push_back(low.back() + static_cast<std::int32_t>(
                                   random() % static_cast<unsigned>(high.back() - low.back() + 1)));
      if (c % 3 != 1) movable.push_back(c);
    }
    subject.columns = columns;
    subject.low = low.data();
    subject.high = high.data();
    subject.movable = movable.data();
    subject.movable_count = static_cast<int>(movable.size());
  }
  std::vector<std::int32_t> low;
  std::vector<std::int32_t> high;
  std::vector<std::int32_t> x;
  std::vector<int> movable;
  Subject subject;

  Box(Box const&) = delete;
  Box& operator=(Box const&) = delete;
};

TEST(Margin, RandomStepStaysInsideAndReachesTheBounds) {
  std::mt19937 random(6);
  int at_bound = 0;
  int wide = 0;
  for (std::uint32_t round = 0; round < 3000; ++round) {
    Box box(random);
    auto const before = box.x;
    random_step(box.subject, {round, 3, 77}, box.x.data(), 1);
    for (int c = 0; c < box.subject.columns; ++c) {
      auto const i = static_cast<std::size_t>(c);
      ASSERT_GE(box.x[i], box.low[i]);
      ASSERT_LE(box.x[i], box.high[i]);
      bool const moves = std::find(box.movable.begin(), box.movable.end(), c) != box.movable.end();
      if (!moves) {
        ASSERT_EQ(box.x[i], before[i]);
      }
      if (!moves || box.high[i] - box.low[i] < 10) continue;
      ++wide;
      at_bound += box.x[i] == box.low[i] || box.x[i] == box.high[i] ? 1 : 0;
    }
  }
  // x + offset leaves the box for half of the offsets, wherever x stands; the bounds themselves are
  // a little more
  double const share = static_cast<double>(at_bound) / wide;
  EXPECT_GT(share, 0.45);
  EXPECT_LT(share, 0.62);
}

TEST(Margin, NewtonStepStopsWhereTheNearestMemberCrosses) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  int reached = 0;
  int random_steps = 0;
  for (std::uint32_t round = 0; round < 4000; ++round) {
    Box box(random);
    auto const columns = static_cast<std::size_t>(box.subject.columns);
    std::vector<float> near(columns);
    std::vector<float> far(columns);
    for (std::size_t c = 0; c < columns; ++c) {
      near[c] = round % 10 == 0 ? 0.0F : normal(random);
      far[c] = normal(random);
    }
    float const margin = std::fabs(normal(random)) * 3.0F + 0.01F;
    std::int32_t const reach = 1 + static_cast<std::int32_t>(random() % 4);
    auto const before = box.x;
    newton_step(box.subject, {round, 1, 5}, near.data(), far.data(), 1, margin, reach, box.x.data(),
                1);

    bool can_move = false;
    double gained = 0.0;
    bool all_at_most = true;
    bool first_pass_full = true;  // every widening attribute moved as far as it may
    bool second_pass_moved = false;
    double smallest_gain = kInfinity;
    for (int const c : box.movable) {
      auto const i = static_cast<std::size_t>(c);
      ASSERT_GE(box.x[i], box.low[i]);
      ASSERT_LE(box.x[i], box.high[i]);
      if (near[i] == 0.0F) continue;
      std::int32_t const direction = near[i] > 0.0F ? -1 : 1;
      std::int32_t const room =
          std::min(direction > 0 ? box.high[i] - before[i] : before[i] - box.low[i],
                   std::max((box.high[i] - box.low[i]) / kReachDivisor, reach));
      can_move = can_move || room > 0;
      std::int32_t const moved = (box.x[i] - before[i]) * direction;
      bool const widening = std::fabs(near[i]) >= -(far[i] * static_cast<float>(direction));
      if (widening && moved < room) first_pass_full = false;
      if (!widening && moved > 0) second_pass_moved = true;
      all_at_most = all_at_most && moved >= 0 && moved <= room;
      gained += moved * std::fabs(static_cast<double>(near[i]));
      if (moved > 0)
        smallest_gain = std::min(smallest_gain, std::fabs(static_cast<double>(near[i])));
    }
    if (!can_move) {  // a random step instead
      ++random_steps;
      auto again = before;
      random_step(box.subject, {round, 1, 5}, again.data(), 1);
      ASSERT_EQ(box.x, again);
      continue;
    }
    ASSERT_NE(box.x, before);
    ASSERT_TRUE(all_at_most) << "round " << round;
    if (second_pass_moved) {
      ASSERT_TRUE(first_pass_full) << "attributes that separate come first";
    }
    reached += gained >= margin * (1 - 1e-5) ? 1 : 0;
    if (gained < margin * (1 - 1e-5)) {  // then everything moved as far as it may
      for (int const c : box.movable) {
        auto const i = static_cast<std::size_t>(c);
        if (near[i] == 0.0F) continue;
        std::int32_t const direction = near[i] > 0.0F ? -1 : 1;
        std::int32_t const room =
            std::min(direction > 0 ? box.high[i] - before[i] : before[i] - box.low[i],
                     std::max((box.high[i] - box.low[i]) / kReachDivisor, reach));
        ASSERT_EQ((box.x[i] - before[i]) * direction, room);
      }
    } else if (reached > 0) {
      // no more than one step of one attribute beyond the boundary
      double largest = 0.0;
      for (int const c : box.movable)
        largest =
            std::max(largest, std::fabs(static_cast<double>(near[static_cast<std::size_t>(c)])));
      ASSERT_LT(gained, margin + largest * (1 + 1e-4));
    }
  }
  EXPECT_GT(reached, 1000);
  EXPECT_GT(random_steps, 100);
}

/// Whether a move of movable attribute i up or down is among the tried ones.
bool is_tried(std::vector<std::uint32_t> const& tried, int i, bool up) {
  auto const word = static_cast<std::size_t>(i / kMoveBits) + (up ? 0 : tried.size() / 2);
  return (tried[word] >> (i % kMoveBits) & 1U) != 0;
}

/// Moves that the doc comments allow: the strictest rule under which any attribute can move.
std::set<std::pair<int, std::int32_t>> allowed_moves(Box const& box, MarginLane const& lane,
                                                     std::vector<std::uint32_t> const& tried,
                                                     std::int32_t step) {
  for (int rule = 0; rule < 3; ++rule) {
    std::set<std::pair<int, std::int32_t>> moves;
    for (int i = 0; i < box.subject.movable_count; ++i) {
      auto const c = static_cast<std::size_t>(box.movable[static_cast<std::size_t>(i)]);
      for (std::int32_t const move : {step, -step}) {
        std::int32_t const to = lane.x[c] + move;
        if (to < box.low[c] || to > box.high[c]) continue;
        if (rule < 2 && is_tried(tried, i, move > 0)) continue;
        float const d = static_cast<float>(move);
        bool const stays = lane.margin_a + d * lane.slope_a[c] > 0.0F &&
                           lane.margin_b + d * lane.slope_b[c] > 0.0F;
        if (rule == 0 && !stays) continue;
        moves.insert({i, move});
      }
    }
    if (!moves.empty()) return moves;
  }
  return {};
}

TEST(Margin, MovesAreDrawnAmongTheBestUntried) {
  std::mt19937 random(8);
  std::normal_distribution<float> normal;
  for (int round = 0; round < 3000; ++round) {
    Box box(random, round % 8 == 0 ? 120 : 6);
    auto const columns = static_cast<std::size_t>(box.subject.columns);
    std::vector<float> a(columns);
    std::vector<float> b(columns);
    auto const words = static_cast<std::size_t>(move_words(box.subject));
    std::vector<std::uint32_t> tried(2 * words);
    for (std::size_t c = 0; c < columns; ++c) {
      a[c] = normal(random);
      b[c] = normal(random);
    }
    for (std::size_t w = 0; w < tried.size(); ++w) {
      if (w < words || round % 3 == 0) tried[w] = static_cast<std::uint32_t>(random());
      if (round % 5 == 0) tried[w] = ~0U;
    }
    std::int32_t const step = 1 + static_cast<std::int32_t>(random() % 3);
    auto const before = tried;
    MarginLane const lane{box.x.data(),
                          a.data(),
                          b.data(),
                          tried.data(),
                          1,
                          std::fabs(normal(random)),
                          std::fabs(normal(random))};
    auto const allowed = allowed_moves(box, lane, tried, step);
    auto const all_tried = [&](std::pair<int, std::int32_t> move) {
      return is_tried(before, move.first, move.second > 0);
    };
    auto const move =
        choose_margin_move(box.subject, lane, step, static_cast<std::uint32_t>(random()),
                           static_cast<std::uint32_t>(random()));
    if (allowed.empty()) {
      ASSERT_EQ(move.index, -1);
      continue;
    }
    ASSERT_TRUE(allowed.count({move.index, move.step}) == 1) << "round " << round;
    // when only tried moves were left, all are forgotten
    if (all_tried(*allowed.begin())) {
      ASSERT_EQ(tried, std::vector<std::uint32_t>(tried.size()));
    } else {
      ASSERT_EQ(tried, before);
    }
  }
}

TEST(Margin, MovesAreUniformOverAttributes) {
  constexpr std::uint32_t kDraws = 30'000;
  std::mt19937 random(9);
  auto box = std::make_unique<Box>(random);
  while (box->subject.movable_count < 3) box = std::make_unique<Box>(random);
  Box const& fixed = *box;
  std::vector<float> const flat(static_cast<std::size_t>(fixed.subject.columns), 0.0F);
  // in the middle of a wide domain every attribute can go both ways
  std::vector<std::int32_t> low(flat.size(), -5);
  std::vector<std::int32_t> high(flat.size(), 5);
  std::vector<std::int32_t> const x(flat.size(), 0);
  Subject subject = fixed.subject;
  subject.low = low.data();
  subject.high = high.data();
  subject.movable = fixed.movable.data();
  std::vector<std::uint32_t> tried(2 * static_cast<std::size_t>(move_words(subject)));
  MarginLane const lane{x.data(), flat.data(), flat.data(), tried.data(), 1, 1.0F, 1.0F};
  std::map<std::pair<int, std::int32_t>, int> seen;
  for (std::uint32_t i = 0; i < kDraws; ++i) {
    auto const move = choose_margin_move(subject, lane, 1, word_of(i, 0), word_of(i, 1));
    ++seen[{move.index, move.step}];
  }
  ASSERT_EQ(seen.size(), 2U * static_cast<std::size_t>(subject.movable_count));
  double chi = 0.0;
  double const expected = static_cast<double>(kDraws) / static_cast<double>(seen.size());
  for (auto const& [move, n] : seen) chi += std::pow(n - expected, 2) / expected;
  EXPECT_LT(chi, chi_limit(static_cast<double>(seen.size() - 1)));
}

}  // namespace
}  // namespace fairlane
