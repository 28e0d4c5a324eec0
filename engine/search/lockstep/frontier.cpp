#include "engine/search/lockstep/frontier.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

namespace fairlane {
namespace {

constexpr std::size_t kLeastRoom = std::size_t{1} << 16;  // rows of a queue
constexpr double kRemembered = 0.95;        // of what a kind has brought, from wave to wave
constexpr std::int64_t kStartShare = 64;    // one lane of so many starts anew in any case
constexpr std::size_t kUnknownShare = 8;    // of a wave's origins, of a kind that is not known well
constexpr std::size_t kFewDraws = 512;      // moves that an origin chooses from, most of them IDIs
constexpr std::size_t kManyDraws = 1024;    // where most are not, for which good moves are rarer
constexpr double kLittleFound = 0.01;       // IDIs an evaluation, below which there are the most
constexpr std::uint32_t kDrawnOrigins = 8;  // of which the one in the least visited cell is taken
constexpr std::uint32_t kFirstOriginDraw = 16;  // behind the draws of moves
constexpr std::size_t kCells = std::size_t{1} << 16;
constexpr int kLeastBits = 16;
constexpr int kMostBits = 30;

/// What origins of a kind are thought to bring before any is known, as hits a test: much, so that
/// each is tried.
constexpr std::array<double, kOriginKinds> kHoped = {1.0, 1.0, 0.5, 0.25, 0.1, 0.1,
                                                     0.1, 0.1, 0.1, 0.1,  0.1};
constexpr double kHopedTests = 64.0;  // that this is worth

double pow2_ceil_log(double count) { return std::ceil(std::log2(std::max(count, 1.0))); }

}  // namespace

Frontier::Frontier(PackedSubject const& subject, std::uint64_t seed, Size const& size,
                   ThreadPool& pool, int threads)
    : packed_(subject),
      seed_(seed),
      size_(size),
      hit_room_(std::max(size.hit_bytes / (width() * sizeof(std::int32_t)), kLeastRoom)),
      pool_(pool),
      threads_(threads),
      effort_(size.skips_gradients),
      moves_(subject.get(), seed) {
  constexpr double kBitsPerTest = 16.0;
  log2_bits_ =
      std::clamp(static_cast<int>(pow2_ceil_log(size.tests * kBitsPerTest)), kLeastBits, kMostBits);
  tested_.resize((std::size_t{1} << log2_bits_) / 64);
  Subject const& s = subject.get();
  for (int i = 0; i < s.movable_count; ++i) {
    int const c = s.movable[i];
    std::int32_t const middle = s.low[c] + (s.high[c] - s.low[c]) / 2;
    auto const attribute =
        static_cast<std::size_t>(subject.attribute_of()[static_cast<std::size_t>(c)]);
    halves_.push_back({attribute, subject.code_at(c, std::min(middle + 1, s.high[c]))});
  }
  cells_.resize(kCells);
}

template <class Work>
void Frontier::share(std::int64_t count, Work const& work) {
  constexpr std::int64_t kPiece = 64;  // that is worth a thread
  pool_.share(threads_, 0, count, kPiece, [&](int, std::int64_t first, std::int64_t some) {
    for (std::int64_t i = first; i < first + some; ++i) work(i);
  });
}

std::int64_t Frontier::wave_lanes() const {
  constexpr double kWaves = 512.0;
  constexpr double kMost = 1 << 20;
  constexpr std::int64_t kShare = 64;  // so that threads have whole packs
  auto const lanes =
      static_cast<std::int64_t>(std::min(size_.tests / (kUsualTrials * kWaves), kMost));
  return std::max((lanes + kShare - 1) / kShare, std::int64_t{1}) * kShare;
}

void Frontier::make_room(Queue& queue, std::size_t room) const {
  auto rows = std::make_unique_for_overwrite<std::int32_t[]>(room * width());
  std::copy_n(queue.rows.get(), queue.cells.size() * width(), rows.get());
  queue.rows = std::move(rows);
  queue.room = room;
}

std::optional<std::size_t> Frontier::place_in(OriginKind kind) {
  Queue& queue = queues_[static_cast<std::size_t>(kind)];
  bool const is_miss = kind >= OriginKind::kNear0;
  std::size_t const place = queue.cells.size();
  std::size_t const room = is_miss ? kLeastRoom : hit_room_;
  if (place < room) {
    // Queues grow fast, since to copy them costs as much as to fill them.
    constexpr std::size_t kFirstRows = 1024;
    if (place == queue.room) make_room(queue, std::clamp(4 * place, kFirstRows, room));
    queue.cells.push_back(0);
    return place;
  }
  if (is_miss) return std::nullopt;
  // Those that stay are a uniform sample, in which early parts of the domain keep their share.
  std::uint64_t const number = room + queue.replaceable++;
  std::uint64_t const drawn = hash_word(seed_, number) % (number + 1);
  if (drawn >= room) return std::nullopt;
  replaces_ = true;
  return drawn;
}

void Frontier::push(OriginKind kind, std::int32_t const* row) {
  auto const place = place_in(kind);
  if (!place) return;
  Queue& queue = queues_[static_cast<std::size_t>(kind)];
  std::copy_n(row, width(), row_of(queue, *place));
  queue.cells[*place] = cell_of(row);
}

void Frontier::push_later(OriginKind kind, std::uint32_t origin, std::uint32_t word) {
  if (auto const place = place_in(kind))
    pending_.push_back({kind, static_cast<std::uint32_t>(*place), origin, word});
}

void Frontier::fill_rows() {
  auto const keep = [&](std::int64_t i) {
    PendingRow const& one = pending_[static_cast<std::size_t>(i)];
    Queue& queue = queues_[static_cast<std::size_t>(one.kind)];
    std::int32_t* const row = row_of(queue, one.place);
    std::copy_n(&wave_.rows[one.origin * width()], width(), row);
    if (one.word != 0) move(one.word, row);
    queue.cells[one.place] = cell_of(row);
  };
  auto const count = static_cast<std::int64_t>(pending_.size());
  if (replaces_) {  // several may have one place: the last one keeps it
    for (std::int64_t i = 0; i < count; ++i) keep(i);
  } else {
    share(count, keep);
  }
  replaces_ = false;
  pending_.clear();
}

std::uint64_t Frontier::hash_of(std::int32_t const* row) const {
  std::vector<std::uint64_t> key(static_cast<std::size_t>(packed_.keys().words));
  packed_.group_key(row, key.data());
  return std::accumulate(key.begin(), key.end(), std::uint64_t{0}, hash_word);
}

bool Frontier::test_and_set(std::uint64_t hash) {
  std::uint64_t const bit = TestedGroups::bit_of(hash, log2_bits_);
  std::uint64_t& word = tested_[bit / 64];
  std::uint64_t const mask = std::uint64_t{1} << (bit % 64);
  if ((word & mask) != 0) return true;
  word |= mask;
  ++set_bits_;
  return false;
}

void Frontier::add_hit(std::int32_t const* row) {
  if (!test_and_set(hash_of(row))) push(OriginKind::kHit, row);
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

void Frontier::draw_origins(std::size_t kind, std::size_t count) {
  Queue& queue = queues_[kind];
  for (std::size_t i = 0; i < count; ++i) {
    auto const left = static_cast<std::uint32_t>(queue.cells.size());
    std::size_t chosen = left;
    for (std::uint32_t draw = 0; draw < kDrawnOrigins / 4; ++draw) {
      auto const words = philox<ScalarPack>(static_cast<std::uint32_t>(wave_.kinds.size()),
                                            static_cast<std::uint32_t>(Phase::kFrontier), waves_,
                                            kFirstOriginDraw + draw, seed_);
      for (std::uint32_t const word : words.w) {
        std::size_t const at = below<ScalarPack>(word, left);
        if (chosen == left || cells_[queue.cells[at]] < cells_[queue.cells[chosen]]) chosen = at;
      }
    }
    ++cells_[queue.cells[chosen]];
    std::int32_t* const row = row_of(queue, chosen);
    wave_.rows.insert(wave_.rows.end(), row, row + width());
    std::copy_n(row_of(queue, queue.cells.size() - 1), width(), row);
    queue.cells[chosen] = queue.cells.back();
    queue.cells.pop_back();
    wave_.kinds.push_back(static_cast<std::uint8_t>(kind));
  }
}

Wave const& Frontier::next(StartRow const& start_row) {
  if (!on_its_way_) {
    wave_ = {};
    wave_.number = ++waves_;
    std::int64_t const most = wave_lanes();
    std::array<std::size_t, kOriginKinds> order{};
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return rate(a) > rate(b); });
    double const of_starts = start_rate();
    auto const origins = static_cast<std::size_t>(most - most / kStartShare);
    for (std::size_t const kind : order) {
      auto const left = origins - wave_.kinds.size();
      if (kind != static_cast<std::size_t>(OriginKind::kStart) && rate(kind) < of_starts) continue;
      // What is only hoped for gets a share, but for the neighbourhood of new IDIs.
      bool const known =
          kind <= static_cast<std::size_t>(OriginKind::kHit) ||
          queues_[kind].yield.evaluations > kHopedTests * kUsualTrials * size_.test_evaluations;
      auto const share = known ? left : std::min(left, origins / kUnknownShare + 1);
      draw_origins(kind, std::min(queued(kind), share));
    }
    wave_.starts = most - static_cast<std::int64_t>(wave_.kinds.size());
    std::vector<std::int32_t> rows(static_cast<std::size_t>(wave_.starts) * width());
    share(wave_.starts, [&](std::int64_t i) {
      start_row(next_start_ + i, &rows[static_cast<std::size_t>(i) * width()]);
    });
    next_start_ += wave_.starts;
    wave_.rows.insert(wave_.rows.begin(), rows.begin(), rows.end());
    on_its_way_ = true;
  }
  wave_.effort = effort_.of_wave(wave_.number);
  moves_.draw(wave_.number, draws_of_wave(), pool_, threads_);
  return wave_;
}

std::size_t Frontier::draws_of_wave() const {
  auto const idis = std::ranges::count_if(wave_.kinds, [](std::uint8_t kind) {
    return kind <= static_cast<std::uint8_t>(OriginKind::kOften);
  });
  if (static_cast<std::size_t>(idis) * 2 >= wave_.kinds.size()) return kFewDraws;
  return effort_.rate() < kLittleFound ? kMostMoveDraws : kManyDraws;
}

LatticeStep Frontier::step() const {
  MoveTable table = moves_.table();
  table.tested = {tested_.data(), log2_bits_};
  table.trials = wave_.effort.trials;
  return {table, wave_.number, wave_.effort.gradients};
}

void Frontier::move(std::uint32_t word, std::int32_t* row) const {
  MoveDraw const& draw = moves_.of(word);
  for (int i = 0; i < kMoveAttributes; ++i) {
    std::int32_t const by = i < kMoveAttributes - 1 ? draw.by[i] : TrialWord::solved(word);
    if (by == 0) continue;
    int const c = draw.column[i];
    std::int32_t& code = row[packed_.attribute_of()[static_cast<std::size_t>(c)]];
    code = packed_.code_at(c, packed_.place_of(c, code) + by);
  }
}

void Frontier::take(WaveResults const& results, std::vector<std::uint32_t>& tests) {
  std::vector<std::uint64_t> hashes(results.hit.size());
  share(wave_.starts, [&](std::int64_t i) {
    auto const at = static_cast<std::size_t>(i);
    hashes[at] = hash_of(&wave_.rows[at * width()]);
  });
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    take_start(i, hashes[i], results.hit[i] != 0, &results.rows[i * width()]);
    tests.push_back(1);
  }
  for (std::size_t i = 0; i < wave_.kinds.size(); ++i) tests.push_back(take_origin(i, results));
  fill_rows();
  end_wave();
}

void Frontier::take_start(std::size_t index, std::uint64_t hash, bool hit,
                          std::int32_t const* row) {
  std::int32_t const* const from = &wave_.rows[index * width()];
  starts_.evaluations += size_.evaluations(1.0, true);
  bool const known = test_and_set(hash);
  if (!hit) return push(OriginKind::kStart, row);
  if (known) return;
  starts_.found += 1.0;
  push(OriginKind::kHit, from);
}

std::uint32_t Frontier::take_origin(std::size_t index, WaveResults const& results) {
  constexpr std::size_t kAhead = 4;  // origins whose groups' bits come meanwhile
  std::size_t const stride = wave_.kinds.size();
  TestedGroups const tested{tested_.data(), log2_bits_};
  auto const row = static_cast<std::uint32_t>(static_cast<std::size_t>(wave_.starts) + index);
  auto const kind = static_cast<OriginKind>(wave_.kinds[index]);
  auto& yield = queues_[static_cast<std::size_t>(kind)].yield;
  std::uint32_t trials = 0;
  for (std::size_t t = 0; t < static_cast<std::size_t>(results.trials); ++t) {
    if (index + kAhead < stride) tested.prefetch(results.hashes[t * stride + index + kAhead]);
    std::uint32_t const word = results.words[t * stride + index];
    if (!TrialWord::moves(word)) continue;
    ++trials;
    spent_.tests[t] += 1.0;
    TrialOutcome const outcome = TrialWord::outcome(word);
    bool const deep = outcome == TrialOutcome::kDeep;
    bool const hit = deep || outcome == TrialOutcome::kHit;
    moves_.learn(word, hit);
    bool const known = test_and_set(results.hashes[t * stride + index]);
    if (known || outcome == TrialOutcome::kFar) continue;
    yield.found += hit ? 1.0 : 0.0;
    spent_.found[t] += hit ? 1.0 : 0.0;
    int const near = static_cast<int>(outcome) - static_cast<int>(TrialOutcome::kNear0);
    push_later(deep  ? OriginKind::kDeep
               : hit ? OriginKind::kHit
                     : static_cast<OriginKind>(static_cast<int>(OriginKind::kNear0) + near),
               row, word);
  }
  trials = std::max(trials, 1U);  // the origin itself
  double const evaluations = size_.evaluations(trials, wave_.effort.gradients);
  yield.evaluations += evaluations;
  spent_.evaluations += evaluations;
  if (kind > OriginKind::kOften) return trials;
  int const again = std::max(static_cast<int>(kind), static_cast<int>(OriginKind::kHit)) + 1;
  push_later(static_cast<OriginKind>(std::min(again, static_cast<int>(OriginKind::kOften))), row,
             0);
  return trials;
}

void Frontier::end_wave() {
  on_its_way_ = false;
  effort_.learn(wave_.effort, spent_, size_.test_evaluations);
  spent_ = {};
  for (auto& queue : queues_) {
    queue.yield.evaluations *= kRemembered;
    queue.yield.found *= kRemembered;
  }
  starts_.evaluations *= kRemembered;
  starts_.found *= kRemembered;
  moves_.end_wave();
  // Once half of the bits are set, every other move would be left out for nothing.
  if (set_bits_ > (std::uint64_t{1} << log2_bits_) / 2) {
    std::fill(tested_.begin(), tested_.end(), 0);
    set_bits_ = 0;
  }
}

namespace {

// Sections of a state.
constexpr char const* kQueue = "frontier.queue";      // int32 [..][attributes] of each kind
constexpr char const* kYields = "frontier.yields";    // double [kinds + 1][2] evaluations, found
constexpr char const* kMoves = "frontier.moves";      // double, see MoveDraws::state
constexpr char const* kEffort = "frontier.effort";    // double, see SearchEffort::state
constexpr char const* kTested = "frontier.tested";    // uint64 bits
constexpr char const* kOrigins = "frontier.cells";    // uint32 origins in each cell
constexpr char const* kCounts = "frontier.counts";    // int64: waves, next start, set bits, starts
                                                      // of the wave on its way, -1: there is none;
                                                      // replaceable of each kind
constexpr char const* kWaveRows = "frontier.wave";    // int32 of the wave on its way
constexpr char const* kWaveKinds = "frontier.kinds";  // uint8 the same

std::string queue_section(std::size_t kind) { return kQueue + std::to_string(kind); }

}  // namespace

void Frontier::write(CheckpointWriter& state) const {
  std::vector<double> yields;
  auto const add = [&](Yield const& yield) {
    yields.insert(yields.end(), {yield.evaluations, yield.found});
  };
  for (std::size_t kind = 0; kind < kOriginKinds; ++kind) {
    Queue const& queue = queues_[kind];
    state.section(queue_section(kind));
    state.write(queue.rows.get(), queue.cells.size() * width() * sizeof(std::int32_t));
    add(queue.yield);
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
    queue.cells.clear();
    make_room(queue, rows.size() / width());
    std::ranges::copy(rows, queue.rows.get());
    for (std::size_t i = 0; i < rows.size(); i += width()) queue.cells.push_back(cell_of(&rows[i]));
    queue.yield = {yields.at(2 * kind), yields.at(2 * kind + 1)};
    queue.replaceable = static_cast<std::uint64_t>(counts.at(4 + kind));
  }
  starts_ = {yields.at(2 * kOriginKinds), yields.at(2 * kOriginKinds + 1)};
  moves_.restore(state.values<double>(kMoves));
  effort_.restore(state.values<double>(kEffort));
  tested_ = state.values<std::uint64_t>(kTested);
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
