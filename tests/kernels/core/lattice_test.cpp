// Moves of several attributes against a plain reading of what they are.
#include "kernels/core/trial_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/device/host_device.h"
#include "kernels/rounds/trial_board.h"

namespace fairlane {
namespace {

constexpr int kColumns = 5;

/// One origin over five columns, and what its plan is made from.
struct Origin {
  std::vector<std::int32_t> low = {0, 0, 0, 0, 0};
  std::vector<std::int32_t> high = {9, 3, 1, 40, 6};
  std::vector<std::int32_t> x;
  std::vector<float> slope_a;
  std::vector<float> slope_b;
  float margin_a = 0.0F;
  float margin_b = 0.0F;
  float sign_b = 1.0F;
  std::uint64_t key = 0;
  std::vector<int> word = std::vector<int>(kColumns, 0);
  std::vector<std::uint64_t> key_stride = {1, 10, 40, 80, 3280};
  std::vector<std::uint32_t> trial = std::vector<std::uint32_t>(kMostTrials);
  std::vector<std::uint32_t> trial_hash = std::vector<std::uint32_t>(kMostTrials);

  explicit Origin(std::mt19937& random) {
    std::uniform_real_distribution<float> slope(-1.0F, 1.0F);
    for (int c = 0; c < kColumns; ++c) {
      auto const at = static_cast<std::size_t>(c);
      x.push_back(std::uniform_int_distribution<std::int32_t>(low[at], high[at])(random));
      slope_a.push_back(slope(random));
      slope_b.push_back(-slope_a.back() + 0.1F * slope(random));
      key += static_cast<std::uint64_t>(x.back()) * key_stride[at];
    }
    margin_a = slope(random) + 0.2F;
    margin_b = 0.3F - margin_a;
  }
  Subject subject() const {
    Subject s;
    s.columns = kColumns;
    s.low = low.data();
    s.high = high.data();
    return s;
  }
  PlanLanes lanes() {
    return {1,
            1,
            x.data(),
            &key,
            word.data(),
            key_stride.data(),
            &margin_a,
            &margin_b,
            &sign_b,
            slope_a.data(),
            slope_b.data(),
            1,
            1,
            trial.data(),
            trial_hash.data()};
  }
};

MovePrediction<ScalarPack, LaneColumns<ScalarPack>> prediction_of(Subject const& s,
                                                                  PlanLanes const& lanes) {
  return {s, lanes, 0, {s, lanes, 0}};
}

std::vector<float> rates() {
  // What is predicted to miss by far, or goes nowhere, is no move, whatever its rate.
  std::vector<float> rate(kLookupValues, 1.0F);
  for (int d = 1; d < kMoveDistances; ++d) {
    for (int centre = 1; centre < kMoveCentres; ++centre) {
      rate[static_cast<std::size_t>(d * kMoveCentres + centre)] =
          static_cast<float>(centre) / static_cast<float>(d * kMoveCentres);
    }
  }
  return rate;
}

/// Of moves of each distance and beyond.
std::vector<float> best_of(std::vector<float> const& rate) {
  std::vector<float> best(kMoveDistances);
  for (int from = 0; from < kMoveDistances; ++from) {
    float& most = best[static_cast<std::size_t>(from)];
    for (int d = std::max(from, 1); d < kMoveDistances; ++d) {
      for (int centre = 1; centre < kMoveCentres; ++centre)
        most = std::max(most, rate[static_cast<std::size_t>(d * kMoveCentres + centre)]);
    }
  }
  return best;
}

/// best: as best_of() has it
std::vector<MoveDraw> some_draws(std::mt19937& random, int count, std::vector<float> const& best) {
  std::vector<MoveDraw> draws;
  std::vector<std::int32_t> columns = {0, 1, 2, 3, 4};
  for (int i = 0; i < count; ++i) {
    std::shuffle(columns.begin(), columns.end(), random);
    auto const step = [&] { return static_cast<std::int32_t>(random() % 7) - 3; };
    auto const weight = static_cast<float>(random() % 8 + 1) / 4.0F;
    MoveDraw draw{{columns[0], columns[1], columns[2]}, {step(), step()}, 0, weight, 0.0F};
    draw.distance = std::abs(draw.by[0]) + std::abs(draw.by[1]);
    draw.bound =
        weight * best[static_cast<std::size_t>(std::min(draw.distance, kMoveDistances - 1))];
    draws.push_back(draw);
  }
  std::ranges::stable_sort(draws, std::ranges::greater(), &MoveDraw::bound);
  return draws;
}

/// The steps of a test by column.
std::vector<std::int32_t> steps_of(std::vector<MoveDraw> const& draws, std::uint32_t word) {
  std::vector<std::int32_t> steps(kColumns);
  MoveDraw const& draw = draws[static_cast<std::size_t>(TrialWord::draw(word))];
  for (int i = 0; i < 2; ++i) steps[static_cast<std::size_t>(draw.column[i])] += draw.by[i];
  steps[static_cast<std::size_t>(draw.column[2])] += TrialWord::solved(word);
  return steps;
}

TEST(Lattice, TheSolvedStepCentresTheBoundary) {
  std::mt19937 random(3);
  auto const best = best_of(rates());
  for (int round = 0; round < 300; ++round) {
    Origin origin(random);
    Subject const s = origin.subject();
    PlanLanes const lanes = origin.lanes();
    auto const prediction = prediction_of(s, lanes);
    for (MoveDraw const& draw : some_draws(random, 20, best)) {
      auto const move = prediction.move(draw);
      if (!move.near) continue;
      auto const imbalance = [&](std::int32_t solved) {
        double a = origin.margin_a;
        double b = origin.margin_b;
        for (int i = 0; i < 3; ++i) {
          auto const c = static_cast<std::size_t>(draw.column[i]);
          double const by = i < 2 ? draw.by[i] : solved;
          a += by * static_cast<double>(origin.slope_a[c]);
          b += by * static_cast<double>(origin.slope_b[c]);
        }
        return std::abs(a - b);
      };
      auto const c = static_cast<std::size_t>(draw.column[2]);
      for (std::int32_t other = -kLongestSolved; other <= kLongestSolved; ++other) {
        std::int32_t const code = origin.x[c] + other;
        if (code < origin.low[c] || code > origin.high[c]) continue;
        ASSERT_LE(imbalance(move.solved), imbalance(other) + 1e-4);
      }
    }
  }
}

/// The tests of the only origin, which a team chooses as a thread alone does.
void plan_alone_and_together(Subject const& s, MoveTable const& table, PlanLanes const& lanes) {
  plan_trials<ScalarPack>(s, table, lanes, 0, LaneColumns<ScalarPack>{s, lanes, 0});
  std::vector<std::uint32_t> trial(kMostTrials);
  std::vector<std::uint32_t> hash(kMostTrials);
  PlanLanes again = lanes;
  again.trial = trial.data();
  again.trial_hash = hash.data();
  std::vector<std::uint64_t> memory(TrialBoard::bytes(kColumns) / sizeof(std::uint64_t), ~0ULL);
  plan_trials_together(SoloTeam{}, s, table, again, 0,
                       *reinterpret_cast<TrialBoard*>(memory.data()));
  for (int t = 0; t < table.trials; ++t) {
    ASSERT_EQ(trial[static_cast<std::size_t>(t)], lanes.trial[t]);
    ASSERT_EQ(hash[static_cast<std::size_t>(t)], lanes.trial_hash[t]);
  }
}

struct PlannedMove {
  float rate = 0.0F;
  std::uint64_t group = 0;
};

/// The best moves of a table, draw after draw: one that leads to a group which is among the best so
/// far already is left out.
std::vector<PlannedMove> best_moves(Subject const& s, PlanLanes const& lanes,
                                    MoveTable const& table) {
  auto const prediction = prediction_of(s, lanes);
  std::vector<PlannedMove> best;
  for (int d = 0; d < table.count; ++d) {
    MoveDraw const& draw = table.draws[d];
    auto const move = prediction.move(draw);
    int const move_class = prediction.class_of(draw, move.solved, move.least, move.moved);
    if (!move.near || move_class < kMoveCentres) continue;
    PlannedMove const planned{table.rate[move_class] * draw.weight,
                              hash_after(lanes, draw, KeyChange(lanes, draw, 0), move.solved, 0)};
    bool const is_there = std::ranges::any_of(
        best, [&](PlannedMove const& other) { return other.group == planned.group; });
    if (planned.rate <= 0.0F || table.tested.has(planned.group) || is_there) continue;
    best.push_back(planned);
    std::ranges::stable_sort(best, std::ranges::greater(), &PlannedMove::rate);
    if (best.size() > static_cast<std::size_t>(table.trials)) best.pop_back();
  }
  return best;
}

TEST(Lattice, APlanHasTheBestMovesThatAreNotTested) {
  std::mt19937 random(4);
  auto const rate = rates();
  auto const best = best_of(rate);
  for (int round = 0; round < 200; ++round) {
    Origin origin(random);
    Subject const s = origin.subject();
    PlanLanes const lanes = origin.lanes();
    auto const draws = some_draws(random, 300, best);
    std::vector<std::uint64_t> bits(4);  // 256 groups' worth
    for (auto& word : bits) word = round % 2 == 0 ? 0 : std::uint64_t{random()} << 32 | random();
    MoveTable table{draws.data(), 300, rate.data(), {bits.data(), 8}};
    table.trials = std::array{4, kUsualTrials, kMostTrials}[static_cast<std::size_t>(round) % 3];
    plan_alone_and_together(s, table, lanes);

    auto const wanted = best_moves(s, lanes, table);
    for (std::size_t t = 0; t < static_cast<std::size_t>(table.trials); ++t) {
      std::uint32_t const word = origin.trial[t];
      if (!TrialWord::moves(word)) {
        EXPECT_GE(t, wanted.size());
        continue;
      }
      ASSERT_GT(TrialWord::move_class(word) % kMoveCentres, 0);
      float const weight = draws[static_cast<std::size_t>(TrialWord::draw(word))].weight;
      ASSERT_EQ(rate[static_cast<std::size_t>(TrialWord::move_class(word))] * weight,
                wanted.at(t).rate);
      ASSERT_EQ(origin.trial_hash[t], TestedGroups::high_bits(wanted.at(t).group));
      auto const steps = steps_of(draws, word);
      std::uint64_t key = 0;
      for (std::size_t c = 0; c < kColumns; ++c) {
        std::int32_t const code = origin.x[c] + steps[c];
        ASSERT_TRUE(code >= origin.low[c] && code <= origin.high[c]);
        key += static_cast<std::uint64_t>(code) * origin.key_stride[c];
      }
      ASSERT_EQ(TestedGroups::high_bits(hash_word(0, key)), origin.trial_hash[t]);
    }
  }
}

TEST(Lattice, APlanMayLeadToTheGroupOfTheLowestCodesWhoseHashIsZero) {
  std::mt19937 random(4);
  auto const rate = rates();
  Origin origin(random);
  Subject const s = origin.subject();
  PlanLanes const lanes = origin.lanes();
  auto const draws = some_draws(random, 300, best_of(rate));
  MoveTable const table{draws.data(), 300, rate.data(), {}};
  plan_alone_and_together(s, table, lanes);
  std::uint32_t const best = origin.trial[0];
  ASSERT_TRUE(TrialWord::moves(best));
  KeyChange const change(lanes, draws[static_cast<std::size_t>(TrialWord::draw(best))], 0);
  origin.key = 0 - change.by(TrialWord::solved(best));
  plan_alone_and_together(s, table, lanes);
  EXPECT_EQ(origin.trial[0], best);
  EXPECT_EQ(origin.trial_hash[0], 0U);
}

/// "Column 0, and 3 times column 1, which is under test, and column 3 add up to at most so much" of
/// a finding.
struct FindingLimit {
  std::int32_t bound = 20;
  std::vector<std::int32_t> variant_code = {3, 1};  // two members
  std::vector<FeasibilityTerm> terms = {{0, -1, TermKind::kCode, 1, 0, 9, 0},
                                        {1, 0, TermKind::kCode, 3, 0, 3, 0},
                                        {3, -1, TermKind::kCode, 1, 0, 40, 0}};
  FeasibilityRule rule = {0, 3, bound, -1};

  void add_to(Subject& s) const {
    s.selected = 1;
    s.variant_code = variant_code.data();
    s.feasible.finding_rules = 1;
    s.feasible.rule = &rule;
    s.feasible.term = terms.data();
  }
  bool allows(Origin const& origin, std::int32_t variant, MoveDraw const& draw,
              std::int32_t solved) const {
    std::vector<std::int32_t> row = origin.x;
    row[1] = variant_code[static_cast<std::size_t>(variant)];
    for (int i = 0; i < 3; ++i)
      row[static_cast<std::size_t>(draw.column[i])] += i < 2 ? draw.by[i] : solved;
    // Only draws of this test move what is under test; beyond the domain its nearest code counts.
    return row[0] + 3 * std::clamp(row[1], 0, 3) + row[3] <= bound;
  }
};

TEST(Lattice, APlanHasOnlyMovesToWhatMayBeAFinding) {
  std::mt19937 random(5);
  auto const rate = rates();
  auto const best = best_of(rate);
  FindingLimit const limit;
  std::size_t left_out = 0;
  for (int round = 0; round < 200; ++round) {
    Origin origin(random);
    std::int32_t const side = round % 2;
    PlanLanes lanes = origin.lanes();
    lanes.side_a = &side;
    Subject s = origin.subject();
    auto const draws = some_draws(random, 300, best);
    std::vector<MoveDraw> allowed;
    auto const prediction = prediction_of(s, lanes);
    for (MoveDraw const& draw : draws)
      if (limit.allows(origin, side, draw, prediction.move(draw).solved)) allowed.push_back(draw);
    left_out += draws.size() - allowed.size();
    auto const plan = [&](std::vector<MoveDraw> const& from) {
      MoveTable const table{from.data(), static_cast<std::int32_t>(from.size()), rate.data(), {}};
      plan_alone_and_together(s, table, lanes);
      return origin.trial_hash;
    };
    auto const wanted = plan(allowed);
    limit.add_to(s);
    ASSERT_EQ(plan(draws), wanted);
  }
  EXPECT_GT(left_out, 1000U);
}

// With slack, the bound of a plan is what the origin's own draw leaves of it.
TEST(Lattice, APlanGoesNoFurtherThanIsDrawnForItsOrigin) {
  std::mt19937 random(6);
  auto const rate = rates();
  auto const best = best_of(rate);
  std::vector<std::int32_t> slack(kSlacks);
  for (auto& one : slack) one = static_cast<std::int32_t>(random() % 12);
  std::size_t less_than_bound = 0;
  for (int round = 0; round < 200; ++round) {
    Origin origin(random);
    std::int32_t const side = round % 2;
    PlanLanes lanes = origin.lanes();
    lanes.side_a = &side;
    auto const draws = some_draws(random, 300, best);
    MoveTable const table{draws.data(), 300, rate.data(), {}};
    std::uint64_t const hash = hash_word(0, lanes.key[0]);
    FindingLimit limit;
    limit.rule.bound = 40;
    std::int32_t const own =
        origin.x[0] + 3 * limit.variant_code[static_cast<std::size_t>(side)] + origin.x[3];
    std::int32_t const most =
        std::min(limit.rule.bound, own + slack[static_cast<std::size_t>(hash >> 56)]);
    less_than_bound += most < limit.rule.bound ? 1 : 0;
    auto const plan = [&](Subject const& s) {
      plan_alone_and_together(s, table, lanes);
      return origin.trial_hash;
    };
    Subject s = origin.subject();
    limit.add_to(s);
    s.feasible.table = slack.data();
    s.feasible.slack = 0;
    auto const found = plan(s);
    FindingLimit nearer;
    nearer.rule.bound = most;
    Subject plain = origin.subject();
    nearer.add_to(plain);
    ASSERT_EQ(found, plan(plain));
  }
  EXPECT_GT(less_than_bound, 50U);
  EXPECT_LT(less_than_bound, 200U);
}

TEST(Lattice, AMissIsNearByItsLeastMarginAndTheGap) {
  EXPECT_EQ(miss_outcome(0.4F, 1.0F), TrialOutcome::kNear0);
  EXPECT_EQ(miss_outcome(0.9F, 1.0F), TrialOutcome::kNear1);
  EXPECT_EQ(miss_outcome(1.9F, 1.0F), TrialOutcome::kNear2);
  EXPECT_EQ(miss_outcome(7.9F, 1.0F), TrialOutcome::kNear3);
  EXPECT_EQ(miss_outcome(31.0F, 1.0F), TrialOutcome::kNear4);
  EXPECT_EQ(miss_outcome(33.0F, 1.0F), TrialOutcome::kFar);
}

TEST(Lattice, ATrialsWordHoldsItsParts) {
  for (int const draw : {0, 1, kMostMoveDraws - 1}) {
    for (std::int32_t const solved : {-kLongestSolved, 0, kLongestSolved}) {
      for (int const move_class : {kMoveCentres, kMoveClasses - 1}) {
        std::uint32_t const word = TrialWord::pack(draw, solved, move_class) |
                                   static_cast<std::uint32_t>(TrialOutcome::kFar);
        EXPECT_EQ(TrialWord::draw(word), draw);
        EXPECT_EQ(TrialWord::solved(word), solved);
        EXPECT_EQ(TrialWord::move_class(word), move_class);
        EXPECT_EQ(TrialWord::outcome(word), TrialOutcome::kFar);
        EXPECT_TRUE(TrialWord::moves(word));
      }
    }
  }
}

}  // namespace
}  // namespace fairlane
