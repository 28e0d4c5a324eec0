// What a wave's tests add to a frontier. Every step is shared by threads: which groups were tested
// before by who looks after their bits, the rest by ranges of lanes.
#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/search/lockstep/frontier.h"

namespace fairlane {

namespace {

constexpr double kRemembered = 0.95;  // of what a kind has brought, from wave to wave

// Fates beside the kinds of origins.
constexpr std::uint8_t kNothing = kOriginKinds;
constexpr std::uint8_t kNewGroup = kNothing + 1;  // until what the test met is looked at
constexpr std::uint8_t kKnownGroup = kNewGroup + 1;

/// What a test of a new group becomes, IDIs where few of the tests beside it met some.
std::uint8_t fate_of(TrialOutcome outcome) {
  auto const kind = [](OriginKind k) { return static_cast<std::uint8_t>(k); };
  switch (outcome) {
    case TrialOutcome::kHit:
      return kind(OriginKind::kHitSome);
    case TrialOutcome::kDeep:
      return kind(OriginKind::kDeepSome);
    case TrialOutcome::kNear0:
      return kind(OriginKind::kNear0);
    case TrialOutcome::kNear1:
      return kind(OriginKind::kNear1);
    case TrialOutcome::kNear2:
      return kind(OriginKind::kNear2);
    case TrialOutcome::kNear3:
      return kind(OriginKind::kNear3);
    case TrialOutcome::kNear4:
      return kind(OriginKind::kNear4);
    case TrialOutcome::kNone:
    case TrialOutcome::kFar:
      break;
  }
  return kNothing;
}

/// By how much kinds of IDIs lie behind those of few, where so many of an origin's tests met IDIs.
std::uint8_t level_of(std::uint32_t met, std::uint32_t tests) {
  return met == tests ? 2 : 4 * met >= 3 * tests ? 1 : 0;
}

/// What an origin becomes after its wave: IDIs are origins again.
std::uint8_t fate_of_origin(std::size_t kind) {
  if (!is_idi(kind)) return kNothing;
  constexpr auto kSecond = static_cast<std::size_t>(OriginKind::kSecond);
  constexpr auto kOften = static_cast<std::size_t>(OriginKind::kOften);
  return static_cast<std::uint8_t>(kind < kSecond ? kSecond : std::min(kind + 1, kOften));
}

}  // namespace

void Frontier::move(MoveDraws const& moves, std::uint32_t word, std::int32_t* row) const {
  MoveDraw const& draw = moves.of(word);
  for (int i = 0; i < kMoveAttributes; ++i) {
    std::int32_t const by = i < kMoveAttributes - 1 ? draw.by[i] : TrialWord::solved(word);
    if (by == 0) continue;
    int const c = draw.column[i];
    std::int32_t& code = row[packed_.attribute_of()[static_cast<std::size_t>(c)]];
    code = packed_.code_at(c, packed_.place_of(c, code) + by);
  }
}

std::optional<std::size_t> Frontier::place_of(std::size_t kind, std::size_t number) const {
  Queue const& queue = queues_[kind];
  std::size_t const room = queue.waiting.room();
  if (number < room) return number;
  if (!is_idi(kind)) return std::nullopt;
  // Those that stay are a uniform sample, in which early parts of the domain keep their share.
  std::uint64_t const come = number + queue.replaceable;
  std::uint64_t const drawn = hash_word(seed_, come) % (come + 1);
  if (drawn >= room) return std::nullopt;
  return drawn;
}

void Frontier::put(std::size_t kind, std::size_t place, LaneRow const& from, MoveDraws const& moves,
                   std::vector<std::int32_t>& moved) {
  moved.assign(from.row, from.row + width());
  if (from.word != 0) move(moves, from.word, moved.data());
  queues_[kind].waiting.put(place, moved.data(), {cell_of(moved.data()), from.family});
}

void Frontier::take(WaveResults& results, std::vector<std::uint32_t>& tests, int threads) {
  Course& course = courses_[due_];
  std::swap(course.results, results);
  std::size_t const before = tests.size();
  tests.resize(before + static_cast<std::size_t>(course.wave.count()));
  mark_tested(course, &tests[before], threads);
  course.stage = Course::Stage::kTested;
  due_ = 1 - due_;
}

void Frontier::mark_tested(Course& course, std::uint32_t* tests, int threads) {
  constexpr std::size_t kTogether = 512;  // lanes of a part, so that their bits stay in cache
  Wave const& wave = course.wave;
  course.fates.resize(static_cast<std::size_t>(wave.starts) + course.results.words.size());
  added_.clear();
  auto const parts = static_cast<std::size_t>(threads_for(wave.count(), threads));
  std::vector<MarkedPart> marked(parts);
  for (MarkedPart& part : marked) part.bits.resize(parts);
  auto const all = static_cast<std::size_t>(wave.count());
  for (std::size_t first = 0; first < all; first += parts * kTogether) {
    auto const some = static_cast<std::int64_t>(std::min(parts * kTogether, all - first));
    pool_.split(static_cast<int>(parts), some, [&](int part, std::int64_t begin, std::int64_t end) {
      list_tests(course, first + static_cast<std::size_t>(begin),
                 first + static_cast<std::size_t>(end), marked[static_cast<std::size_t>(part)],
                 tests);
    });
    pool_.run(static_cast<int>(parts), [&](int owner) {
      auto const mine = static_cast<std::size_t>(owner);
      for (MarkedPart& part : marked) mark_listed(part.bits[mine], marked[mine].added);
    });
    // By whoever listed them: neighbouring fates are one thread's.
    pool_.run(static_cast<int>(parts), [&](int part) {
      for (auto const& bits : marked[static_cast<std::size_t>(part)].bits) {
        for (TestedBit const& one : bits)
          course.fates[one.test] = one.known ? kKnownGroup : kNewGroup;
      }
    });
  }
  for (MarkedPart const& part : marked)
    added_.insert(added_.end(), part.added.begin(), part.added.end());
  grows_ = true;
  set_bits_ += added_.size();
  // Once half of the bits are set, every other move would be left out for nothing.
  if (set_bits_ > (std::uint64_t{1} << log2_bits_) / 2) {
    std::fill(tested_.begin(), tested_.end(), 0);
    set_bits_ = 0;
    grows_ = false;
  }
}

void Frontier::list_tests(Course const& course, std::size_t begin, std::size_t end,
                          MarkedPart& part, std::uint32_t* tests) const {
  WaveResults const& results = course.results;
  auto const starts = static_cast<std::size_t>(course.wave.starts);
  std::size_t const origins = course.wave.kinds.size();
  for (auto& bits : part.bits) bits.clear();
  auto const add = [&](std::uint32_t hash, std::size_t test) {
    std::uint64_t const bit = TestedGroups::bit_of(hash, log2_bits_);
    part.bits[bit / 64 * part.bits.size() >> (log2_bits_ - 6)].push_back(
        {bit, static_cast<std::uint32_t>(test), false});
  };
  for (std::size_t lane = begin; lane < end; ++lane) {
    tests[lane] = 1;  // of the start or the origin itself
    if (lane < starts) {
      add(hash_of(&course.wave.rows[lane * width()]), lane);
      continue;
    }
    std::uint32_t tested = 0;
    for (std::size_t test = lane - starts; test < results.words.size(); test += origins) {
      if (!TrialWord::moves(results.words[test])) continue;
      add(results.hashes[test], starts + test);
      ++tested;
    }
    tests[lane] = std::max(tested, 1U);
  }
}

void Frontier::mark_listed(std::span<TestedBit> bits, std::vector<std::uint32_t>& added) {
  constexpr std::size_t kAhead = 16;  // bits that come meanwhile
  for (std::size_t k = 0; k < bits.size(); ++k) {
    if (k + kAhead < bits.size()) __builtin_prefetch(&tested_[bits[k + kAhead].bit / 64], 1);
    bits[k].known = test_and_set(bits[k].bit);
    if (!bits[k].known) added.push_back(static_cast<std::uint32_t>(bits[k].bit));
  }
}

void Frontier::Tally::add(Tally const& other) {
  auto const add_to = [](auto& sums, auto const& counts) {
    for (std::size_t i = 0; i < counts.size(); ++i) sums[i] += counts[i];
  };
  add_to(tests, other.tests);
  add_to(found, other.found);
  add_to(origins, other.origins);
  add_to(origin_tests, other.origin_tests);
  add_to(origin_found, other.origin_found);
  start_found += other.start_found;
  add_to(pushed, other.pushed);
  moves.add(other.moves);
}

Frontier::Tally Frontier::count_lanes(Course& course, std::int64_t begin, std::int64_t end) {
  WaveResults const& results = course.results;
  std::vector<Fate>& fates = course.fates;
  auto const starts = static_cast<std::size_t>(course.wave.starts);
  std::size_t const origins = course.wave.kinds.size();
  Tally tally;
  tally.moves = course.moves.new_tally();
  auto const push = [&](std::uint8_t fate) {
    if (fate < kOriginKinds) ++tally.pushed[fate];
  };
  for (auto lane = static_cast<std::size_t>(begin); lane < static_cast<std::size_t>(end); ++lane) {
    if (lane < starts) {
      bool const known = fates[lane] == kKnownGroup;
      bool const hit = results.hit[lane] != 0;
      tally.start_found += hit && !known ? 1 : 0;
      fates[lane] = !hit    ? static_cast<Fate>(OriginKind::kStart)
                    : known ? kNothing
                            : static_cast<Fate>(OriginKind::kHitMost);
      push(fates[lane]);
      continue;
    }
    std::size_t const kind = course.wave.kinds[lane - starts];
    std::uint32_t tested = 0;
    std::uint32_t idis = 0;
    for (std::size_t t = 0; t < static_cast<std::size_t>(results.trials); ++t) {
      std::size_t const test = t * origins + lane - starts;
      std::uint32_t const word = results.words[test];
      Fate& fate = fates[starts + test];
      if (!TrialWord::moves(word)) {
        fate = kNothing;
        continue;
      }
      ++tested;
      ++tally.tests[t];
      Fate const met = fate_of(TrialWord::outcome(word));
      course.moves.count(word, is_idi(met), tally.moves);
      idis += is_idi(met) ? 1 : 0;
      fate = fate == kKnownGroup ? kNothing : met;
      if (!is_idi(fate)) continue;
      ++tally.found[t];
      ++tally.origin_found[kind];
    }
    std::uint8_t const level = level_of(idis, tested);
    for (std::size_t t = 0; t < static_cast<std::size_t>(results.trials); ++t) {
      Fate& fate = fates[starts + t * origins + lane - starts];
      if (is_idi(fate)) fate = static_cast<Fate>(fate + level);
      push(fate);
    }
    ++tally.origins[kind];
    tally.origin_tests[kind] += std::max(tested, 1U);
    push(fate_of_origin(kind));
  }
  return tally;
}

void Frontier::push_rows(Course const& course, std::vector<Tally> const& tallies) {
  std::vector<std::array<std::size_t, kOriginKinds>> next(tallies.size());
  std::array<std::size_t, kOriginKinds> end{};
  for (std::size_t kind = 0; kind < kOriginKinds; ++kind) {
    OriginQueue& queue = queues_[kind].waiting;
    end[kind] = queue.size();
    for (std::size_t part = 0; part < tallies.size(); ++part)
      next[part][kind] = std::exchange(end[kind], end[kind] + tallies[part].pushed[kind]);
    queue.extend(std::min(end[kind], queue.room()) - queue.size());
  }
  std::vector<std::vector<Replacement>> replacements(tallies.size());
  pool_.split(static_cast<int>(tallies.size()), course.wave.count(),
              [&](int part, std::int64_t first, std::int64_t last) {
                auto const p = static_cast<std::size_t>(part);
                push_lanes(course, first, last, next[p], replacements[p]);
              });
  // Several may have one place: the last one keeps it.
  std::vector<std::int32_t> moved;
  for (auto const& some : replacements)
    for (Replacement const& one : some) put(one.kind, one.place, one.from, course.moves, moved);
  for (std::size_t kind = 0; kind < kOriginKinds; ++kind) {
    std::size_t const room = queues_[kind].waiting.room();
    if (is_idi(kind) && end[kind] > room) queues_[kind].replaceable += end[kind] - room;
  }
}

void Frontier::push_lanes(Course const& course, std::int64_t begin, std::int64_t end,
                          std::array<std::size_t, kOriginKinds> next,
                          std::vector<Replacement>& replacements) {
  Wave const& wave = course.wave;
  WaveResults const& results = course.results;
  auto const starts = static_cast<std::size_t>(wave.starts);
  std::size_t const origins = wave.kinds.size();
  std::uint64_t const first_family = wave.number * static_cast<std::uint64_t>(most_lanes());
  std::vector<std::int32_t> moved;
  auto const push = [&](Fate fate, LaneRow const& from) {
    if (fate >= kOriginKinds) return;
    std::size_t const number = next[fate]++;
    auto const place = place_of(fate, number);
    if (!place) return;
    if (number == *place) {
      put(fate, *place, from, course.moves, moved);
    } else {
      replacements.push_back({fate, *place, from});
    }
  };
  for (auto lane = static_cast<std::size_t>(begin); lane < static_cast<std::size_t>(end); ++lane) {
    std::int32_t const* const row = &wave.rows[lane * width()];
    auto const family = static_cast<std::uint32_t>(first_family + lane);
    if (lane < starts) {
      push(course.fates[lane],
           {results.hit[lane] != 0 ? row : &results.rows[lane * width()], 0, family});
      continue;
    }
    for (std::size_t t = 0; t < static_cast<std::size_t>(results.trials); ++t) {
      std::size_t const test = t * origins + lane - starts;
      push(course.fates[starts + test], {row, results.words[test], family});
    }
    push(fate_of_origin(wave.kinds[lane - starts]), {row, 0, family});
  }
}

void Frontier::learn(Course& course, int threads) {
  Wave const& wave = course.wave;
  std::vector<Tally> tallies(static_cast<std::size_t>(threads_for(wave.count(), threads)));
  pool_.split(static_cast<int>(tallies.size()), wave.count(),
              [&](int part, std::int64_t begin, std::int64_t end) {
                tallies[static_cast<std::size_t>(part)] = count_lanes(course, begin, end);
              });
  push_rows(course, tallies);
  for (std::size_t part = 1; part < tallies.size(); ++part) tallies[0].add(tallies[part]);
  learn_yields(wave, tallies[0]);
  tallies[0].moves.add_to(outcomes_);
  forget_some();
}

void Frontier::learn_yields(Wave const& wave, Tally const& tally) {
  auto const number = [](std::uint64_t count) { return static_cast<double>(count); };
  bool const gradients = wave.effort.gradients;
  EffortResult spent;
  std::ranges::transform(tally.tests, spent.tests.begin(), number);
  std::ranges::transform(tally.found, spent.found.begin(), number);
  for (std::size_t kind = 0; kind < kOriginKinds; ++kind) {
    double const evaluations =
        size_.evaluations(number(tally.origins[kind]), number(tally.origin_tests[kind]), gradients);
    queues_[kind].yield.evaluations += evaluations;
    queues_[kind].yield.found += number(tally.origin_found[kind]);
    spent.evaluations += evaluations;
  }
  double const starts = number(static_cast<std::uint64_t>(wave.starts));
  starts_.evaluations += size_.evaluations(starts, starts, true);
  starts_.found += number(tally.start_found);
  effort_.learn(wave.effort, spent, size_.test_evaluations);
}

void Frontier::forget_some() {
  for (auto& queue : queues_) {
    queue.yield.evaluations *= kRemembered;
    queue.yield.found *= kRemembered;
  }
  starts_.evaluations *= kRemembered;
  starts_.found *= kRemembered;
  outcomes_.end_wave();
}

}  // namespace fairlane
