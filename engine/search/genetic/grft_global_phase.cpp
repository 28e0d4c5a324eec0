// The populations of the seeds, and where a budget ends them.
#include <algorithm>
#include <compare>
#include <numeric>

#include "engine/search/genetic/grft_task.h"

namespace fairlane {

std::int64_t GrftSearch::most_tests(std::int64_t seed) const {
  std::int64_t const most = config_.global.max_iter * kPopulation;
  if (!repeats_global()) return most;
  return common_limit(options_.replay->unfinished, seed, seed + 1, most).steps;
}

void GrftSearch::global_phase() {
  std::int64_t total = std::min(seeds_.count(), divided_up(tests_budget_, kPopulation));
  if (options_.replay && options_.replay->global_seeds >= 0)
    total = std::min(total, options_.replay->global_seeds);
  begin_phase(0, total, seeds_begun() - static_cast<std::int64_t>(wave_.seeds.size()));
  while (!between_rounds()) {
    if (wave_.seeds.empty()) {
      if (seeds_begun() >= total || tests() >= tests_budget_ || has_instances()) break;
      start_seeds(total);
    }
    run_generation();
  }
  collect_origins();
}

void GrftSearch::start_seeds(std::int64_t end) {
  std::int64_t const first = seeds_begun();
  std::int64_t const left = end - first;
  constexpr std::int64_t kNameableSeeds = std::int64_t{1} << 32;  // by finders
  std::int64_t const rows_left = std::min(left, kNameableSeeds) * kPopulation;
  std::int64_t const together = std::max<std::int64_t>(1, rows_at_once(rows_left) / kPopulation);
  std::int64_t const n = std::min(left, together);
  result_.global.resize(static_cast<std::size_t>(first + n));
  if (options_.trace) result_.last_rows.resize(result_.global.size() * attributes_);
  wave_.seeds.resize(static_cast<std::size_t>(n));
  std::iota(wave_.seeds.begin(), wave_.seeds.end(), static_cast<std::uint32_t>(first));
  std::vector<std::int32_t> rows(static_cast<std::size_t>(n) * attributes_);
  seeds_.rows(first, n, rows.data());
  wave_.rows.resize(rows.size() * kGrftPopulation);
  in_parallel(n, 1, [&](std::int64_t i, std::int64_t) {
    auto const at = static_cast<std::size_t>(i);
    grft_first_population(places_, {wave_.seeds[at], 0, config_.seed}, &rows[at * attributes_],
                          &wave_.rows[at * kGrftPopulation * attributes_]);
  });
}

void GrftSearch::run_generation() {
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t const seed : wave_.seeds) numbers.insert(numbers.end(), kGrftPopulation, seed);
  std::vector<std::uint8_t> hits(numbers.size());
  global_tests_.test(pool_, numbers, wave_.rows.data(), hits.data());
  Wave next = survivors(hits);
  next.rows = bred(next);  // the last that may fail: until here nothing has changed
  for (std::size_t p = 0; p < wave_.seeds.size(); ++p) take_outcome(p, &hits[p * kGrftPopulation]);
  report(static_cast<std::int64_t>(wave_.seeds.size() - next.seeds.size()),
         static_cast<std::int64_t>(numbers.size()));
  wave_ = std::move(next);
}

GrftSearch::Wave GrftSearch::survivors(std::span<std::uint8_t const> hits) const {
  std::size_t const each = kGrftPopulation * attributes_;
  Wave wave;
  for (std::size_t p = 0; p < wave_.seeds.size(); ++p) {
    std::uint32_t const seed = wave_.seeds[p];
    auto const tested = hits.subspan(p * kGrftPopulation, kGrftPopulation);
    bool const found = std::ranges::count(tested, std::uint8_t{1}) > 0;
    if (found || result_.global[seed].iterations + kPopulation >= most_tests(seed)) continue;
    wave.seeds.push_back(seed);
    auto const rows = std::span(wave_.rows).subspan(p * each, each);
    wave.rows.insert(wave.rows.end(), rows.begin(), rows.end());
  }
  return wave;
}

void GrftSearch::take_outcome(std::size_t population, std::uint8_t const* hits) {
  std::uint32_t const seed = wave_.seeds[population];
  std::int32_t const* const rows = &wave_.rows[population * kGrftPopulation * attributes_];
  auto& outcome = result_.global[seed];
  outcome.iterations += kGrftPopulation;
  std::size_t last = kGrftPopulation - 1;
  for (std::size_t i = 0; i < kGrftPopulation; ++i) {
    if (hits[i] == 0) continue;
    if (!outcome.found) last = i;
    outcome.found = true;
    hit_seeds_.push_back(seed);
    hit_rows_.insert(hit_rows_.end(), rows + i * attributes_, rows + (i + 1) * attributes_);
  }
  if (options_.trace)
    std::copy_n(rows + last * attributes_, attributes_, &result_.last_rows[seed * attributes_]);
}

std::vector<std::int32_t> GrftSearch::bred(Wave const& wave) {
  auto const populations = static_cast<std::int64_t>(wave.seeds.size());
  std::vector<float> fitness(wave.seeds.size() * kGrftPopulation);
  std::vector<std::int32_t> next(wave.rows.size());
  constexpr auto kMost = static_cast<std::int64_t>(kDescribedAtOnce) / kPopulation;
  std::int64_t const piece = std::clamp<std::int64_t>(populations / threads_, 1, kMost);
  in_parallel(populations, piece, [&](std::int64_t first, std::int64_t n) {
    auto const begin = static_cast<std::size_t>(first * kPopulation);
    auto const rows = static_cast<std::size_t>(n * kPopulation);
    grft_fitness(places_.subject(), backend_, {&wave.rows[begin * attributes_], rows * attributes_},
                 &fitness[begin]);
    for (std::size_t at = begin; at < begin + rows; at += kGrftPopulation) {
      std::uint32_t const seed = wave.seeds[at / kGrftPopulation];
      std::uint32_t const generation = result_.global[seed].iterations / kGrftPopulation + 1;
      grft_breed(places_, {seed, generation, config_.seed}, &wave.rows[at * attributes_],
                 &fitness[at], &next[at * attributes_]);
    }
  });
  return next;
}

std::int64_t GrftSearch::seeds_with(std::int64_t tests) const {
  std::int64_t seeds = 0;
  for (auto const& outcome : result_.global) {
    if (tests <= 0) break;
    tests -= outcome.iterations;
    ++seeds;
  }
  return tests <= 0 ? seeds : seeds + 1;
}

void GrftSearch::cut_global() {
  auto& cut = result_.cut;
  std::int64_t seeds = seeds_begun();
  std::int64_t const complete =
      wave_.seeds.empty() ? seeds : static_cast<std::int64_t>(wave_.seeds.front());
  // What ends a run among seeds that are not all complete does so because the clock ended them.
  auto const limit = [&](std::int64_t count, char const* reason) {
    if (count > seeds || (count == seeds && *cut.reason != '\0')) return;
    seeds = count;
    cut.reason = count <= complete ? reason : kClock;
    cut.local_seeds = 0;
  };
  if (repeats_global()) limit(options_.replay->global_seeds, options_.replay->reason);
  if (steps_.empty() && job_.late()) limit(seeds_begun(), kClock);
  limit(seeds_with(tests_budget_), tests_reason_);
  if (config_.budget.instances) {
    if (auto const last = nth_instance(*config_.budget.instances))
      limit(static_cast<std::int64_t>(Finder::seed(*last)) + 1, "instances");
  }
  if (cut.local_seeds != 0) {
    bool const few = config_.budget.seeds && seeds_.count() == *config_.budget.seeds &&
                     *config_.budget.seeds < config_.global.num;
    if (few) cut.reason = "seeds";
    return;
  }
  end_behind(seeds);
}

void GrftSearch::end_behind(std::int64_t seeds) {
  auto const first_beyond = static_cast<std::uint32_t>(seeds);
  auto& cut = result_.cut;
  cut.global_seeds = seeds;
  cut.finder = Finder::pack(Phase::kGlobal, first_beyond, 0);
  auto const drop = [&](std::vector<std::uint32_t>& ascending) {
    ascending.erase(std::lower_bound(ascending.begin(), ascending.end(), first_beyond),
                    ascending.end());
  };
  drop(origin_seeds_);
  drop(wave_.seeds);
  wave_.rows.resize(wave_.seeds.size() * kGrftPopulation * attributes_);
  result_.global.resize(static_cast<std::size_t>(seeds));
  if (options_.trace) result_.last_rows.resize(result_.global.size() * attributes_);
  if (repeats_global()) {
    cut.unfinished = options_.replay->unfinished;
    return;
  }
  std::vector<std::uint8_t> ended(result_.global.size(), 1);
  for (std::uint32_t const seed : wave_.seeds) ended[seed] = 0;
  std::vector<std::uint32_t> tests;
  for (auto const& outcome : result_.global) tests.push_back(outcome.iterations);
  cut.unfinished = step_limits(ended, tests);
}

void GrftSearch::collect_origins() {
  auto const row = [&](std::size_t hit) {
    return std::span(hit_rows_).subspan(hit * attributes_, attributes_);
  };
  auto const compare = [&](std::size_t a, std::size_t b) {
    auto const x = row(a);
    auto const y = row(b);
    return std::lexicographical_compare_three_way(x.begin(), x.end(), y.begin(), y.end());
  };
  std::vector<std::size_t> hits(hit_seeds_.size());
  std::iota(hits.begin(), hits.end(), std::size_t{0});
  std::sort(hits.begin(), hits.end(), [&](std::size_t a, std::size_t b) {
    auto const order = compare(a, b);
    return order != 0 ? order < 0 : hit_seeds_[a] < hit_seeds_[b];
  });
  auto const same = [&](std::size_t a, std::size_t b) { return compare(a, b) == 0; };
  hits.erase(std::unique(hits.begin(), hits.end(), same), hits.end());
  std::stable_sort(hits.begin(), hits.end(),
                   [&](std::size_t a, std::size_t b) { return hit_seeds_[a] < hit_seeds_[b]; });
  for (std::size_t const hit : hits) {
    origin_seeds_.push_back(hit_seeds_[hit]);
    origin_rows_.insert(origin_rows_.end(), row(hit).begin(), row(hit).end());
  }
}

}  // namespace fairlane
