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
constexpr std::uint32_t kNoWave = 1U << 31;               // far from all that there are
constexpr std::size_t kCells = std::size_t{1} << 16;
constexpr int kLeastBits = 16;
constexpr int kMostBits = 30;
static_assert(kMostBits <= TestedGroups::kMostBits);

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

/// So many lanes or a few more, so that threads have whole packs.
std::int64_t whole(double lanes) {
  constexpr std::int64_t kShare = 16;
  auto const least = static_cast<std::int64_t>(lanes);
  return std::max((least + kShare - 1) / kShare, std::int64_t{1}) * kShare;
}

double pow2_ceil_log(double count) { return std::ceil(std::log2(std::max(count, 1.0))); }

}  // namespace

Frontier::Frontier(PackedSubject const& subject, std::uint64_t seed, Size const& size,
                   StartRow start_row, ThreadPool& pool)
    : packed_(subject),
      seed_(seed),
      size_(size),
      start_row_(std::move(start_row)),
      pool_(pool),
      courses_{Course(subject.get(), seed), Course(subject.get(), seed)},
      effort_(size.skips_gradients),
      outcomes_(subject.get()) {
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
  family_waves_.resize(std::bit_ceil(static_cast<std::size_t>(most_lanes()) * kLeastApart),
                       kNoWave);
  int const code_bytes = code_bytes_of(subject);
  std::size_t const hits = std::max(size.hit_bytes / (width() * sizeof(std::int32_t)), kLeastRoom);
  for (std::size_t kind = 0; kind < kOriginKinds; ++kind)
    queues_.push_back({OriginQueue(width(), is_idi(kind) ? hits : kLeastRoom, code_bytes), 0, {}});
}

int Frontier::threads_for(std::int64_t lanes, int threads) {
  constexpr std::int64_t kWorthAThread = 64;
  return static_cast<int>(std::clamp<std::int64_t>(lanes / kWorthAThread, 1, threads));
}

std::int64_t Frontier::most_lanes() const {
  constexpr double kWaves = 768.0;
  constexpr double kMost = 1 << 20;
  return whole(std::min(size_.tests / (kUsualTrials * kWaves), kMost));
}

std::int64_t Frontier::lanes_of(std::uint32_t wave) const {
  constexpr double kGrowing = 8.0;  // waves: little is known when the first ones are chosen
  double const share = std::min(wave / kGrowing, 1.0);
  return whole(share * static_cast<double>(most_lanes()));
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

void Frontier::plan(int threads) {
  for (std::size_t const next : {due_, 1 - due_}) {
    Course& course = courses_[next];
    if (course.stage == Course::Stage::kChosen) continue;
    if (course.stage == Course::Stage::kTested) learn(course, threads);
    choose(course, threads);
  }
}

LatticeStep Frontier::step() const {
  Wave const& wave = due().wave;
  MoveTable table = due().moves.table();
  table.tested = {tested_.data(), log2_bits_};
  table.trials = wave.effort.trials;
  return {table, wave.number, added_, grows_, wave.effort.gradients};
}

namespace {

// Sections of a state.
constexpr char const* kQueue = "frontier.queue";        // int32 [..][attributes] of each kind
constexpr char const* kFamilies = "frontier.families";  // uint32 [..] the same
constexpr char const* kYields = "frontier.yields";      // double [kinds + 1][2] evaluations, found
constexpr char const* kMoves = "frontier.moves";        // double, see MoveOutcomes::state
constexpr char const* kEffort = "frontier.effort";      // double, see SearchEffort::state
constexpr char const* kTested = "frontier.tested";      // uint64 bits
constexpr char const* kOrigins = "frontier.cells";      // uint32 origins in each cell
constexpr char const* kCounts = "frontier.counts";      // int64: waves, next start, set bits;
                                                        // replaceable of each kind
constexpr char const* kLastFamilies = "frontier.last_families";  // uint32 of the wave chosen last
// And of the wave that is due, 0, and of the one behind it, 1:
constexpr char const* kWave = "frontier.wave";           // int64: starts, trials, gradients, draws
constexpr char const* kWaveRows = "frontier.wave_rows";  // int32
constexpr char const* kWaveKinds = "frontier.wave_kinds";  // uint8
constexpr char const* kWaveMoves = "frontier.wave_moves";  // double, see MoveOutcomes::state

std::string section(char const* name, std::size_t number) { return name + std::to_string(number); }

}  // namespace

void Frontier::write(CheckpointWriter& state) const {
  std::vector<double> yields;
  auto const add = [&](Yield const& yield) {
    yields.insert(yields.end(), {yield.evaluations, yield.found});
  };
  for (std::size_t kind = 0; kind < kOriginKinds; ++kind) {
    OriginQueue const& queue = queues_[kind].waiting;
    state.section(section(kQueue, kind));
    constexpr std::size_t kTogether = 1024;  // rows
    std::vector<std::int32_t> rows;
    for (std::size_t place = 0; place < queue.size(); ++place) {
      rows.resize(rows.size() + width());
      queue.get(place, &rows[rows.size() - width()]);
      if (place + 1 < queue.size() && (place + 1) % kTogether != 0) continue;
      state.write(rows);
      rows.clear();
    }
    state.section(section(kFamilies, kind));
    std::vector<std::uint32_t> families(queue.size());
    for (std::size_t place = 0; place < queue.size(); ++place)
      families[place] = queue.mark(place).family;
    state.write(families);
    add(queues_[kind].yield);
  }
  add(starts_);
  state.add(kYields, yields);
  state.add(kMoves, outcomes_.state());
  state.add(kEffort, effort_.state());
  state.add(kTested, tested_);
  state.add(kOrigins, cells_);
  std::vector<std::int64_t> counts{waves_, next_start_, static_cast<std::int64_t>(set_bits_)};
  for (Queue const& queue : queues_) counts.push_back(static_cast<std::int64_t>(queue.replaceable));
  state.add(kCounts, counts);
  state.add(kLastFamilies, families_of_wave_);
  for (std::size_t next = 0; next < courses_.size(); ++next) {
    Course const& course = courses_[(due_ + next) % 2];
    Wave const& wave = course.wave;
    state.add(section(kWave, next),
              std::vector<std::int64_t>{wave.starts, wave.effort.trials, wave.effort.gradients,
                                        static_cast<std::int64_t>(wave.draws)});
    state.add(section(kWaveRows, next), wave.rows);
    state.add(section(kWaveKinds, next), wave.kinds);
    state.add(section(kWaveMoves, next), course.outcomes.state());
  }
}

bool Frontier::read(CheckpointReader const& state, int threads) {
  auto const counts = state.values<std::int64_t>(kCounts);
  if (counts.empty()) return false;
  auto const yields = state.values<double>(kYields);
  for (std::size_t kind = 0; kind < kOriginKinds; ++kind) {
    Queue& queue = queues_[kind];
    auto const rows = state.values<std::int32_t>(section(kQueue, kind));
    auto const families = state.values<std::uint32_t>(section(kFamilies, kind));
    queue.waiting.clear();
    queue.waiting.extend(rows.size() / width());
    share(queue.waiting.size(), threads, [&](std::size_t i) {
      std::int32_t const* const row = &rows[i * width()];
      queue.waiting.put(i, row, {cell_of(row), families.at(i)});
    });
    queue.yield = {yields.at(2 * kind), yields.at(2 * kind + 1)};
    queue.replaceable = static_cast<std::uint64_t>(counts.at(3 + kind));
  }
  starts_ = {yields.at(2 * kOriginKinds), yields.at(2 * kOriginKinds + 1)};
  outcomes_.restore(state.values<double>(kMoves));
  effort_.restore(state.values<double>(kEffort));
  std::ranges::copy(state.values<std::uint64_t>(kTested), tested_.begin());
  cells_ = state.values<std::uint32_t>(kOrigins);
  waves_ = static_cast<std::uint32_t>(counts.at(0));
  next_start_ = counts.at(1);
  set_bits_ = static_cast<std::uint64_t>(counts.at(2));
  for (std::size_t next = 0; next < courses_.size(); ++next) {
    Course& course = courses_[next];
    auto const effort = state.values<std::int64_t>(section(kWave, next));
    course.wave = {waves_ - 1 + static_cast<std::uint32_t>(next),
                   {effort.at(2) != 0, static_cast<int>(effort.at(1))},
                   static_cast<std::size_t>(effort.at(3)),
                   effort.at(0),
                   state.values<std::int32_t>(section(kWaveRows, next)),
                   state.values<std::uint8_t>(section(kWaveKinds, next))};
    course.outcomes.restore(state.values<double>(section(kWaveMoves, next)));
    draw_moves(course, threads);
  }
  families_of_wave_ = state.values<std::uint32_t>(kLastFamilies);
  for (std::uint32_t const family : families_of_wave_)
    family_waves_[ranking(true).family_place(family)] = waves_;
  due_ = 0;
  grows_ = false;
  return true;
}

}  // namespace fairlane
