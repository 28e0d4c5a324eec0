#include "engine/search.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <mutex>
#include <numeric>

#include "engine/workers.h"
#include "kernels/core/error.h"

namespace fairlane {

namespace {

using Clock = std::chrono::steady_clock;

/// Starting points of the local phase: distinct global IDIs by least seed.
/// seed [count], rows [count][attributes]
struct Origins {
  std::vector<std::uint32_t> seed;
  std::vector<std::int32_t> rows;
};

/// One search on its way; the phases share its state.
class LockstepSearch {
 public:
  LockstepSearch(RunConfig const& config, MethodSpec const& method, SeedSource const& seeds,
                 Backend& backend, SearchOptions const& options)
      : config_(config),
        method_(method),
        seeds_(seeds),
        backend_(backend),
        options_(options),
        attributes_(backend.subject().get().columns) {}

  SearchResult run();

 private:
  void random_phase();
  void global_phase();
  void global_worker(std::atomic<std::int64_t>& next, std::int64_t count,
                     std::vector<std::uint32_t>& hit_seeds, std::vector<std::int32_t>& hit_rows);
  /// Writes outcomes of lanes that ended; keep[lane] = 0 for those.
  bool retire(LaneBlock& block, bool after_step, std::vector<std::uint8_t>& keep,
              std::vector<std::uint32_t>& hit_seeds, std::vector<std::int32_t>& hit_rows);
  void collect_origins(std::vector<std::vector<std::uint32_t>> const& seeds,
                       std::vector<std::vector<std::int32_t>> const& rows);
  void local_phase();
  void local_worker(std::atomic<std::int64_t>& next, std::int64_t last);
  void cut_global();
  void cut_local(std::int64_t done);
  std::int64_t origins_for_instances(std::int64_t done);
  std::vector<std::uint64_t> hit_finders();
  void count();

  void check_stop() const {
    if (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed)) {
      throw Error(ExitCode::kInterrupted, "interrupted; nothing was written");
    }
  }
  bool late() const {
    return config_.budget.seconds && !options_.replay &&
           std::chrono::duration<double>(Clock::now() - start_).count() >= *config_.budget.seconds;
  }
  void report(std::int64_t done, std::int64_t iterations) const {
    if (options_.progress == nullptr) return;
    options_.progress->done.fetch_add(done, std::memory_order_relaxed);
    options_.progress->iterations.fetch_add(iterations, std::memory_order_relaxed);
    options_.progress->instances.store(static_cast<std::int64_t>(backend_.instances()),
                                       std::memory_order_relaxed);
  }
  void begin_phase(int phase, std::int64_t total) const {
    if (options_.progress == nullptr) return;
    options_.progress->phase = phase;
    options_.progress->done = 0;
    options_.progress->total = total;
  }
  /// Lanes per block: short blocks where the clock decides, so that little is lost at the end.
  int block_lanes(std::int64_t lanes) const {
    constexpr int kTimedLanes = 64;
    int const wanted = backend_.block_lanes(lanes);
    return config_.budget.seconds ? std::min(wanted, kTimedLanes) : wanted;
  }
  std::uint32_t max_iter() const { return static_cast<std::uint32_t>(config_.global.max_iter); }
  double gradient_cost() const {
    return method_.evaluations_per_gradient > 0.0 ? method_.evaluations_per_gradient
                                                  : 1.0 + attributes_;
  }
  GradientSpec gradient() const {
    return {method_.gradient, static_cast<float>(config_.perturbation_size)};
  }
  LocalStep local_step() const;

  RunConfig const& config_;
  MethodSpec const& method_;
  SeedSource const& seeds_;
  Backend& backend_;
  SearchOptions const& options_;
  int attributes_;
  Clock::time_point start_ = Clock::now();
  SearchResult result_;
  Origins origins_;
  std::vector<std::uint8_t> global_done_;  // [seeds]
  std::vector<std::uint8_t> local_done_;   // [origins]
  std::vector<std::uint32_t> renewals_;    // [origins]
  std::int64_t local_counted_ = 0;         // origins that count
};

LocalStep LockstepSearch::local_step() const {
  LocalStep step;
  step.gradient = gradient();
  step.step = static_cast<std::int32_t>(config_.local.step);
  step.epsilon = static_cast<float>(config_.local.epsilon);
  step.never_update = !method_.local_renews_always && config_.local.update_interval == kNeverUpdate;
  step.update_interval = method_.local_renews_always ? 0 : config_.local.update_interval;
  return step;
}

SearchResult LockstepSearch::run() {
  if (method_.kind == SearchKind::kRandom) {
    random_phase();
  } else {
    global_phase();
    cut_global();
    if (result_.cut.local_seeds != 0 && config_.local.num > 0) local_phase();
  }
  count();
  result_.search_seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  return std::move(result_);
}

bool LockstepSearch::retire(LaneBlock& block, bool after_step, std::vector<std::uint8_t>& keep,
                            std::vector<std::uint32_t>& hit_seeds,
                            std::vector<std::int32_t>& hit_rows) {
  int const n = block.size();
  keep.assign(static_cast<std::size_t>(n), 1);
  bool any = false;
  std::int64_t ended = 0;
  for (int lane = 0; lane < n; ++lane) {
    bool const hit = !after_step && block.hit(lane);
    bool const last =
        block.iteration(lane) == max_iter() && after_step == method_.steps_after_last_test;
    if (!hit && !last) continue;
    any = true;
    ++ended;
    keep[static_cast<std::size_t>(lane)] = 0;
    auto const seed = static_cast<std::size_t>(block.seed(lane));
    result_.global[seed] = {hit, block.iteration(lane)};
    if (options_.trace)
      block.row(lane, &result_.last_rows[seed * static_cast<std::size_t>(attributes_)]);
    global_done_[seed] = 1;
    if (!hit) continue;
    hit_seeds.push_back(block.seed(lane));
    hit_rows.resize(hit_rows.size() + static_cast<std::size_t>(attributes_));
    block.row(lane, hit_rows.data() + hit_rows.size() - attributes_);
  }
  if (any) block.retain(keep);
  report(ended, 0);
  return any;
}

void LockstepSearch::global_worker(std::atomic<std::int64_t>& next, std::int64_t count,
                                   std::vector<std::uint32_t>& hit_seeds,
                                   std::vector<std::int32_t>& hit_rows) {
  auto const block = backend_.make_block(block_lanes(count), Phase::kGlobal);
  std::vector<std::uint32_t> numbers;
  std::vector<std::int32_t> rows;
  std::vector<std::uint8_t> keep;
  GlobalStep const step{gradient(),
                        method_.uses_decay ? static_cast<float>(config_.global.decay) : 0.0F,
                        static_cast<std::int32_t>(config_.global.step), method_.sign};
  bool open = true;
  while (true) {
    check_stop();
    if (late()) return;
    // Refill once a quarter of the lanes is free: lanes are independent, so when they start does not matter.
    int const free = block->capacity() - block->size();
    if (open && (free * 4 >= block->capacity() || block->size() == 0)) {
      std::int64_t const first = next.fetch_add(free);
      std::int64_t const taken = std::clamp<std::int64_t>(count - first, 0, free);
      open = taken == free;
      if (taken > 0) {
        numbers.resize(static_cast<std::size_t>(taken));
        std::iota(numbers.begin(), numbers.end(), static_cast<std::uint32_t>(first));
        rows.resize(static_cast<std::size_t>(taken) * static_cast<std::size_t>(attributes_));
        seeds_.rows(first, taken, rows.data());
        block->place(numbers, rows.data());
      }
    }
    if (block->size() == 0) return;
    bool const margin = method_.kind == SearchKind::kMargin;
    if (margin) {
      block->test_margin();
    } else {
      block->test();
    }
    report(0, block->size());
    retire(*block, false, keep, hit_seeds, hit_rows);
    if (block->size() == 0) continue;
    if (margin) {
      block->advance_margin(step.step);
    } else {
      block->advance(step);
    }
    retire(*block, true, keep, hit_seeds, hit_rows);
  }
}

void LockstepSearch::global_phase() {
  std::int64_t count = seeds_.count();
  if (config_.budget.iterations)
    count = std::min(count, *config_.budget.iterations);  // every seed is tested once
  if (options_.replay && options_.replay->global_seeds >= 0)
    count = std::min(count, options_.replay->global_seeds);
  result_.global.resize(static_cast<std::size_t>(count));
  global_done_.assign(static_cast<std::size_t>(count), 0);
  if (options_.trace) {
    result_.last_rows.resize(static_cast<std::size_t>(count) *
                             static_cast<std::size_t>(attributes_));
  }
  begin_phase(0, count);
  std::atomic<std::int64_t> next{0};
  auto const workers = static_cast<std::size_t>(backend_.concurrency());
  std::vector<std::vector<std::uint32_t>> seeds(workers);
  std::vector<std::vector<std::int32_t>> rows(workers);
  run_workers(backend_.concurrency(), [&](int worker) {
    auto const w = static_cast<std::size_t>(worker);
    global_worker(next, count, seeds[w], rows[w]);
  });
  collect_origins(seeds, rows);
}

void LockstepSearch::collect_origins(std::vector<std::vector<std::uint32_t>> const& seeds,
                                     std::vector<std::vector<std::int32_t>> const& rows) {
  struct Hit {
    std::int32_t const* row;
    std::uint32_t seed;
  };
  std::vector<Hit> hits;
  auto const width = static_cast<std::size_t>(attributes_);
  for (std::size_t w = 0; w < seeds.size(); ++w) {
    for (std::size_t i = 0; i < seeds[w].size(); ++i)
      hits.push_back({rows[w].data() + i * width, seeds[w][i]});
  }
  auto const compare = [width](Hit const& a, Hit const& b) {
    return std::lexicographical_compare_three_way(a.row, a.row + width, b.row, b.row + width);
  };
  std::sort(hits.begin(), hits.end(), [&](Hit const& a, Hit const& b) {
    auto const order = compare(a, b);
    return order != 0 ? order < 0 : a.seed < b.seed;
  });
  hits.erase(std::unique(hits.begin(), hits.end(),
                         [&](Hit const& a, Hit const& b) { return compare(a, b) == 0; }),
             hits.end());
  std::sort(hits.begin(), hits.end(), [](Hit const& a, Hit const& b) { return a.seed < b.seed; });
  for (auto const& hit : hits) {
    origins_.seed.push_back(hit.seed);
    origins_.rows.insert(origins_.rows.end(), hit.row, hit.row + width);
  }
}

std::vector<std::uint64_t> LockstepSearch::hit_finders() {
  std::vector<std::uint64_t> finders;
  backend_.collect([&](Visits const& visits) {
    for (std::size_t i = 0; i < visits.count; ++i) {
      if ((visits.state[i] & kVisitHit) != 0) finders.push_back(visits.finder[i]);
    }
  });
  return finders;
}

void LockstepSearch::cut_global() {
  auto& cut = result_.cut;
  auto const total = static_cast<std::int64_t>(result_.global.size());
  std::int64_t seeds = total;
  auto const limit = [&](std::int64_t count, char const* reason) {
    if (count >= seeds && !(count == seeds && *cut.reason == '\0')) return;
    seeds = std::min(seeds, count);
    cut.reason = reason;
    cut.local_seeds = 0;
  };
  std::int64_t const complete =
      std::find(global_done_.begin(), global_done_.end(), 0) - global_done_.begin();
  if (complete < total || late()) limit(complete, "seconds");
  if (config_.budget.iterations) {
    std::int64_t tests = 0;
    for (std::int64_t s = 0; s < seeds; ++s) {
      tests += result_.global[static_cast<std::size_t>(s)].iterations;
      if (tests >= *config_.budget.iterations) limit(s + 1, "iterations");
    }
  }
  if (config_.budget.instances) {
    auto finders = hit_finders();
    auto const wanted = static_cast<std::size_t>(*config_.budget.instances);
    if (finders.size() >= wanted) {
      std::nth_element(finders.begin(), finders.begin() + static_cast<std::ptrdiff_t>(wanted - 1),
                       finders.end());
      limit(static_cast<std::int64_t>(Finder::seed(finders[wanted - 1])) + 1, "instances");
    }
  }
  if (options_.replay && options_.replay->local_seeds == 0) {
    limit(options_.replay->global_seeds, options_.replay->reason);
  }
  if (cut.local_seeds == 0) {
    cut.global_seeds = seeds;
    cut.finder = Finder::pack(Phase::kGlobal, static_cast<std::uint32_t>(seeds), 0);
    result_.global.resize(static_cast<std::size_t>(seeds));
    auto const past = std::lower_bound(origins_.seed.begin(), origins_.seed.end(),
                                       static_cast<std::uint32_t>(seeds));
    origins_.seed.erase(past, origins_.seed.end());
    if (options_.trace)
      result_.last_rows.resize(static_cast<std::size_t>(seeds) *
                               static_cast<std::size_t>(attributes_));
  } else if (config_.budget.seeds && seeds_.count() == *config_.budget.seeds &&
             *config_.budget.seeds < config_.global.num) {
    cut.reason = "seeds";
  }
}

void LockstepSearch::local_worker(std::atomic<std::int64_t>& next, std::int64_t last) {
  std::int64_t const first = next.load();
  int const lanes = block_lanes(last - first);
  auto const block = backend_.make_block(lanes, Phase::kLocal);
  LocalStep const step = local_step();
  std::vector<std::uint8_t> none(static_cast<std::size_t>(lanes), 0);
  bool const margin = method_.kind == SearchKind::kMargin;
  while (!late()) {
    std::int64_t const begin = next.fetch_add(lanes);
    std::int64_t const count = std::clamp<std::int64_t>(last - begin, 0, lanes);
    if (count == 0) return;
    auto const at = static_cast<std::size_t>(begin);
    block->place({origins_.seed.data() + at, static_cast<std::size_t>(count)},
                 origins_.rows.data() + at * static_cast<std::size_t>(attributes_));
    if (margin) {
      block->begin_margin();
    } else {
      block->begin_local(step);
    }
    for (std::int64_t i = 0; i < config_.local.num; ++i) {
      check_stop();
      if (late()) return;
      if (margin) {
        block->step_margin(step.step);
      } else {
        block->step_local(step);
      }
      report(0, count);
    }
    for (int lane = 0; lane < block->size(); ++lane)
      renewals_[at + static_cast<std::size_t>(lane)] = block->renewals(lane);
    std::fill_n(local_done_.begin() + begin, count, std::uint8_t{1});
    block->retain({none.data(), static_cast<std::size_t>(block->size())});
    report(count, 0);
  }
}

void LockstepSearch::local_phase() {
  auto const total = static_cast<std::int64_t>(origins_.seed.size());
  std::int64_t last = total;
  char const* reason = "";
  if (config_.budget.iterations) {
    std::int64_t tests = 0;
    for (auto const& outcome : result_.global) tests += outcome.iterations;
    std::int64_t const left = *config_.budget.iterations - tests;
    std::int64_t const origins = (left + config_.local.num - 1) / config_.local.num;
    if (origins <= last) {
      last = origins;
      reason = "iterations";
    }
  }
  if (options_.replay && options_.replay->local_seeds >= 0 && options_.replay->local_seeds < last) {
    last = options_.replay->local_seeds;
    reason = options_.replay->reason;
  }
  local_done_.assign(static_cast<std::size_t>(total), 0);
  renewals_.assign(static_cast<std::size_t>(total), 0);
  begin_phase(1, last);
  std::atomic<std::int64_t> next{0};
  // Somewhat less than half of the local steps lead to new inputs.
  constexpr double kNewInputsPerStep = 0.45;
  if (!config_.budget.instances && !config_.budget.seconds) {
    backend_.reserve(static_cast<double>(backend_.visited()) +
                     kNewInputsPerStep * static_cast<double>(last) *
                         static_cast<double>(config_.local.num));
  }
  std::int64_t done = 0;
  std::int64_t wave = last;
  if (config_.budget.instances)
    wave = static_cast<std::int64_t>(backend_.concurrency()) * backend_.block_lanes(last);
  while (done < last) {
    std::int64_t const end = std::min(last, done + wave);
    next = done;
    run_workers(backend_.concurrency(), [&](int) { local_worker(next, end); });
    std::int64_t const complete =
        std::find(local_done_.begin(), local_done_.begin() + end, 0) - local_done_.begin();
    if (complete < end || late()) {
      done = complete;
      reason = complete < last ? "seconds" : reason;
      break;
    }
    done = end;
    if (config_.budget.instances) {
      std::int64_t const enough = origins_for_instances(done);
      if (enough >= 0) {
        done = enough;
        reason = "instances";
        break;
      }
      wave += wave / 2;  // each count scans the whole table
    }
  }
  local_counted_ = done;
  if (*reason == '\0' && done == total) return;
  result_.cut.reason = reason;
  cut_local(done);
}

std::int64_t LockstepSearch::origins_for_instances(std::int64_t done) {
  auto finders = hit_finders();
  auto const wanted = static_cast<std::size_t>(*config_.budget.instances);
  if (finders.size() < wanted) return -1;
  std::nth_element(finders.begin(), finders.begin() + static_cast<std::ptrdiff_t>(wanted - 1),
                   finders.end());
  std::uint64_t const finder = finders[wanted - 1];
  auto const past =
      std::upper_bound(origins_.seed.begin(), origins_.seed.begin() + done, Finder::seed(finder));
  return past - origins_.seed.begin();
}

void LockstepSearch::cut_local(std::int64_t done) {
  auto& cut = result_.cut;
  cut.global_seeds = static_cast<std::int64_t>(result_.global.size());
  cut.local_seeds = done;
  if (done == 0) {  // the same as an end after the global phase, which a replay takes it for
    cut.finder = Finder::pack(Phase::kGlobal, static_cast<std::uint32_t>(cut.global_seeds), 0);
  } else if (done < static_cast<std::int64_t>(origins_.seed.size())) {
    cut.finder = Finder::pack(Phase::kLocal, origins_.seed[static_cast<std::size_t>(done)], 0);
  }
}

void LockstepSearch::random_phase() {
  // Inputs without duplicates: as many more are drawn as the table has seen before, until enough distinct ones are tested.
  double const domain = backend_.subject().keys().groups * backend_.subject().get().variants;
  auto const wanted =
      static_cast<std::int64_t>(std::min(static_cast<double>(seeds_.count()), domain));
  begin_phase(0, wanted);
  // A run that the clock ended is repeated by as many draws.
  bool const repeats = options_.replay && options_.replay->global_seeds >= 0;
  std::int64_t const most =
      repeats ? options_.replay->global_seeds : std::numeric_limits<std::int64_t>::max();
  std::int64_t drawn = 0;
  std::int64_t distinct = 0;
  bool timed_out = false;
  while (distinct < wanted && drawn < most && !timed_out) {
    std::int64_t const end = std::min(most, drawn + (wanted - distinct));
    if (end > std::numeric_limits<std::uint32_t>::max()) {
      throw Error(ExitCode::kConfig, "global.num: more than 2^32 draws are needed for " +
                                         std::to_string(wanted) +
                                         " distinct inputs; use enumerate for a domain this small");
    }
    global_done_.resize(static_cast<std::size_t>(end), 0);
    std::atomic<std::int64_t> next{drawn};
    run_workers(backend_.concurrency(), [&](int) {
      auto const block = backend_.make_block(block_lanes(end - drawn), Phase::kGlobal);
      std::vector<std::uint32_t> numbers;
      std::vector<std::int32_t> rows;
      std::vector<std::uint8_t> const none(static_cast<std::size_t>(block->capacity()), 0);
      while (!late()) {
        check_stop();
        std::int64_t const first = next.fetch_add(block->capacity());
        std::int64_t const taken = std::clamp<std::int64_t>(end - first, 0, block->capacity());
        if (taken == 0) return;
        numbers.resize(static_cast<std::size_t>(taken));
        std::iota(numbers.begin(), numbers.end(), static_cast<std::uint32_t>(first));
        rows.resize(static_cast<std::size_t>(taken) * static_cast<std::size_t>(attributes_));
        seeds_.rows(first, taken, rows.data());
        block->place(numbers, rows.data());
        block->test_labels();
        std::fill_n(global_done_.begin() + first, taken, std::uint8_t{1});
        report(taken, taken);
        block->retain({none.data(), static_cast<std::size_t>(block->size())});
      }
    });
    std::int64_t const complete =
        std::find(global_done_.begin(), global_done_.end(), 0) - global_done_.begin();
    timed_out = complete < end;
    drawn = complete;
    distinct = static_cast<std::int64_t>(backend_.visited());
    if (seeds_.fixed()) break;
  }
  auto& cut = result_.cut;
  cut.finder = Finder::pack(Phase::kGlobal, static_cast<std::uint32_t>(drawn), 0);
  if (timed_out || repeats) {
    cut.reason = "seconds";
    cut.global_seeds = drawn;
  }
  result_.global.resize(static_cast<std::size_t>(drawn));
  std::int64_t counted = 0;
  backend_.collect([&](Visits const& visits) {
    for (std::size_t i = 0; i < visits.count; ++i) {
      if (visits.finder[i] >= cut.finder) continue;
      ++counted;
      result_.global[Finder::seed(visits.finder[i])] = {(visits.state[i] & kVisitHit) != 0, 1};
    }
  });
  result_.counts.iterations = counted;
  if (options_.trace) {
    result_.last_rows.resize(static_cast<std::size_t>(drawn) *
                             static_cast<std::size_t>(attributes_));
    seeds_.rows(0, drawn, result_.last_rows.data());
  }
}

void LockstepSearch::count() {
  auto& c = result_.counts;
  double const variants = backend_.subject().get().variants;
  c.global_seeds = static_cast<std::int64_t>(result_.global.size());
  double evaluations = 0.0;
  std::int64_t tests = 0;
  double gradient_pairs = 0.0;
  for (auto const& outcome : result_.global) {
    c.global_found += outcome.found ? 1 : 0;
    tests += outcome.iterations;
    bool const stepped_last = !outcome.found && method_.steps_after_last_test;
    gradient_pairs +=
        outcome.iterations == 0 ? 0.0 : outcome.iterations - (stepped_last ? 0.0 : 1.0);
  }
  if (method_.kind == SearchKind::kRandom) {
    c.global_seeds = c.iterations;
    c.global_unique = c.global_found;
    c.model_evaluations = static_cast<std::int64_t>(static_cast<double>(c.iterations) * variants);
    return;
  }
  evaluations += static_cast<double>(tests) * variants + gradient_pairs * 2.0 * gradient_cost();
  c.global_unique = static_cast<std::int64_t>(origins_.seed.size());
  c.iterations = tests;
  if (local_counted_ > 0) {
    double renewals = 0.0;
    for (std::int64_t i = 0; i < local_counted_; ++i)
      renewals += renewals_[static_cast<std::size_t>(i)];
    bool const margin = method_.kind == SearchKind::kMargin;
    auto const origins = static_cast<double>(local_counted_);
    auto const steps = static_cast<double>(config_.local.num);
    c.iterations += local_counted_ * config_.local.num;
    evaluations += origins * steps * variants + renewals * 2.0 * gradient_cost();
    // The first weights: gradients at x and partner; the partner costs a similar set, except where the global test
    // has just evaluated it (margin). ADF has no first weights.
    if (margin) evaluations += origins * 2.0 * gradient_cost();
    if (!margin && !method_.local_renews_always)
      evaluations += origins * (variants + 2.0 * gradient_cost());
  }
  c.model_evaluations = static_cast<std::int64_t>(evaluations);
}

}  // namespace

SearchResult search(RunConfig const& config, MethodSpec const& method, SeedSource const& seeds,
                    Backend& backend, SearchOptions const& options) {
  return LockstepSearch(config, method, seeds, backend, options).run();
}

}  // namespace fairlane
