// The steps around the global IDIs, and where a budget ends them.
#include <algorithm>
#include <numeric>

#include "engine/search/genetic/grft_task.h"

namespace fairlane {

GrftSearch::End GrftSearch::known_end() const {
  End end{origins(), ""};
  auto const limit = [&](std::int64_t count, char const* reason) {
    if (count <= end.origins) end = {count, reason};
  };
  limit(divided_up(std::max<std::int64_t>(tests_budget_ - tests(), 0), config_.local.num),
        tests_reason_);
  if (repeats_local()) limit(options_.replay->local_seeds, options_.replay->reason);
  return end;
}

bool GrftSearch::run_origins(std::int64_t end) {
  while (true) {
    bool const late = between_rounds();
    bool const ended = points_.empty();
    if (late || (ended && (origins_begun() >= end || has_instances()))) return late;
    if (ended) start_origins(end);
    take_step();
  }
}

std::int64_t GrftSearch::origins_for_instances() {
  if (!config_.budget.instances) return -1;
  auto const nth = nth_instance(*config_.budget.instances);
  if (!nth || Finder::phase(*nth) != Phase::kLocal) return -1;
  return static_cast<std::int64_t>(Finder::seed(*nth)) + 1;
}

void GrftSearch::local_phase() {
  End end = known_end();
  begin_phase(1, end.origins, origins_begun() - wave_origins());
  bool const late = run_origins(end.origins);
  std::int64_t const complete = origins_begun() - wave_origins();
  if (late && complete < end.origins) end = {std::min(origins_begun(), end.origins), kClock};
  std::int64_t const met = origins_for_instances();
  if (met >= 0 && met <= end.origins) end = {met, met <= complete ? "instances" : kClock};
  if (repeats_local()) end.reason = options_.replay->reason;
  if (*end.reason != '\0') cut_local(end);
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

std::vector<std::int32_t> GrftSearch::stepped_rows(std::size_t stepped, std::int64_t by) {
  constexpr std::int64_t kAtOnce = 1024;
  std::int64_t const n = wave_origins();
  std::size_t const movable = places_.count();
  auto const first = static_cast<std::size_t>(origins_begun() - n) * attributes_;
  std::vector<std::int32_t> rows(
      origin_rows_.begin() + static_cast<std::ptrdiff_t>(first),
      origin_rows_.begin() +
          static_cast<std::ptrdiff_t>(first + static_cast<std::size_t>(n) * attributes_));
  in_parallel(n, kAtOnce, [&](std::int64_t begin, std::int64_t count) {
    for (auto i = static_cast<std::size_t>(begin); count > 0; ++i, --count) {
      for (std::size_t m = 0; m < movable; ++m) {
        std::int64_t const place = points_[i * movable + m] + (m == stepped ? by : 0);
        places_.set_clipped(m, place, &rows[i * attributes_]);
      }
    }
  });
  return rows;
}

void GrftSearch::take_step() {
  std::int64_t const n = wave_origins();
  std::int64_t const first = origins_begun() - n;
  std::uint32_t const step = steps_.back() + 1;
  GrftMove const move = grft_move(places_, step, config_.seed);
  auto const by = move.direction * static_cast<std::int64_t>(config_.local.step);
  std::vector<std::uint32_t> numbers(static_cast<std::size_t>(n));
  std::iota(numbers.begin(), numbers.end(), static_cast<std::uint32_t>(first));
  std::vector<std::int32_t> const rows = stepped_rows(move.movable, by);
  std::vector<std::uint8_t> hits(numbers.size());
  local_tests_.test(pool_, numbers, rows.data(), hits.data());
  for (std::size_t i = 0; i < hits.size(); ++i)
    if (hits[i] != 0) points_[i * places_.count() + move.movable] += by;
  std::fill(steps_.begin() + first, steps_.end(), step);
  bool const ends = step >= most_steps(first);
  if (ends) points_.clear();
  report(ends ? n : 0, n);
}

void GrftSearch::cut_local(End const& end) {
  auto& cut = result_.cut;
  std::int64_t const counted = end.origins;
  cut.reason = end.reason;
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
