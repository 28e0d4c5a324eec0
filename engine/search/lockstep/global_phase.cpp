// The global phase: from seeds to first IDIs, and where a budget ends it.
#include "engine/search/lockstep/lockstep_search.h"

#include <algorithm>

namespace fairlane {

namespace {

constexpr char const* kSeconds = "seconds";

}  // namespace

bool LockstepSearch::retire(LaneBlock& block, bool after_step, std::vector<std::uint8_t>& keep,
                            GlobalHits& hits) {
  int const n = block.size();
  keep.assign(static_cast<std::size_t>(n), 1);
  bool any = false;
  std::int64_t ended = 0;
  for (int lane = 0; lane < n; ++lane) {
    bool const hit = !after_step && block.hit(lane);
    bool const last =
        block.iteration(lane) == max_iter() && after_step == method_.steps_after_last_test;
    // A seed that the clock ended has taken all its steps.
    bool const cut = after_step && block.iteration(lane) == tests_of(block.seed(lane));
    if (!hit && !last && !cut) continue;
    any = true;
    ++ended;
    keep[static_cast<std::size_t>(lane)] = 0;
    end_seed(block, lane, hit, hits);
  }
  if (any) block.retain(keep);
  report(ended, 0);
  return any;
}

void LockstepSearch::end_seed(LaneBlock const& block, int lane, bool hit, GlobalHits& hits) {
  auto const seed = static_cast<std::size_t>(block.seed(lane));
  result_.global[seed] = {hit, block.iteration(lane)};
  if (options_.trace)
    block.row(lane, &result_.last_rows[seed * static_cast<std::size_t>(attributes_)]);
  global_done_[seed] = 1;
  if (!hit) return;
  hits.seed.push_back(block.seed(lane));
  hits.rows.resize(hits.rows.size() + static_cast<std::size_t>(attributes_));
  block.row(lane, hits.rows.data() + hits.rows.size() - attributes_);
}

void LockstepSearch::retire_all(LaneBlock& block, std::vector<std::uint8_t>& keep,
                                GlobalHits& hits) {
  int const n = block.size();
  keep.assign(static_cast<std::size_t>(n), 0);
  std::int64_t tests = 0;
  for (int lane = 0; lane < n; ++lane) {
    tests += block.iteration(lane);
    end_seed(block, lane, block.hit(lane), hits);
  }
  block.retain(keep);
  report(n, tests);
}

void LockstepSearch::global_worker(WorkList& seeds, int wanted_lanes, GlobalHits& hits) {
  auto const block = backend_.make_block(wanted_lanes, Phase::kGlobal);
  std::vector<std::uint8_t> keep;
  bool const steps = method_.global_step != nullptr;
  GlobalStep const step = steps ? method_.global_step(method_, config_) : GlobalStep();
  bool open = true;
  while (true) {
    if (between_rounds([&] { note_seeds(*block); })) return;
    // Refill once a quarter of the lanes is free: lanes are independent, so when they start does
    // not matter.
    int free = block->capacity() - block->size();
    bool const refills = free * 4 >= block->capacity() || block->size() == 0;
    while (open && refills && free > 0) {
      auto const [first, taken] = seeds.take(free);
      open = taken > 0;
      if (!open) break;
      seeds_.place(first, taken, *block);
      free -= static_cast<int>(taken);
    }
    if (block->size() == 0) return;
    if (steps && block->seeks(step) && seed_limits_.empty()) {
      block->seek(step, max_iter(), method_.steps_after_last_test);
      retire_all(*block, keep, hits);
      continue;
    }
    block->test(method_.test);
    report(0, block->size());
    retire(*block, false, keep, hits);
    if (block->size() == 0) continue;
    if (steps) block->advance(step);
    retire(*block, true, keep, hits);
  }
}

void LockstepSearch::global_phase() {
  std::int64_t count = seeds_.count();
  if (config_.budget.iterations)
    count = std::min(count, *config_.budget.iterations);  // every seed is tested once
  if (config_.budget.evaluations)
    count = std::min(count, tests_within(*config_.budget.evaluations));
  if (options_.replay && options_.replay->global_seeds >= 0)
    count = std::min(count, options_.replay->global_seeds);
  result_.global.resize(static_cast<std::size_t>(count));  // as an earlier session left it
  global_done_.resize(static_cast<std::size_t>(count));
  if (options_.trace) {
    result_.last_rows.resize(static_cast<std::size_t>(count) *
                             static_cast<std::size_t>(attributes_));
  }
  hits_.resize(static_cast<std::size_t>(backend_.concurrency()));
  limit_seeds();
  if (ranks() > 1) leave_to_others(global_done_, 0, count);
  auto const done = std::count(global_done_.begin(), global_done_.end(), 1);
  begin_phase(0, count, done);
  WorkList seeds(global_done_, 0, count);
  int const lanes = backend_.block_lanes(count - done);
  workers_.run(backend_.concurrency(), [&](int worker) {
    global_worker(seeds, lanes, hits_[static_cast<std::size_t>(worker)]);
  });
  share_seeds();
  collect_origins();
}

void LockstepSearch::limit_seeds() {
  if (!options_.replay || options_.replay->local_seeds != 0) return;
  for (StepLimit const& limit : options_.replay->unfinished) {
    seed_limits_.resize(result_.global.size(), max_iter());
    auto const end =
        std::min(limit.first + limit.count, static_cast<std::int64_t>(seed_limits_.size()));
    for (std::int64_t s = limit.first; s < end; ++s) {
      seed_limits_[static_cast<std::size_t>(s)] = static_cast<std::uint32_t>(limit.steps);
      if (limit.steps == 0) global_done_[static_cast<std::size_t>(s)] = 1;
    }
  }
}

void LockstepSearch::note_seeds(LaneBlock const& block) {
  if (!config_.budget.seconds) return;
  for (int lane = 0; lane < block.size(); ++lane) {
    auto const seed = static_cast<std::size_t>(block.seed(lane));
    if (block.iteration(lane) <= result_.global[seed].iterations) continue;
    result_.global[seed].iterations = block.iteration(lane);
    if (options_.trace)
      block.row(lane, &result_.last_rows[seed * static_cast<std::size_t>(attributes_)]);
  }
}

void LockstepSearch::collect_origins() {
  struct Hit {
    std::int32_t const* row;
    std::uint32_t seed;
  };
  std::vector<Hit> hits;
  auto const width = static_cast<std::size_t>(attributes_);
  for (auto const& found : hits_) {
    for (std::size_t i = 0; i < found.seed.size(); ++i)
      hits.push_back({found.rows.data() + i * width, found.seed[i]});
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

void LockstepSearch::cut_global() {
  auto& cut = result_.cut;
  auto const total = static_cast<std::int64_t>(result_.global.size());
  std::int64_t seeds = total;
  std::int64_t const complete =
      std::find(global_done_.begin(), global_done_.end(), 0) - global_done_.begin();
  // What ends a run among seeds that are not all complete does so because the clock ended them.
  auto const limit = [&](std::int64_t count, char const* reason) {
    if (count >= seeds && !(count == seeds && *cut.reason == '\0')) return;
    seeds = std::min(seeds, count);
    cut.reason = count <= complete ? reason : kSeconds;
    cut.local_seeds = 0;
  };
  bool const repeats = options_.replay && options_.replay->local_seeds == 0;
  if (repeats) limit(options_.replay->global_seeds, options_.replay->reason);
  if (complete < total || job_.late()) {
    std::int64_t begun = total;
    while (begun > 0 && result_.global[static_cast<std::size_t>(begun - 1)].iterations == 0)
      --begun;
    limit(begun, kSeconds);
  }
  if (config_.budget.iterations) {
    std::int64_t tests = 0;
    for (std::int64_t s = 0; s < seeds; ++s) {
      tests += result_.global[static_cast<std::size_t>(s)].iterations;
      if (tests >= *config_.budget.iterations) limit(s + 1, "iterations");
    }
  }
  if (config_.budget.evaluations) {
    double evaluations = 0.0;
    for (std::int64_t s = 0; s < seeds; ++s) {
      evaluations += seed_evaluations(result_.global[static_cast<std::size_t>(s)]);
      if (evaluations >= static_cast<double>(*config_.budget.evaluations))
        limit(s + 1, "evaluations");
    }
  }
  if (config_.budget.instances) {
    if (auto const finder = nth_instance(*config_.budget.instances))
      limit(static_cast<std::int64_t>(Finder::seed(*finder)) + 1, "instances");
  }
  if (cut.local_seeds == 0) {
    cut.global_seeds = seeds;
    if (repeats) {
      cut.unfinished = options_.replay->unfinished;
    } else {
      std::vector<std::uint32_t> tests;
      for (std::int64_t s = 0; s < seeds; ++s)
        tests.push_back(result_.global[static_cast<std::size_t>(s)].iterations);
      cut.unfinished = step_limits({global_done_.data(), tests.size()}, tests);
    }
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

}  // namespace fairlane
