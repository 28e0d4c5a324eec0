// The margin method's local phase: waves of a frontier, and where a budget ends them.
#include <algorithm>
#include <limits>
#include <numeric>

#include "engine/search/lockstep/lockstep_search.h"

namespace fairlane {

namespace {

constexpr double kNameableOrigins = 1LL << 32;  // that finders can name
constexpr int kWorkersOfPlanner = 4;            // of which one at first plans
constexpr std::int64_t kWholePacks = 32;        // lanes, on any instruction set

/// Attributes that are neither under test nor changed by a search.
std::vector<std::size_t> immutable_attributes(PackedSubject const& packed) {
  Subject const& s = packed.get();
  std::vector<std::uint8_t> varies(static_cast<std::size_t>(s.columns));
  for (int i = 0; i < s.selected; ++i) varies[static_cast<std::size_t>(s.selected_column[i])] = 1;
  for (int i = 0; i < s.movable_count; ++i) varies[static_cast<std::size_t>(s.movable[i])] = 1;
  std::vector<std::size_t> immutable;
  for (std::size_t c = 0; c < varies.size(); ++c) {
    if (varies[c] == 0) immutable.push_back(static_cast<std::size_t>(packed.attribute_of()[c]));
  }
  return immutable;
}

}  // namespace

std::int64_t LockstepSearch::frontier_tests() const {
  // A frontier has no natural end: a budget may let it go on for some times as long.
  constexpr double kBudgeted = 8.0;
  auto const& budget = config_.budget;
  bool const budgeted = budget.evaluations || budget.iterations || budget.seconds;
  double const seeds = static_cast<double>(result_.global.size());
  double const tests =
      seeds * static_cast<double>(config_.local.num) * (budgeted ? kBudgeted : 1.0);
  return static_cast<std::int64_t>(std::min(tests, kNameableOrigins));
}

Frontier::Size LockstepSearch::frontier_size() const {
  // Of the whole search, so that a budget ends it without another effect.
  constexpr double kPair = 2.0;
  return {static_cast<double>(config_.local.num) * static_cast<double>(config_.global.num), kPair,
          variants() - kPair, 2.0 * gradient_cost(), gradients_differ()};
}

void LockstepSearch::new_frontier() {
  frontier_.emplace(backend_.subject(), config_.seed, frontier_size(), start_rows(),
                    workers_.pool());
}

Frontier::StartRow LockstepSearch::start_rows() const {
  return [this, immutable = immutable_attributes(backend_.subject())](std::int64_t n,
                                                                      std::int32_t* row) {
    seeds_.uniform_row(seeds_.count() + n, row);
    if (immutable.empty()) return;
    std::vector<std::int32_t> seed(static_cast<std::size_t>(attributes_));
    seeds_.rows(n % seeds_.count(), 1, seed.data());
    for (std::size_t const a : immutable) row[a] = seed[a];
  };
}

void LockstepSearch::place_wave(Wave const& wave, std::int64_t first, LaneBlock& block,
                                std::int64_t begin, int count) const {
  std::vector<std::uint32_t> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), static_cast<std::uint32_t>(first + begin));
  block.place(numbers, &wave.rows[static_cast<std::size_t>(begin * attributes_)]);
}

void LockstepSearch::run_starts(LaneBlock& block, std::int64_t begin, WaveResults& results) {
  int const count = block.size();
  block.test(method_.test);
  for (int lane = 0; lane < count; ++lane)
    results.hit[static_cast<std::size_t>(begin + lane)] = block.hit(lane) ? 1 : 0;
  block.advance(method_.global_step(method_, config_));
  for (int lane = 0; lane < count; ++lane)
    block.row(lane, &results.rows[static_cast<std::size_t>((begin + lane) * attributes_)]);
}

void LockstepSearch::run_origins(LaneBlock& block, std::int64_t begin, WaveResults& results) {
  LocalStep const step = frontier_->step();
  block.begin(step);
  block.step(step, results.trials);
  std::size_t const origins = results.words.size() / static_cast<std::size_t>(results.trials);
  auto const at = static_cast<std::size_t>(begin);
  block.trials(&results.words[at], &results.hashes[at], origins);
}

void LockstepSearch::run_wave(Wave const& wave, std::int64_t first) {
  WaveResults& results = wave_results_;
  results.hit.resize(static_cast<std::size_t>(wave.starts));
  results.rows.resize(results.hit.size() * static_cast<std::size_t>(attributes_));
  results.trials = wave.effort.trials;
  results.words.resize(static_cast<std::size_t>(results.trials) * wave.kinds.size());
  results.hashes.resize(results.words.size());
  std::vector<std::uint8_t> done(static_cast<std::size_t>(wave.count()), ranks() > 1 ? 1 : 0);
  std::int64_t own = wave.count();
  if (ranks() > 1) {
    own = 0;
    for (auto const& range : wave_ranges_of(options_.ranks->rank(), wave)) {
      std::fill_n(done.begin() + range.first, range.count, std::uint8_t{0});
      own += range.count;
    }
  }
  WorkList members(done, 0, wave.count());
  int const workers = backend_.concurrency();
  auto const lanes_for = [&](std::int64_t count) {
    return backend_.block_lanes(std::max(count, workers * kWholePacks));
  };
  int const lanes = lanes_for(own);
  int const room = std::max(lanes, lanes_for(frontier_->most_lanes() / ranks()));
  wave_blocks_.resize(static_cast<std::size_t>(workers));
  auto const run_lanes = [&](int worker) {
    auto& block = wave_blocks_[static_cast<std::size_t>(worker)];
    if (!block || block->capacity() < lanes) {
      block.reset();
      block = backend_.make_block(room, Phase::kLocal);
    }
    run_members(wave, first, members, together(own, std::min(lanes, block->capacity())), *block);
  };
  if (backend_.on_host()) {
    // Those who plan go on as the others do; there are no more threads than workers.
    int const planners = std::max(1, workers / kWorkersOfPlanner);
    workers_.run(workers - planners + 1, [&](int worker) {
      if (worker > 0) return run_lanes(worker);
      frontier_->plan(planners);
      workers_.pool().run(planners,
                          [&](int planner) { run_lanes(planner == 0 ? 0 : workers - planner); });
    });
  } else {
    workers_.run(workers + 1, [&](int worker) {
      if (worker > 0) return run_lanes(worker - 1);
      frontier_->plan(frontier_threads());
    });
  }
  share_wave(wave, results);
}

void LockstepSearch::run_members(Wave const& wave, std::int64_t first, WorkList& members,
                                 std::int64_t most, LaneBlock& block) {
  while (!workers_.failed()) {
    auto const taken = members.take(most);
    if (taken.count == 0) return;
    std::int64_t const begin = taken.first;
    std::int64_t const end = begin + taken.count;
    // A piece may hold starts, then origins.
    std::int64_t const starts_end = std::clamp(wave.starts, begin, end);
    auto const run = [&](std::int64_t from, std::int64_t to, auto const& work) {
      int const placed = static_cast<int>(to - from);
      if (placed == 0) return;
      place_wave(wave, first, block, from, placed);
      work();
      block.retain(std::vector<std::uint8_t>(static_cast<std::size_t>(placed)));
    };
    run(begin, starts_end, [&] { run_starts(block, begin, wave_results_); });
    run(starts_end, end, [&] { run_origins(block, starts_end - wave.starts, wave_results_); });
  }
}

std::int64_t LockstepSearch::together(std::int64_t lanes, int most) const {
  constexpr std::int64_t kPieces = 8;  // of each worker
  std::int64_t const workers = backend_.concurrency();
  if (!backend_.on_host() || workers == 1) return most;
  std::int64_t const piece = lanes / (workers * kPieces);
  return std::clamp<std::int64_t>((piece + kWholePacks - 1) / kWholePacks * kWholePacks, 1, most);
}

void LockstepSearch::frontier_phase() {
  auto const width = static_cast<std::size_t>(attributes_);
  if (!frontier_) {
    new_frontier();
    for (std::size_t i = 0; i < origins_.seed.size(); ++i)
      frontier_->add_hit(&origins_.rows[i * width]);
    frontier_->plan(frontier_threads());
  }
  std::int64_t tests = 0;
  double evaluations = 0.0;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    tests += steps_[i];
    evaluations += origin_evaluations(static_cast<std::int64_t>(i));
  }
  std::int64_t const most_tests = frontier_tests();
  std::int64_t const tests_left = iterations_left();
  double const most_evaluations =
      config_.budget.evaluations ? evaluations_left(0) : std::numeric_limits<double>::infinity();
  bool const repeats = options_.replay && options_.replay->local_seeds >= 0;
  auto const most_origins =
      repeats ? options_.replay->local_seeds : static_cast<std::int64_t>(kNameableOrigins);
  auto const done = [&] { return static_cast<std::int64_t>(steps_.size()); };
  double const each = origin_evaluations(kUsualTrials, 1.0);
  double const origins =
      std::min({static_cast<double>(most_tests) / kUsualTrials, static_cast<double>(most_origins),
                std::ceil(most_evaluations / each)});
  begin_phase(1, static_cast<std::int64_t>(origins), done());
  if (!config_.budget.instances && !config_.budget.seconds) {
    // A miss of two members is recorded where there are no others; rarely are there fewer.
    double const recorded = variants() == 2.0 ? 1.0 : 0.8;
    double const more = std::min(static_cast<double>(std::max(most_tests - tests, std::int64_t{0})),
                                 most_evaluations / frontier_size().test_evaluations);
    backend_.reserve(static_cast<double>(backend_.visited()) + recorded * more / ranks());
  }
  std::int64_t counted = -1;
  char const* reason = "";
  while (counted < 0) {
    job_.check_stop();
    if (job_.saves() && job_.due()) job_.save_on_the_way();
    if (tests >= most_tests || done() >= most_origins) break;
    if (job_.late()) {
      reason = "seconds";
      break;
    }
    std::int64_t const first = done();
    Wave const& wave = frontier_->wave();
    run_wave(wave, first);
    frontier_->take(wave_results_, steps_, frontier_threads());
    renewals_.resize(static_cast<std::size_t>(first + wave.starts), 1);
    renewals_.resize(steps_.size(), wave.effort.gradients ? 1 : 0);
    local_done_.resize(steps_.size(), 1);
    std::int64_t const tests_before = tests;
    for (std::int64_t i = first; i < done(); ++i) {
      tests += steps_[static_cast<std::size_t>(i)];
      evaluations += origin_evaluations(i);
    }
    report(done() - first, tests - tests_before);
    bool const enough_instances =
        config_.budget.instances &&
        static_cast<std::int64_t>(backend_.instances()) >= *config_.budget.instances;
    if (evaluations >= most_evaluations || enough_instances || tests >= tests_left)
      counted = origins_for_budgets(done(), reason);
  }
  wave_blocks_.clear();
  wave_results_ = {};
  local_counted_ = counted >= 0 ? counted : done();
  if (repeats) {
    reason = options_.replay->reason;
    local_counted_ = std::min(local_counted_, most_origins);
  }
  if (*reason == '\0' && local_counted_ == done()) return;
  result_.cut.reason = reason;
  cut_local(local_counted_);
}

}  // namespace fairlane
