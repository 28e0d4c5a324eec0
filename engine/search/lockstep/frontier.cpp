#include "engine/search/lockstep/frontier.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "base/large_pages.h"

namespace fairlane {
namespace {

constexpr std::size_t kLeastRoom = std::size_t{1} << 16;  // rows of a queue
constexpr double kStartShare = 1.0 / 64;   // of lanes and evaluations that start anew in any case
constexpr std::size_t kUnknownShare = 4;   // of a wave's origins, of a kind that is not known well
constexpr std::size_t kAnywhereShare = 8;  // of a wave's origins, whatever their kinds bring
constexpr std::size_t kFewDraws = 512;     // moves that an origin chooses from, most of them IDIs
constexpr std::size_t kManyDraws = 1024;   // where most are not, for which good moves are rarer
constexpr double kLittleFound = 0.01;      // IDIs an evaluation, below which there are the most
constexpr std::size_t kAmong = 8;          // that an origin is chosen from
constexpr std::size_t kAmongAnywhere = 32;
constexpr std::uint32_t kFirstOriginDraw = 16;  // behind the draws of moves
constexpr std::size_t kCells = std::size_t{1} << 16;
constexpr int kLeastBits = 16;
constexpr int kMostBits = 30;
static_assert(kMostBits <= TestedGroups::kMostBits);

/// What origins of a kind are thought to bring before any is known, as hits a test: much, so that
/// each is tried.
constexpr std::array<double, kOriginKinds> kHoped = {0.5, 0.75, 1.0, 0.4, 0.6, 0.9, 0.5, 0.25,
                                                     0.1, 0.1,  0.1, 0.1, 0.1, 0.1, 0.1};
constexpr double kHopedTests = 64.0;  // that this is worth

/// Bytes that hold every code of the domain.
int code_bytes_of(PackedSubject const& packed) {
  Subject const& s = packed.get();
  std::int32_t lowest = 0;
  std::int32_t highest = 0;
  for (int c = 0; c < s.columns; ++c) {
    for (std::int32_t const end : {s.low[c], s.high[c]}) {  // lists ascend
      lowest = std::min(lowest, packed.code_at(c, end));
      highest = std::max(highest, packed.code_at(c, end));
    }
  }
  return OriginQueue::bytes_for(lowest, highest);
}

double pow2_ceil_log(double count) { return std::ceil(std::log2(std::max(count, 1.0))); }

}  // namespace

Frontier::Frontier(PackedSubject const& subject, std::uint64_t seed, Size const& size,
                   ThreadPool& pool, int threads)
    : packed_(subject),
      seed_(seed),
      size_(size),
      pool_(pool),
      threads_(threads),
      effort_(size.skips_gradients),
      moves_(subject.get(), seed) {
  constexpr double kBitsPerTest = 16.0;
  log2_bits_ =
      std::clamp(static_cast<int>(pow2_ceil_log(size.tests * kBitsPerTest)), kLeastBits, kMostBits);
  std::size_t const tested_words = (std::size_t{1} << log2_bits_) / 64;
  tested_.reserve(tested_words);
  use_large_pages(tested_.data(), tested_words * sizeof(std::uint64_t));
  tested_.resize(tested_words);
  Subject const& s = subject.get();
  for (int i = 0; i < s.movable_count; ++i) {
    int const c = s.movable[i];
    std::int32_t const middle = s.low[c] + (s.high[c] - s.low[c]) / 2;
    auto const attribute =
        static_cast<std::size_t>(subject.attribute_of()[static_cast<std::size_t>(c)]);
    halves_.push_back({attribute, subject.code_at(c, std::min(middle + 1, s.high[c]))});
  }
  cells_.resize(kCells);
  constexpr std::size_t kLeastApart = 16;  // waves between families whose lowest bits are the same
  family_waves_.resize(std::bit_ceil(static_cast<std::size_t>(wave_lanes()) * kLeastApart));
  int const code_bytes = code_bytes_of(subject);
  std::size_t const hits = std::max(size.hit_bytes / (width() * sizeof(std::int32_t)), kLeastRoom);
  for (std::size_t kind = 0; kind < kOriginKinds; ++kind)
    queues_.push_back({OriginQueue(width(), is_idi(kind) ? hits : kLeastRoom, code_bytes), 0, {}});
}

int Frontier::threads_for(std::int64_t lanes) const {
  constexpr std::int64_t kWorthAThread = 64;
  return static_cast<int>(std::clamp<std::int64_t>(lanes / kWorthAThread, 1, threads_));
}

std::int64_t Frontier::wave_lanes() const {
  constexpr double kWaves = 512.0;
  constexpr double kMost = 1 << 20;
  constexpr std::int64_t kShare = 64;  // so that threads have whole packs
  auto const lanes =
      static_cast<std::int64_t>(std::min(size_.tests / (kUsualTrials * kWaves), kMost));
  return std::max((lanes + kShare - 1) / kShare, std::int64_t{1}) * kShare;
}

std::uint32_t Frontier::hash_of(std::int32_t const* row) const {
  std::vector<std::uint64_t> key(static_cast<std::size_t>(packed_.keys().words));
  packed_.group_key(row, key.data());
  return TestedGroups::high_bits(
      std::accumulate(key.begin(), key.end(), std::uint64_t{0}, hash_word));
}

bool Frontier::test_and_set(std::uint64_t bit) {
  std::uint64_t& word = tested_[bit / 64];
  std::uint64_t const mask = std::uint64_t{1} << (bit % 64);
  bool const was_set = (word & mask) != 0;
  word |= mask;
  return was_set;
}

void Frontier::add_hit(std::int32_t const* row) {
  if (test_and_set(TestedGroups::bit_of(hash_of(row), log2_bits_))) return;
  ++set_bits_;
  constexpr auto kKind = static_cast<std::size_t>(OriginKind::kHitMost);
  Queue& queue = queues_[kKind];
  std::size_t const number = queue.waiting.size();
  bool const has_room = number < queue.waiting.room();
  if (has_room) queue.waiting.extend(1);
  if (auto const place = place_of(kKind, number))
    queue.waiting.put(*place, row, {cell_of(row), static_cast<std::uint32_t>(number)});
  if (!has_room) ++queue.replaceable;
}

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

std::uint16_t Frontier::cell_of(std::int32_t const* row) const {
  std::uint64_t hash = 0;
  std::uint64_t halves = 0;
  for (std::size_t i = 0; i < halves_.size(); ++i) {
    Half const& upper = halves_[i];
    halves = halves << 1 | (row[upper.attribute] >= upper.first ? 1U : 0U);
    if (i % 64 == 63) hash = hash_word(hash, std::exchange(halves, 0));
  }
  return static_cast<std::uint16_t>(hash_word(hash, halves) >> 48);
}

std::int64_t Frontier::least_starts(std::int64_t lanes) const {
  auto const [gradients, trials] = wave_.effort;
  double const origin = size_.evaluations(1.0, trials, gradients);
  double const start = size_.evaluations(1.0, 1.0, true);
  double const share = kStartShare * std::min(1.0, origin / start);
  return std::max(static_cast<std::int64_t>(share * static_cast<double>(lanes)), std::int64_t{1});
}

void Frontier::draw_origins(std::size_t kind, std::size_t count, std::size_t among, bool apart) {
  constexpr std::size_t kPhilox = 4;  // words at once
  constexpr std::size_t kAhead = 8;   // origins whose marks come meanwhile
  OriginQueue& queue = queues_[kind].waiting;
  std::size_t const all = queue.size();
  count = std::min(count, all);
  std::vector<std::uint32_t> drawn(count * among);
  share(count, [&](std::size_t i) {
    std::uint32_t* to = &drawn[i * among];
    for (std::uint32_t draw = 0; draw < among / kPhilox; ++draw) {
      auto const words = philox<ScalarPack>(draws_ + static_cast<std::uint32_t>(i),
                                            static_cast<std::uint32_t>(Phase::kFrontier), waves_,
                                            kFirstOriginDraw + draw, seed_);
      for (std::uint32_t const word : words.w)
        *to++ = below<ScalarPack>(word, static_cast<std::uint32_t>(all - i));
    }
  });
  draws_ += static_cast<std::uint32_t>(count);
  std::uint32_t* const last_waves = family_waves_.data();
  std::size_t const families = family_waves_.size() - 1;
  auto const last_wave = [=](OriginMark mark) { return last_waves + (mark.family & families); };
  auto const of = [&](std::size_t origin) {
    return std::span(drawn).subspan(origin * among, among);
  };
  for (std::size_t i = 0; i < count; ++i) {
    if (i + 2 * kAhead < count) {
      for (std::uint32_t const place : of(i + 2 * kAhead)) queue.prefetch_mark(place);
    }
    if (i + kAhead < count) {
      for (std::uint32_t const place : of(i + kAhead)) {  // and what is known of these
        OriginMark const mark = queue.mark(place);
        __builtin_prefetch(last_wave(mark));
        __builtin_prefetch(&cells_[mark.cell]);
      }
    }
    std::size_t chosen = 0;
    std::uint64_t least = ~std::uint64_t{0};
    for (std::uint32_t const place : of(i)) {
      OriginMark const mark = queue.mark(place);
      std::uint64_t const sibling = apart && *last_wave(mark) == waves_ ? 1 : 0;
      std::uint64_t const rank = sibling << 32 | cells_[mark.cell];
      chosen = rank < least ? place : chosen;
      least = std::min(rank, least);
    }
    if (least >> 32 != 0) continue;  // there are siblings alone
    OriginMark const mark = queue.mark(chosen);
    *last_wave(mark) = waves_;
    ++cells_[mark.cell];
    slots_of_wave_.push_back(queue.take(chosen));
    wave_.kinds.push_back(static_cast<std::uint8_t>(kind));
  }
}

void Frontier::choose_origins(std::size_t count) {
  std::array<std::size_t, kOriginKinds> order{};
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rate(a) > rate(b); });
  double const of_starts = start_rate();
  auto const pays = [&](std::size_t kind) {
    return kind == static_cast<std::size_t>(OriginKind::kStart) || rate(kind) >= of_starts;
  };
  auto const draw = [&](std::size_t kind, std::size_t most, std::size_t all, std::size_t among) {
    draw_origins(kind, std::min(most, all - wave_.kinds.size()), among, true);
  };
  // IDIs of the kinds before end of the order, of any family.
  auto const fill_up = [&](std::size_t end, std::size_t all) {
    for (std::size_t const kind : std::span(order).first(end)) {
      if (is_idi(kind) && pays(kind)) draw_origins(kind, all - wave_.kinds.size(), kAmong, false);
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
  std::size_t const left = count - wave_.kinds.size();
  std::size_t waiting = 0;
  for (std::size_t kind = 0; kind < kOriginKinds; ++kind)
    waiting += is_new_idi(kind) ? queued(kind) : 0;
  for (std::size_t const kind : order) {
    if (is_new_idi(kind) && waiting > 0)
      draw(kind, queued(kind) * left / waiting + 1, count, kAmongAnywhere);
  }
  fill_up(kOriginKinds, count);
}

void Frontier::take_rows() {
  std::int32_t* const to = wave_.rows.data() + static_cast<std::size_t>(wave_.starts) * width();
  share(wave_.kinds.size(), [&](std::size_t i) {
    auto const& queue = queues_[wave_.kinds[i]].waiting;
    queue.get_taken(slots_of_wave_[i], to + i * width());
  });
  for (std::size_t i = 0; i < wave_.kinds.size(); ++i)
    queues_[wave_.kinds[i]].waiting.release(slots_of_wave_[i]);
}

Wave const& Frontier::next(StartRow const& start_row) {
  if (!on_its_way_) wave_.number = ++waves_;
  wave_.effort = effort_.of_wave(wave_.number);
  if (!on_its_way_) {
    wave_.kinds.clear();
    slots_of_wave_.clear();
    draws_ = 0;
    std::int64_t const most = wave_lanes();
    choose_origins(static_cast<std::size_t>(most - least_starts(most)));
    wave_.starts = most - static_cast<std::int64_t>(wave_.kinds.size());
    wave_.rows.resize(static_cast<std::size_t>(most) * width());
    share(static_cast<std::size_t>(wave_.starts), [&](std::size_t i) {
      start_row(next_start_ + static_cast<std::int64_t>(i), &wave_.rows[i * width()]);
    });
    next_start_ += wave_.starts;
    take_rows();
    on_its_way_ = true;
  }
  moves_.draw(wave_.number, draws_of_wave(), pool_, threads_);
  return wave_;
}

std::size_t Frontier::draws_of_wave() const {
  auto const idis = std::ranges::count_if(wave_.kinds, is_idi);
  if (static_cast<std::size_t>(idis) * 2 >= wave_.kinds.size()) return kFewDraws;
  return effort_.rate() < kLittleFound ? kMostMoveDraws : kManyDraws;
}

LatticeStep Frontier::step() const {
  MoveTable table = moves_.table();
  table.tested = {tested_.data(), log2_bits_};
  table.trials = wave_.effort.trials;
  return {table, wave_.number, added_, grows_, wave_.effort.gradients};
}

namespace {

// Sections of a state.
constexpr char const* kQueue = "frontier.queue";        // int32 [..][attributes] of each kind
constexpr char const* kFamilies = "frontier.families";  // uint32 [..] the same
constexpr char const* kYields = "frontier.yields";      // double [kinds + 1][2] evaluations, found
constexpr char const* kMoves = "frontier.moves";        // double, see MoveDraws::state
constexpr char const* kEffort = "frontier.effort";      // double, see SearchEffort::state
constexpr char const* kTested = "frontier.tested";      // uint64 bits
constexpr char const* kOrigins = "frontier.cells";      // uint32 origins in each cell
constexpr char const* kCounts = "frontier.counts";    // int64: waves, next start, set bits, starts
                                                      // of the wave on its way, -1: there is none;
                                                      // replaceable of each kind
constexpr char const* kWaveRows = "frontier.wave";    // int32 of the wave on its way
constexpr char const* kWaveKinds = "frontier.kinds";  // uint8 the same

std::string queue_section(std::size_t kind) { return kQueue + std::to_string(kind); }
std::string families_section(std::size_t kind) { return kFamilies + std::to_string(kind); }

}  // namespace

void Frontier::write(CheckpointWriter& state) const {
  std::vector<double> yields;
  auto const add = [&](Yield const& yield) {
    yields.insert(yields.end(), {yield.evaluations, yield.found});
  };
  for (std::size_t kind = 0; kind < kOriginKinds; ++kind) {
    OriginQueue const& queue = queues_[kind].waiting;
    state.section(queue_section(kind));
    constexpr std::size_t kTogether = 1024;  // rows
    std::vector<std::int32_t> rows;
    for (std::size_t place = 0; place < queue.size(); ++place) {
      rows.resize(rows.size() + width());
      queue.get(place, &rows[rows.size() - width()]);
      if (place + 1 < queue.size() && (place + 1) % kTogether != 0) continue;
      state.write(rows);
      rows.clear();
    }
    state.section(families_section(kind));
    std::vector<std::uint32_t> families(queue.size());
    for (std::size_t place = 0; place < queue.size(); ++place)
      families[place] = queue.mark(place).family;
    state.write(families);
    add(queues_[kind].yield);
  }
  add(starts_);
  state.add(kYields, yields);
  state.add(kMoves, moves_.state());
  state.add(kEffort, effort_.state());
  state.add(kTested, tested_);
  state.add(kOrigins, cells_);
  std::vector<std::int64_t> counts{waves_, next_start_, static_cast<std::int64_t>(set_bits_),
                                   on_its_way_ ? wave_.starts : -1};
  for (Queue const& queue : queues_) counts.push_back(static_cast<std::int64_t>(queue.replaceable));
  state.add(kCounts, counts);
  state.add(kWaveRows, wave_.rows);
  state.add(kWaveKinds, wave_.kinds);
}

bool Frontier::read(CheckpointReader const& state) {
  auto const counts = state.values<std::int64_t>(kCounts);
  if (counts.empty()) return false;
  auto const yields = state.values<double>(kYields);
  for (std::size_t kind = 0; kind < kOriginKinds; ++kind) {
    Queue& queue = queues_[kind];
    auto const rows = state.values<std::int32_t>(queue_section(kind));
    auto const families = state.values<std::uint32_t>(families_section(kind));
    queue.waiting.clear();
    queue.waiting.extend(rows.size() / width());
    share(queue.waiting.size(), [&](std::size_t i) {
      std::int32_t const* const row = &rows[i * width()];
      queue.waiting.put(i, row, {cell_of(row), families.at(i)});
    });
    queue.yield = {yields.at(2 * kind), yields.at(2 * kind + 1)};
    queue.replaceable = static_cast<std::uint64_t>(counts.at(4 + kind));
  }
  starts_ = {yields.at(2 * kOriginKinds), yields.at(2 * kOriginKinds + 1)};
  moves_.restore(state.values<double>(kMoves));
  effort_.restore(state.values<double>(kEffort));
  std::ranges::copy(state.values<std::uint64_t>(kTested), tested_.begin());
  cells_ = state.values<std::uint32_t>(kOrigins);
  waves_ = static_cast<std::uint32_t>(counts.at(0));
  next_start_ = counts.at(1);
  set_bits_ = static_cast<std::uint64_t>(counts.at(2));
  on_its_way_ = counts.at(3) >= 0;
  if (on_its_way_) {
    wave_ = {waves_,
             {},
             counts.at(3),
             state.values<std::int32_t>(kWaveRows),
             state.values<std::uint8_t>(kWaveKinds)};
  }
  return true;
}

}  // namespace fairlane
