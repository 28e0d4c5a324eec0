// The steps around the global IDIs, and where a budget ends them.
#include <algorithm>
#include <numeric>

#include "engine/search/genetic/grft_task.h"

namespace fairlane {

std::int64_t GrftSearch::origins_within(std::int64_t budget, std::int64_t each_test) const {
  std::int64_t const left =
      std::max<std::int64_t>(budget / each_test - tests(), 0) + (budget % each_test != 0 ? 1 : 0);
  return left / config_.local.num + (left % config_.local.num != 0 ? 1 : 0);
}

void GrftSearch::local_phase() {
  std::int64_t last = origins();
  char const* reason = "";
  auto const limit = [&](std::int64_t count, char const* why) {
    if (count > last) return;
    last = count;
    reason = why;
  };
  auto const& budget = config_.budget;
  if (budget.iterations) limit(origins_within(*budget.iterations, 1), "iterations");
  if (budget.evaluations) limit(origins_within(*budget.evaluations, variants()), "evaluations");
  if (options_.replay && options_.replay->local_seeds >= 0)
    limit(options_.replay->local_seeds, options_.replay->reason);
  auto const enough = [&] {
    return budget.instances && static_cast<std::int64_t>(backend_.instances()) >= *budget.instances;
  };
  begin_phase(1, last, origins_begun() - wave_origins());
  bool late = false;
  while (true) {
    late = between_rounds();
    bool const ended = points_.empty();
    if (late || (ended && (origins_begun() >= last || enough()))) break;
    if (ended) start_origins(last);
    take_step();
  }
  std::int64_t counted = std::min(origins_begun(), last);
  std::int64_t const complete = origins_begun() - wave_origins();
  if (late && complete < last) reason = kClock;
  if (budget.instances) {
    auto const nth = nth_instance(*budget.instances);
    if (nth && Finder::phase(*nth) == Phase::kLocal) {
      std::int64_t const met = static_cast<std::int64_t>(Finder::seed(*nth)) + 1;
      if (met <= counted) {
        counted = met;
        reason = met <= complete ? "instances" : kClock;
      }
    }
  }
  if (options_.replay && options_.replay->local_seeds >= 0) reason = options_.replay->reason;
  if (*reason != '\0') cut_local(counted, reason);
}

void GrftSearch::start_origins(std::int64_t end) {
  std::int64_t const first = origins_begun();
  std::int64_t const most = std::min(end, first + rows_at_once(end - first));
  // Those that step together take equally many steps.
  std::int64_t const n = common_limit(local_limits(), first, most, config_.local.num).count;
  steps_.resize(static_cast<std::size_t>(first + n));
  for (std::int64_t origin = first; origin < first + n; ++origin) {
    auto const* const row = &origin_rows_[static_cast<std::size_t>(origin) * attributes_];
    for (std::size_t m = 0; m < places_.count(); ++m) points_.push_back(places_.place(m, row));
  }
}

void GrftSearch::take_step() {
  std::int64_t const n = wave_origins();
  std::int64_t const first = origins_begun() - n;
  auto const begin = static_cast<std::size_t>(first);
  std::size_t const movable = places_.count();
  std::uint32_t const step = steps_[begin] + 1;
  GrftMove const move = grft_move(places_, step, config_.seed);
  auto const by = move.direction * static_cast<std::int64_t>(config_.local.step);
  std::vector<std::uint32_t> numbers(static_cast<std::size_t>(n));
  std::iota(numbers.begin(), numbers.end(), static_cast<std::uint32_t>(first));
  std::vector<std::int32_t> rows(numbers.size() * attributes_);
  std::vector<std::uint8_t> hits(numbers.size());
  constexpr std::int64_t kAtOnce = 1024;
  in_parallel(n, kAtOnce, [&](std::int64_t from, std::int64_t count) {
    for (auto i = static_cast<std::size_t>(from); i < static_cast<std::size_t>(from + count); ++i) {
      std::int32_t* const row = &rows[i * attributes_];
      std::copy_n(&origin_rows_[(begin + i) * attributes_], attributes_, row);
      for (std::size_t m = 0; m < movable; ++m)
        places_.set_clipped(m, points_[i * movable + m] + (m == move.movable ? by : 0), row);
    }
  });
  local_tests_.test(pool_, numbers, rows.data(), hits.data());
  for (std::size_t i = 0; i < hits.size(); ++i)
    if (hits[i] != 0) points_[i * movable + move.movable] += by;
  std::fill(steps_.begin() + first, steps_.end(), step);
  bool const ends = step >= most_steps(first);
  if (ends) points_.clear();
  report(ends ? n : 0, n);
}

void GrftSearch::cut_local(std::int64_t counted, char const* reason) {
  auto& cut = result_.cut;
  cut.reason = reason;
  cut.global_seeds = seeds_begun();
  cut.local_seeds = counted;
  if (options_.replay) {
    cut.unfinished = options_.replay->unfinished;
  } else if (std::int64_t const first = origins_begun() - wave_origins(); first < counted) {
    cut.unfinished = {{first, counted - first, steps_.back()}};
  }
  if (counted == 0) {  // the same as an end after the global phase, which a replay takes it for
    cut.finder = Finder::pack(Phase::kGlobal, static_cast<std::uint32_t>(cut.global_seeds), 0);
  } else if (counted < origins()) {
    cut.finder = Finder::pack(Phase::kLocal, static_cast<std::uint32_t>(counted), 0);
  }
}

}  // namespace fairlane
