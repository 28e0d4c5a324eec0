#include "engine/search/lockstep/move_draws.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace fairlane {
namespace {

/// Five columns, of which four move.
struct FourMove {
  std::vector<std::int32_t> low = {0, 0, 0, 0, 0};
  std::vector<std::int32_t> high = {1, 9, 3, 40, 1};
  std::vector<int> movable = {1, 2, 3, 4};

  Subject subject() const {
    Subject s;
    s.columns = 5;
    s.low = low.data();
    s.high = high.data();
    s.movable = movable.data();
    s.movable_count = 4;
    return s;
  }
};

bool steps(MoveDraw const& draw, int column, std::int32_t by) {
  return (draw.column[0] == column && draw.by[0] == by) ||
         (draw.column[1] == column && draw.by[1] == by);
}

TEST(MoveDraws, ChangeDifferentColumnsWithinTheirRangeBestFirst) {
  FourMove const domain;
  Subject const s = domain.subject();
  ThreadPool pool;
  MoveDraws moves(s, 7);
  MoveOutcomes outcomes(s);
  for (std::uint32_t wave = 1; wave <= 5; ++wave) {
    std::size_t const count = wave == 5 ? kMostMoveDraws : 700;
    moves.draw(wave, count, outcomes, pool, 2);
    MoveTable const table = moves.table();
    EXPECT_EQ(table.count, static_cast<std::int32_t>(count));
    for (int d = 0; d < table.count; ++d) {
      MoveDraw const& draw = table.draws[d];
      auto const& c = draw.column;
      ASSERT_TRUE(c[0] != c[1] && c[1] != c[2] && c[0] != c[2]);
      for (int const column : c) ASSERT_TRUE(column >= 1 && column <= 4);
      ASSERT_GE(draw.distance, 1);
      for (int i = 0; i < 2; ++i)
        ASSERT_LE(std::abs(draw.by[i]), domain.high[static_cast<std::size_t>(c[i])]);
      ASSERT_GE(table.draws[std::max(d - 1, 0)].bound, draw.bound);
      ASSERT_EQ(draw.weight, 1.0F);
    }
  }
}

TEST(MoveDraws, StepsThatHitWeighMore) {
  FourMove const domain;
  Subject const s = domain.subject();
  ThreadPool pool;
  MoveDraws moves(s, 7);
  MoveOutcomes outcomes(s);
  moves.draw(1, 700, outcomes, pool, 2);
  MoveTable const table = moves.table();
  MoveDraws::Tally tally = moves.new_tally();
  for (int d = 0; d < table.count; ++d) {
    std::uint32_t const word = TrialWord::pack(d, 0, kMoveCentres + 3);
    moves.count(word, steps(moves.of(word), 1, 1), tally);
  }
  tally.add_to(outcomes);
  float const before = table.rate[kMoveCentres + 3];
  moves.draw(2, 700, outcomes, pool, 2);
  MoveTable const learned = moves.table();
  EXPECT_LT(learned.rate[kMoveCentres + 3], before);
  float least_good = 1e9F;
  float most_other = 0.0F;
  for (int d = 0; d < learned.count; ++d) {
    MoveDraw const& draw = learned.draws[d];
    if (draw.distance > 1) continue;
    float& bound = steps(draw, 1, 1) ? least_good : most_other;
    bound = steps(draw, 1, 1) ? std::min(bound, draw.weight) : std::max(bound, draw.weight);
  }
  EXPECT_GT(least_good, 3.0F * most_other);
  EXPECT_TRUE(steps(learned.draws[0], 1, 1));
}

TEST(MoveDraws, AreSaved) {
  FourMove const domain;
  Subject const s = domain.subject();
  ThreadPool pool;
  MoveDraws moves(s, 7);
  MoveOutcomes outcomes(s);
  moves.draw(1, 700, outcomes, pool, 2);
  MoveDraws::Tally tally = moves.new_tally();
  for (int d = 0; d < 700; ++d)
    moves.count(TrialWord::pack(d, 0, kMoveCentres + d % 40), d % 3 == 0, tally);
  tally.add_to(outcomes);
  outcomes.end_wave();
  MoveOutcomes saved(s);
  saved.restore(outcomes.state());
  MoveDraws again(s, 7);
  moves.draw(2, 700, outcomes, pool, 2);
  again.draw(2, 700, saved, pool, 2);
  MoveTable const a = moves.table();
  MoveTable const b = again.table();
  EXPECT_TRUE(std::equal(a.rate, a.rate + kMoveClasses, b.rate));
  for (int d = 0; d < a.count; ++d) {
    ASSERT_EQ(a.draws[d].weight, b.draws[d].weight);
    ASSERT_EQ(a.draws[d].bound, b.draws[d].bound);
  }
}

}  // namespace
}  // namespace fairlane
