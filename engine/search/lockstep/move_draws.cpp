#include "engine/search/lockstep/move_draws.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>

namespace fairlane {

namespace {

constexpr double kMovesRemembered = 0.98;  // of what is known of moves, from wave to wave

/// Share of moves that meet an IDI before any is known, by distance; less where the predicted
/// margins are not centred.
constexpr std::array<double, kMoveDistances> kFirstRate = {0.0,  0.5,  0.25, 0.12, 0.07,
                                                           0.05, 0.03, 0.02, 0.01};
constexpr std::array<double, kMoveCentres> kFirstShare = {0.15, 0.5, 0.8, 1.0, 1.2, 1.4};
constexpr double kFirstTests = 8.0;  // that this is worth

constexpr std::int32_t kStepSizes = 4;  // the largest: and more
constexpr std::size_t kStepsOfColumn = 2 * kStepSizes;
constexpr double kFirstSteps = 4.0;  // tests that the mean of all steps is worth for one of them

/// Place of a column's step among those that are counted.
std::size_t step_place(int column, std::int32_t by) {
  std::int32_t const size = std::min(std::abs(by), kStepSizes) - 1;
  return static_cast<std::size_t>(column) * kStepsOfColumn +
         static_cast<std::size_t>((by > 0 ? kStepSizes : 0) + size);
}

}  // namespace

MoveDraws::MoveDraws(Subject const& subject, std::uint64_t seed)
    : subject_(subject),
      seed_(seed),
      classes_(kMoveClasses),
      steps_(static_cast<std::size_t>(subject.columns) * kStepsOfColumn) {}

void MoveDraws::draw(std::uint32_t wave, std::size_t count) {
  draws_.resize(count);
  for (std::size_t d = 0; d < draws_.size(); ++d)
    draws_[d] = draw_one(static_cast<std::uint32_t>(d), wave);
  learn_rates();
  weigh();
  std::ranges::stable_sort(draws_, std::ranges::greater(), &MoveDraw::bound);
}

MoveDraw MoveDraws::draw_one(std::uint32_t number, std::uint32_t wave) const {
  Subject const& s = subject_;
  auto const movable = static_cast<std::uint32_t>(s.movable_count);
  auto const draw = [&](std::uint32_t part) {
    return philox<ScalarPack>(number, static_cast<std::uint32_t>(Phase::kFrontier), wave, part,
                              seed_);
  };
  auto const places = draw(1);
  auto const sizes = draw(2);
  auto const more = draw(3);
  MoveDraw move{};
  std::uint32_t const first = below<ScalarPack>(places.w[0], movable);
  move.column[0] = s.movable[first];
  move.column[1] = move.column[2] = -1;
  if (movable > 1) {
    std::uint32_t second = below<ScalarPack>(places.w[1], movable - 1);
    second += second >= first ? 1 : 0;
    move.column[2] = s.movable[second];
    if (movable > 2) {
      std::uint32_t third = below<ScalarPack>(places.w[2], movable - 2);
      third += third >= std::min(first, second) ? 1 : 0;
      third += third >= std::max(first, second) ? 1 : 0;
      move.column[1] = s.movable[third];
    }
  }
  for (std::uint32_t i = 0; i + 1 < kMoveAttributes; ++i) {
    int const c = move.column[i];
    bool const stays = i == 1 && unit_float<ScalarPack>(more.w[0]) < 0.2F;
    if (c < 0 || stays) continue;
    float const size = unit_float<ScalarPack>(sizes.w[2 * i]);
    constexpr std::uint32_t kLongest = 4;
    std::uint32_t const longest = below<ScalarPack>(more.w[1 + i], kLongest) + 1;
    auto const by = static_cast<std::int32_t>(size < 0.75F ? 1U : size < 0.92F ? 2U : longest);
    std::int32_t const step = std::min(by, s.high[c] - s.low[c]);
    move.by[i] = (sizes.w[2 * i + 1] & 1U) != 0 ? step : -step;
  }
  return move;
}

void MoveDraws::weigh() {
  double const tried = std::accumulate(steps_.tried.begin(), steps_.tried.end(), 1.0);
  double const mean = std::accumulate(steps_.hits.begin(), steps_.hits.end(), 0.5) / tried;
  for (MoveDraw& move : draws_) {
    double weight = 1.0;
    for (int i = 0; i + 1 < kMoveAttributes; ++i) {
      if (move.by[i] == 0) continue;
      std::size_t const at = step_place(move.column[i], move.by[i]);
      weight *= (steps_.hits[at] + kFirstSteps * mean) / (steps_.tried[at] + kFirstSteps) / mean;
    }
    move.weight = static_cast<float>(weight);
    auto const distance = static_cast<std::size_t>(move.distance());
    move.bound = move.weight * best_from_[std::min(distance, best_from_.size() - 1)];
  }
}

void MoveDraws::learn_rates() {
  rates_.resize(kMoveClasses);
  best_from_.fill(0.0F);
  for (std::size_t d = kMoveDistances; d-- > 0;) {
    if (d + 1 < kMoveDistances) best_from_[d] = best_from_[d + 1];
    for (std::size_t centre = 0; centre < kMoveCentres; ++centre) {
      std::size_t const at = d * kMoveCentres + centre;
      double const first = kFirstRate[d] * kFirstShare[centre] * kFirstTests;
      rates_[at] =
          static_cast<float>((classes_.hits[at] + first) / (classes_.tried[at] + kFirstTests));
      if (centre == 0) rates_[at] = 0.0F;  // what is predicted to miss by far is not tested
      best_from_[d] = std::max(best_from_[d], rates_[at]);
    }
  }
}

MoveTable MoveDraws::table() const {
  MoveTable table;
  table.draws = draws_.data();
  table.count = static_cast<std::int32_t>(draws_.size());
  table.rate = rates_.data();
  return table;
}

void MoveDraws::learn(std::uint32_t word, bool hit) {
  classes_.add(static_cast<std::size_t>(TrialWord::move_class(word)), hit);
  MoveDraw const& draw = of(word);
  for (int i = 0; i + 1 < kMoveAttributes; ++i) {
    if (draw.by[i] != 0) steps_.add(step_place(draw.column[i], draw.by[i]), hit);
  }
}

void MoveDraws::end_wave() {
  for (auto* values : {&classes_.tried, &classes_.hits, &steps_.tried, &steps_.hits})
    for (double& value : *values) value *= kMovesRemembered;
}

std::vector<double> MoveDraws::state() const {
  std::vector<double> state;
  for (auto const* values : {&classes_.tried, &classes_.hits, &steps_.tried, &steps_.hits})
    state.insert(state.end(), values->begin(), values->end());
  return state;
}

void MoveDraws::restore(std::span<double const> state) {
  for (auto* values : {&classes_.tried, &classes_.hits, &steps_.tried, &steps_.hits}) {
    std::copy_n(state.begin(), values->size(), values->begin());
    state = state.subspan(values->size());
  }
}

}  // namespace fairlane
