// The local phase: more IDIs around each origin, and where a budget ends it.
#include "engine/search/lockstep/lockstep_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fairlane {

namespace {

constexpr double kMostOrigins = 1LL << 32;  // a seed leads to one

}  // namespace

void LockstepSearch::note_steps(std::int64_t origin, std::int64_t steps, std::uint32_t renewals) {
  auto const at = static_cast<std::size_t>(origin);
  if (steps <= steps_[at]) return;
  steps_[at] = static_cast<std::uint32_t>(steps);
  renewals_[at] = renewals;
}

void LockstepSearch::local_worker(WorkList& origins, int wanted_lanes, std::int64_t steps) {
  auto const block = backend_.make_block(wanted_lanes, Phase::kLocal);
  int const lanes = block->capacity();
  LocalStep const step = method_.local_step(method_, config_);
  std::vector<std::uint8_t> none(static_cast<std::size_t>(lanes), 0);
  std::vector<WorkList::Range> placed;
  while (!job_.late()) {
    placed.clear();
    while (block->size() < lanes) {
      auto const range = origins.take(lanes - block->size());
      if (range.count == 0) break;
      auto const at = static_cast<std::size_t>(range.first);
      block->place({origins_.seed.data() + at, static_cast<std::size_t>(range.count)},
                   origins_.rows.data() + at * static_cast<std::size_t>(attributes_));
      placed.push_back(range);
    }
    int const count = block->size();
    if (count == 0) return;
    block->begin(step);
    std::int64_t taken = 0;
    auto const note = [&] {
      int lane = 0;
      for (auto const& range : placed) {
        for (std::int64_t origin = range.first; origin < range.first + range.count; ++origin)
          note_steps(origin, taken, block->renewals(lane++));
      }
    };
    auto const note_on_the_way = [&] {
      if (config_.budget.seconds && taken > 0) note();
    };
    while (taken < steps) {
      if (between_rounds(note_on_the_way)) return;
      auto const rounds =
          static_cast<int>(std::min<std::int64_t>(steps - taken, block->rounds_at_once()));
      block->step(step, rounds);
      taken += rounds;
      report(0, std::int64_t{count} * rounds);
    }
    note();
    for (auto const& range : placed)
      std::fill_n(local_done_.begin() + range.first, range.count, std::uint8_t{1});
    block->retain({none.data(), static_cast<std::size_t>(count)});
    report(count, 0);
  }
}

void LockstepSearch::search_around(std::int64_t begin, std::int64_t end) {
  while (begin < end && !job_.late()) {
    StepLimit const same = common_limit(origin_limits(), begin, end, config_.local.num);
    std::int64_t last = begin + same.count;
    if (adaptive()) {  // of a population that another budget has cut, too, all lanes step
      std::int64_t const lanes = config_.aequitas.lanes;
      last = std::min(end, (last + lanes - 1) / lanes * lanes);
    }
    if (same.steps == 0) {
      std::fill_n(local_done_.begin() + begin, same.count, std::uint8_t{1});
    } else if (adaptive()) {
      adaptive_local(begin, last, same.steps);
    } else {
      if (ranks() > 1) leave_to_others(local_done_, begin, last);
      WorkList origins(local_done_, begin, last);
      int const lanes = backend_.block_lanes(
          std::count(local_done_.begin() + begin, local_done_.begin() + last, 0));
      workers_.run(backend_.concurrency(), [&](int) { local_worker(origins, lanes, same.steps); });
      share_origins(begin, last);
    }
    begin = last;
  }
}

void LockstepSearch::local_phase() {
  auto const total = static_cast<std::int64_t>(origins_.seed.size());
  std::int64_t last = total;
  char const* reason = "";
  if (config_.budget.iterations) {
    std::int64_t const left = iterations_left();
    std::int64_t const origins = left / config_.local.num + (left % config_.local.num != 0 ? 1 : 0);
    if (origins <= last) {
      last = origins;
      reason = "iterations";
    }
  }
  if (config_.budget.evaluations) {  // it lasts for fewer origins where they renew gradients
    double const most = std::ceil(evaluations_left(0) / origin_evaluations(config_.local.num, 0.0));
    last = static_cast<std::int64_t>(std::min(static_cast<double>(last), most));
  }
  bool const repeats = options_.replay && options_.replay->local_seeds >= 0;
  if (repeats) last = std::min(last, options_.replay->local_seeds);
  local_done_.resize(static_cast<std::size_t>(total));  // as an earlier session left it
  steps_.resize(static_cast<std::size_t>(total));
  renewals_.resize(static_cast<std::size_t>(total));
  // A population steps whole, though not all of it may count: what its lanes learn from each other
  // is the same.
  std::int64_t const together = adaptive() ? config_.aequitas.lanes : 1;
  auto const whole = [&](std::int64_t origins) {
    return std::min(total, (origins + together - 1) / together * together);
  };
  std::int64_t const stepping = whole(last);
  auto const resumed = std::count(local_done_.begin(), local_done_.begin() + stepping, 1);
  begin_phase(1, stepping, resumed);
  if (adaptive() && !adaptation_) adaptation_.emplace(new_adaptation());
  // Somewhat less than half of the local steps lead to new inputs.
  constexpr double kNewInputsPerStep = 0.45;
  if (!config_.budget.instances && !config_.budget.seconds) {
    backend_.reserve(static_cast<double>(backend_.visited()) +
                     kNewInputsPerStep * static_cast<double>(stepping - resumed) *
                         static_cast<double>(config_.local.num) / ranks());
  }
  std::int64_t done = adaptive() ? resumed : 0;  // populations end one after the other
  std::int64_t wave = stepping;
  if (config_.budget.instances)
    wave = static_cast<std::int64_t>(backend_.concurrency()) * backend_.block_lanes(last);
  while (done < last) {
    std::int64_t now = wave;
    if (config_.budget.evaluations) now = std::min(now, evaluations_wave(done));
    std::int64_t const end = std::min(stepping, whole(done + now));
    search_around(done, end);
    done = std::find(local_done_.begin(), local_done_.begin() + end, 0) - local_done_.begin();
    if (std::int64_t const enough = origins_for_budgets(done, reason); enough >= 0) {
      done = enough;
      break;
    }
    if (config_.budget.instances) wave += wave / 2;  // each count scans the whole table
    if (done < end || job_.late()) {
      if (done >= last) break;
      // What the clock has left unfinished counts as well, up to where another budget ends it.
      done = last;
      while (done > 0 && steps_[static_cast<std::size_t>(done - 1)] == 0) --done;
      std::int64_t const enough = origins_for_budgets(done, reason);
      if (enough >= 0) done = enough;
      reason = "seconds";
      break;
    }
  }
  done = std::min(done, last);
  local_counted_ = done;
  if (repeats) reason = options_.replay->reason;
  if (*reason == '\0' && done == total) return;
  result_.cut.reason = reason;
  cut_local(done);
}

std::int64_t LockstepSearch::origins_for_budgets(std::int64_t done, char const*& reason) {
  std::int64_t enough = -1;
  auto const reached = [&](std::int64_t after, char const* budget) {
    if (after < 0 || (enough >= 0 && after >= enough)) return;
    enough = after;
    reason = budget;
  };
  if (config_.budget.evaluations) reached(origins_for_evaluations(done), "evaluations");
  if (config_.budget.iterations && method_.frontier)
    reached(origins_for_iterations(done), "iterations");
  if (config_.budget.instances) reached(origins_for_instances(done), "instances");
  return enough;
}

double LockstepSearch::evaluations_left(std::int64_t origins) const {
  auto left = static_cast<double>(*config_.budget.evaluations);
  for (auto const& outcome : result_.global) left -= seed_evaluations(outcome);
  for (std::int64_t i = 0; i < origins; ++i) left -= origin_evaluations(i);
  return left;
}

std::int64_t LockstepSearch::evaluations_wave(std::int64_t done) const {
  // Those that it lasts for at the least; then a few, of which the last ones may not count.
  constexpr std::int64_t kLeastWave = 64;  // for each thread
  double const most_each =
      origin_evaluations(config_.local.num, static_cast<double>(config_.local.num));
  double const certain = std::min(evaluations_left(done) / most_each, kMostOrigins);
  return std::max(static_cast<std::int64_t>(certain), kLeastWave * threads_of_all_);
}

std::int64_t LockstepSearch::origins_for_evaluations(std::int64_t done) const {
  double left = evaluations_left(0);
  for (std::int64_t i = 0; i < done; ++i) {
    left -= origin_evaluations(i);
    if (left <= 0.0) return i + 1;
  }
  return -1;
}

std::int64_t LockstepSearch::iterations_left() const {
  if (!config_.budget.iterations) return std::numeric_limits<std::int64_t>::max();
  std::int64_t left = *config_.budget.iterations;
  for (auto const& outcome : result_.global) left -= outcome.iterations;
  return left;
}

std::int64_t LockstepSearch::origins_for_iterations(std::int64_t done) const {
  std::int64_t left = iterations_left();
  for (std::int64_t i = 0; i < done; ++i) {
    left -= steps_[static_cast<std::size_t>(i)];
    if (left <= 0) return i + 1;
  }
  return -1;
}

std::int64_t LockstepSearch::origins_for_instances(std::int64_t done) {
  auto const nth = nth_instance(*config_.budget.instances);
  if (!nth) return -1;
  std::uint64_t const finder = *nth;
  if (Finder::phase(finder) == Phase::kLocal && method_.frontier) return Finder::seed(finder) + 1;
  auto const end = origins_.seed.begin() + done;
  auto const origin = std::lower_bound(origins_.seed.begin(), end, Finder::seed(finder));
  // Found by an origin that is not complete: earlier ones may still find as many.
  if (Finder::phase(finder) != Phase::kLocal || origin == end || *origin != Finder::seed(finder))
    return -1;
  return origin - origins_.seed.begin() + 1;
}

void LockstepSearch::cut_local(std::int64_t done) {
  auto& cut = result_.cut;
  auto const counted = static_cast<std::size_t>(done);
  if (options_.replay) {
    cut.unfinished = options_.replay->unfinished;
  } else {
    cut.unfinished = step_limits({local_done_.data(), counted}, {steps_.data(), counted});
  }
  cut.global_seeds = static_cast<std::int64_t>(result_.global.size());
  cut.local_seeds = done;
  if (done == 0) {  // the same as an end after the global phase, which a replay takes it for
    cut.finder = Finder::pack(Phase::kGlobal, static_cast<std::uint32_t>(cut.global_seeds), 0);
  } else if (done < static_cast<std::int64_t>(steps_.size())) {
    cut.finder = Finder::pack(Phase::kLocal, origin_seed(done), 0);
  }
}

}  // namespace fairlane
