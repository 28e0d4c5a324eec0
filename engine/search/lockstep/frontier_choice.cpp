// Which origins a frontier's wave has. Candidates are drawn and ranked by several threads; what one
// choice changes for the next ones is seen to in order.
#include <algorithm>
#include <bit>
#include <numeric>
#include <span>
#include <utility>

#include "engine/search/lockstep/frontier.h"

namespace fairlane {
namespace {

constexpr double kStartShare = 1.0 / 64;   // of lanes and evaluations that start anew in any case
constexpr std::size_t kUnknownShare = 4;   // of a wave's origins, of a kind that is not known well
constexpr std::size_t kAnywhereShare = 8;  // of a wave's origins, whatever their kinds bring
constexpr std::size_t kFewDraws = 512;     // moves that an origin chooses from, most of them IDIs
constexpr std::size_t kManyDraws = 1024;   // where most are not, for which good moves are rarer
constexpr std::size_t kDrawsOfLane = 8;    // that a lane is worth
constexpr double kLittleFound = 0.01;      // IDIs an evaluation, below which there are the most
constexpr std::size_t kAmong = 8;          // that an origin is chosen from
constexpr std::size_t kAmongAnywhere = 32;
constexpr std::uint32_t kFirstOriginDraw = 16;  // behind the draws of moves
constexpr std::size_t kPlaceBits = 8;           // of an origin, to tell places apart

/// What origins of a kind are thought to bring before any is known, as hits a test: much, so that
/// each is tried.
constexpr std::array<double, kOriginKinds> kHoped = {0.5, 0.75, 1.0, 0.4, 0.6, 0.9, 0.5, 0.25,
                                                     0.1, 0.1,  0.1, 0.1, 0.1, 0.1, 0.1};
constexpr double kHopedTests = 64.0;  // that this is worth

}  // namespace

double Frontier::rate(std::size_t kind) const {
  auto const& yield = queues_[kind].yield;
  return (yield.found + kHoped[kind] * kHopedTests) /
         (yield.evaluations + kHopedTests * size_.test_evaluations);
}

double Frontier::start_rate() const {
  // What a start leads to is found from where its step has ended.
  auto const& ended = queues_[static_cast<std::size_t>(OriginKind::kStart)].yield;
  constexpr double kFirstEvaluations = 1000.0;
  return (starts_.found + ended.found + 1.0) /
         (starts_.evaluations + ended.evaluations + kFirstEvaluations);
}

std::int64_t Frontier::least_starts(OriginEffort effort, std::int64_t lanes) const {
  auto const [gradients, trials] = effort;
  double const origin = size_.evaluations(1.0, trials, gradients);
  double const start = size_.evaluations(1.0, 1.0, true);
  double const share = kStartShare * std::min(1.0, origin / start);
  return std::max(static_cast<std::int64_t>(share * static_cast<double>(lanes)), std::int64_t{1});
}

Frontier::Best Frontier::best_of(std::span<Candidate const> candidates, Ranking const& ranking) {
  std::size_t place = 0;
  std::uint64_t least = ~std::uint64_t{0};
  for (std::size_t k = 0; k < candidates.size(); ++k) {
    std::uint64_t const rank = ranking(candidates[k].mark);
    place = rank < least ? k : place;
    least = std::min(rank, least);
  }
  return {candidates[place], Ranking::is_sibling(least)};
}

void Frontier::draw_candidates(OriginQueue const& queue, std::size_t all, Range choices,
                               Choice const& choice, int threads) {
  constexpr std::size_t kAhead = 8;   // choices that come meanwhile, and what is known of them
  constexpr std::size_t kPhilox = 4;  // words at once
  std::size_t const among = choice.among;
  candidates_.resize(choices.count * among);
  best_.resize(choices.count);
  Candidate* const candidates = candidates_.data();
  Ranking const ranking = this->ranking(choice.apart);
  auto const draw = [=, this, &queue](std::size_t i) {
    auto const number = static_cast<std::uint32_t>(choices.first + i);
    Candidate* to = candidates + i * among;
    for (std::uint32_t block = 0; block < among / kPhilox; ++block) {
      auto const random =
          philox<ScalarPack>(draws_ + number, static_cast<std::uint32_t>(Phase::kFrontier), waves_,
                             kFirstOriginDraw + block, seed_);
      for (std::uint32_t const word : random.w) {
        to->place = below<ScalarPack>(word, static_cast<std::uint32_t>(all) - number);
        queue.prefetch_mark(to->place);
        ++to;
      }
    }
  };
  auto const look = [=, &queue](std::size_t i) {
    for (Candidate& one : std::span(candidates + i * among, among)) {
      one.mark = queue.mark(one.place);
      ranking.prefetch(one.mark);
    }
  };
  auto const find_best = [=, best = best_.data()](std::size_t i) {
    best[i] = best_of(std::span(candidates + i * among, among), ranking);
  };
  auto const count = static_cast<std::int64_t>(choices.count);
  pool_.split(threads_for(count, threads), count, [&](int, std::int64_t first, std::int64_t last) {
    auto const begin = static_cast<std::size_t>(first);
    auto const end = static_cast<std::size_t>(last);
    for (std::size_t i = begin; i < end + 2 * kAhead; ++i) {
      if (i < end) draw(i);
      if (i >= begin + kAhead && i < end + kAhead) look(i - kAhead);
      if (i >= begin + 2 * kAhead) find_best(i - 2 * kAhead);
    }
  });
}

void Frontier::draw_origins(Wave& wave, std::size_t kind, std::size_t count, Choice const& choice,
                            int threads) {
  constexpr std::size_t kInVain = 16;  // after so many in a row there are hardly other families
  // Choices that do not know of each other's at first.
  std::size_t const together =
      std::clamp(static_cast<std::size_t>(most_lanes()) / 8, std::size_t{32}, std::size_t{4096});
  std::size_t in_vain = 0;
  OriginQueue& queue = queues_[kind].waiting;
  std::size_t const all = queue.size();
  count = std::min(count, all);
  Ranking const ranking = this->ranking(choice.apart);
  // Bits of places that have another row since they were drawn, and of some that have not.
  std::size_t const bits = std::bit_ceil(std::min(count, together) * kPlaceBits);
  auto const changed = [&](std::uint32_t place) -> std::uint64_t& {
    return changed_[(place & (bits - 1)) / 64];
  };
  auto const is_changed = [&](std::uint32_t place) {
    return (changed(place) >> (place % 64) & 1U) != 0;
  };
  for (std::size_t first = 0; first < count && in_vain < kInVain; first += together) {
    std::size_t const some = std::min(together, count - first);
    draw_candidates(queue, all, {first, some}, choice, threads);
    changed_.assign((bits + 63) / 64, 0);
    for (std::size_t i = 0; i < some && in_vain < kInVain; ++i) {
      Best best = best_[i];
      auto const& [chosen, sibling] = best;
      if (!sibling && (is_changed(chosen.place) || Ranking::is_sibling(ranking(chosen.mark)))) {
        auto const candidates = std::span(candidates_).subspan(i * choice.among, choice.among);
        for (Candidate& one : candidates) {
          if (is_changed(one.place)) one.mark = queue.mark(one.place);
        }
        best = best_of(candidates, ranking);
      }
      in_vain = sibling ? in_vain + 1 : 0;
      if (sibling) continue;  // there are siblings alone
      family_waves_[ranking.family_place(chosen.mark.family)] = waves_;
      families_of_wave_.push_back(chosen.mark.family);
      ++cells_[chosen.mark.cell];
      slots_of_wave_.push_back(queue.take(chosen.place));
      changed(chosen.place) |= std::uint64_t{1} << (chosen.place % 64);
      wave.kinds.push_back(static_cast<std::uint8_t>(kind));
    }
  }
  draws_ += static_cast<std::uint32_t>(count);
}

void Frontier::choose_origins(Wave& wave, std::size_t count, int threads) {
  std::array<std::size_t, kOriginKinds> order{};
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rate(a) > rate(b); });
  double const of_starts = start_rate();
  auto const pays = [&](std::size_t kind) {
    return kind == static_cast<std::size_t>(OriginKind::kStart) || rate(kind) >= of_starts;
  };
  auto const draw = [&](std::size_t kind, std::size_t most, std::size_t all, std::size_t among) {
    draw_origins(wave, kind, std::min(most, all - wave.kinds.size()), {among, true}, threads);
  };
  // IDIs of the kinds before end of the order, of any family.
  auto const fill_up = [&](std::size_t end, std::size_t all) {
    for (std::size_t const kind : std::span(order).first(end)) {
      if (is_idi(kind) && pays(kind))
        draw_origins(wave, kind, all - wave.kinds.size(), {kAmong, false}, threads);
    }
  };
  std::size_t const by_yield = count - count / kAnywhereShare;
  bool filled = false;
  for (std::size_t place = 0; place < kOriginKinds; ++place) {
    std::size_t const kind = order[place];
    bool const known =
        queues_[kind].yield.evaluations > kHopedTests * kUsualTrials * size_.test_evaluations;
    if (!known && !is_idi(kind) && !std::exchange(filled, true)) fill_up(place, by_yield);
    if (pays(kind)) draw(kind, known ? by_yield : count / kUnknownShare + 1, by_yield, kAmong);
  }
  std::size_t const left = count - wave.kinds.size();
  std::size_t waiting = 0;
  for (std::size_t kind = 0; kind < kOriginKinds; ++kind)
    waiting += is_new_idi(kind) ? queued(kind) : 0;
  for (std::size_t const kind : order) {
    if (is_new_idi(kind) && waiting > 0)
      draw(kind, queued(kind) * left / waiting + 1, count, kAmongAnywhere);
  }
  fill_up(kOriginKinds, count);
}

void Frontier::take_rows(Wave& wave, int threads) {
  std::int32_t* const to = wave.rows.data() + static_cast<std::size_t>(wave.starts) * width();
  share(wave.kinds.size(), threads, [&](std::size_t i) {
    auto const& queue = queues_[wave.kinds[i]].waiting;
    queue.get_taken(slots_of_wave_[i], to + i * width());
  });
  for (std::size_t i = 0; i < wave.kinds.size(); ++i)
    queues_[wave.kinds[i]].waiting.release(slots_of_wave_[i]);
}

std::size_t Frontier::draws_for(Wave const& wave) const {
  auto const idis = std::ranges::count_if(wave.kinds, is_idi);
  bool const mostly_idis = static_cast<std::size_t>(idis) * 2 >= wave.kinds.size();
  std::size_t const draws = mostly_idis                     ? kFewDraws
                            : effort_.rate() < kLittleFound ? kMostMoveDraws
                                                            : kManyDraws;
  return std::min(draws, static_cast<std::size_t>(wave.count()) * kDrawsOfLane);
}

void Frontier::choose(Course& course, int threads) {
  Wave& wave = course.wave;
  wave.number = ++waves_;
  wave.effort = effort_.of_wave(wave.number);
  wave.kinds.clear();
  slots_of_wave_.clear();
  families_of_wave_.clear();
  draws_ = 0;
  std::int64_t const lanes = lanes_of(wave.number);
  choose_origins(wave, static_cast<std::size_t>(lanes - least_starts(wave.effort, lanes)), threads);
  wave.starts = lanes - static_cast<std::int64_t>(wave.kinds.size());
  wave.rows.resize(static_cast<std::size_t>(lanes) * width());
  share(static_cast<std::size_t>(wave.starts), threads, [&](std::size_t i) {
    start_row_(next_start_ + static_cast<std::int64_t>(i), &wave.rows[i * width()]);
  });
  next_start_ += wave.starts;
  take_rows(wave, threads);
  wave.draws = draws_for(wave);
  course.outcomes = outcomes_;
  draw_moves(course, threads);
}

void Frontier::draw_moves(Course& course, int threads) {
  course.moves.draw(course.wave.number, course.wave.draws, course.outcomes, pool_, threads);
  course.stage = Course::Stage::kChosen;
}

}  // namespace fairlane
