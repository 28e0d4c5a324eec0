#include "engine/search/lockstep/move_draws.h"

#include <algorithm>
#include <array>
#include <bit>
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

// A draw's random words: one for each attribute, and the bits of one for the steps.
constexpr std::uint32_t kMoveWords = 1;
// Of 256:
constexpr std::uint32_t kStays = 51;  // the second attribute does not move
constexpr std::uint32_t kOnes = 192;  // steps of one
constexpr std::uint32_t kTwos = 236;  // and of two; others are of up to four

// Bounds are rounded up to four bits behind the first one, so that draws are sorted by counting.
constexpr int kBoundBits = 19;  // that are left out
constexpr std::uint32_t kBoundRanks = 1U << (31 - kBoundBits);

float bound_of(float rate) {
  constexpr std::uint32_t kLeftOut = (1U << kBoundBits) - 1U;
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(rate) + kLeftOut) & ~kLeftOut);
}
/// Largest bounds first.
std::uint32_t rank_of(float bound) {
  return kBoundRanks - 1U - (std::bit_cast<std::uint32_t>(bound) >> kBoundBits);
}

/// Place of a column's step among all that is counted: behind the classes.
std::size_t step_place(int column, std::int32_t by) {
  std::int32_t const size = std::min(std::abs(by), kStepSizes) - 1;
  return kMoveClasses + static_cast<std::size_t>(column) * kStepsOfColumn +
         static_cast<std::size_t>((by > 0 ? kStepSizes : 0) + size);
}

/// All that is counted.
std::size_t outcome_count(Subject const& subject) {
  return kMoveClasses + static_cast<std::size_t>(subject.columns) * kStepsOfColumn;
}

}  // namespace

MoveOutcomes::MoveOutcomes(Subject const& subject)
    : tried(outcome_count(subject)), hits(tried.size()) {}

void MoveOutcomes::end_wave() {
  for (auto* values : {&tried, &hits})
    for (double& value : *values) value *= kMovesRemembered;
}

std::vector<double> MoveOutcomes::state() const {
  std::vector<double> state = tried;
  state.insert(state.end(), hits.begin(), hits.end());
  return state;
}

void MoveOutcomes::restore(std::span<double const> state) {
  for (auto* values : {&tried, &hits}) {
    std::copy_n(state.begin(), values->size(), values->begin());
    state = state.subspan(values->size());
  }
}

void MoveDraws::Tally::add(Tally const& other) {
  for (std::size_t at = 0; at < tried.size(); ++at) {
    tried[at] += other.tried[at];
    hits[at] += other.hits[at];
  }
}

void MoveDraws::Tally::add_to(MoveOutcomes& outcomes) const {
  for (std::size_t at = 0; at < tried.size(); ++at) {
    outcomes.tried[at] += tried[at];
    outcomes.hits[at] += hits[at];
  }
}

MoveDraws::MoveDraws(Subject const& subject, std::uint64_t seed)
    : subject_(subject), seed_(seed), places_(kBoundRanks), weights_(outcome_count(subject)) {}

void MoveDraws::draw(std::uint32_t wave, std::size_t count, MoveOutcomes const& outcomes,
                     ThreadPool& pool, int threads) {
  constexpr std::int64_t kPiece = 256;  // that is worth a thread
  learn_rates(outcomes);
  learn_weights(outcomes);
  unsorted_.resize(count);
  pool.share(threads, 0, static_cast<std::int64_t>(count), kPiece,
             [&](int, std::int64_t first, std::int64_t some) {
               for (std::int64_t d = first; d < first + some; ++d) {
                 MoveDraw& move = unsorted_[static_cast<std::size_t>(d)];
                 move = draw_one(static_cast<std::uint32_t>(d), wave);
                 weigh(move);
               }
             });
  sort_draws();
}

void MoveDraws::sort_draws() {
  std::ranges::fill(places_, 0);
  for (MoveDraw const& move : unsorted_) ++places_[rank_of(move.bound)];
  std::exclusive_scan(places_.begin(), places_.end(), places_.begin(), 0U);
  draws_.resize(unsorted_.size());
  for (MoveDraw const& move : unsorted_) draws_[places_[rank_of(move.bound)]++] = move;
}

MoveDraw MoveDraws::draw_one(std::uint32_t number, std::uint32_t wave) const {
  Subject const& s = subject_;
  auto const movable = static_cast<std::uint32_t>(s.movable_count);
  auto const random = philox<ScalarPack>(number, static_cast<std::uint32_t>(Phase::kFrontier), wave,
                                         kMoveWords, seed_);
  auto const& words = random.w;
  std::uint32_t bits = words[3];
  auto const take = [&](int count) {
    std::uint32_t const taken = bits & ((1U << count) - 1U);
    bits >>= count;
    return taken;
  };
  MoveDraw move{};
  std::uint32_t const first = below<ScalarPack>(words[0], movable);
  move.column[0] = s.movable[first];
  move.column[1] = move.column[2] = MoveDraw::kNoColumn;
  if (movable > 1) {
    std::uint32_t second = below<ScalarPack>(words[1], movable - 1);
    second += second >= first ? 1 : 0;
    move.column[2] = s.movable[second];
    if (movable > 2) {
      std::uint32_t third = below<ScalarPack>(words[2], movable - 2);
      third += third >= std::min(first, second) ? 1 : 0;
      third += third >= std::max(first, second) ? 1 : 0;
      move.column[1] = s.movable[third];
    }
  }
  bool const second_stays = take(8) < kStays;
  for (int i = 0; i + 1 < kMoveAttributes; ++i) {
    std::uint32_t const size = take(8);
    std::uint32_t const longest = take(2) + 1;
    bool const up = take(1) != 0;
    int const c = move.column[i];
    if (c == MoveDraw::kNoColumn || (i == 1 && second_stays)) continue;
    auto const by = static_cast<std::int32_t>(size < kOnes ? 1U : size < kTwos ? 2U : longest);
    std::int32_t const step = std::min(by, s.high[c] - s.low[c]);
    move.by[i] = up ? step : -step;
    move.distance += step;
  }
  return move;
}

void MoveDraws::learn_weights(MoveOutcomes const& outcomes) {
  auto const& [tried, hits] = outcomes;
  double const all = std::accumulate(tried.begin() + kMoveClasses, tried.end(), 1.0);
  double const mean = std::accumulate(hits.begin() + kMoveClasses, hits.end(), 0.5) / all;
  for (std::size_t at = kMoveClasses; at < weights_.size(); ++at) {
    double const rate = (hits[at] + kFirstSteps * mean) / (tried[at] + kFirstSteps);
    weights_[at] = static_cast<float>(rate / mean);
  }
}

void MoveDraws::weigh(MoveDraw& move) const {
  move.weight = 1.0F;
  for (int i = 0; i + 1 < kMoveAttributes; ++i) {
    if (move.by[i] != 0) move.weight *= weights_[step_place(move.column[i], move.by[i])];
  }
  auto const distance = static_cast<std::size_t>(move.distance);
  move.bound = bound_of(move.weight * best_from_[std::min(distance, best_from_.size() - 1)]);
}

void MoveDraws::learn_rates(MoveOutcomes const& outcomes) {
  rates_.resize(kLookupValues);
  best_from_.fill(0.0F);
  for (std::size_t d = kMoveDistances; d-- > 0;) {
    if (d + 1 < kMoveDistances) best_from_[d] = best_from_[d + 1];
    for (std::size_t centre = 0; centre < kMoveCentres; ++centre) {
      std::size_t const at = d * kMoveCentres + centre;
      double const first = kFirstRate[d] * kFirstShare[centre] * kFirstTests;
      rates_[at] =
          static_cast<float>((outcomes.hits[at] + first) / (outcomes.tried[at] + kFirstTests));
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

MoveDraws::Tally MoveDraws::new_tally() const {
  std::vector<std::uint32_t> const none(weights_.size());
  return {none, none};
}

void MoveDraws::count(std::uint32_t word, bool hit, Tally& tally) const {
  auto const add = [&](std::size_t at) {
    ++tally.tried[at];
    tally.hits[at] += hit ? 1U : 0U;
  };
  add(static_cast<std::size_t>(TrialWord::move_class(word)));
  MoveDraw const& draw = of(word);
  for (int i = 0; i + 1 < kMoveAttributes; ++i) {
    if (draw.by[i] != 0) add(step_place(draw.column[i], draw.by[i]));
  }
}

}  // namespace fairlane
