// Random search: inputs are drawn and tested, without duplicates.
#include "engine/search/lockstep/lockstep_search.h"

#include <algorithm>
#include <limits>

namespace fairlane {

void LockstepSearch::random_round(std::int64_t first_draw, std::int64_t end) {
  global_done_.resize(static_cast<std::size_t>(end), 0);
  std::atomic<std::int64_t> next{first_draw};
  int const wanted_lanes = backend_.block_lanes(end - first_draw);
  workers_.run(backend_.concurrency(), [&](int) {
    auto const block = backend_.make_block(wanted_lanes, Phase::kGlobal);
    int const lanes = block->capacity();
    std::vector<std::uint8_t> const none(static_cast<std::size_t>(lanes), 0);
    while (!job_.late()) {
      check_stop([] {});
      std::int64_t const first = next.fetch_add(lanes);
      std::int64_t const taken = std::clamp<std::int64_t>(end - first, 0, lanes);
      if (taken == 0) return;
      seeds_.place(first, taken, *block);
      block->test(method_.test);
      std::fill_n(global_done_.begin() + first, taken, std::uint8_t{1});
      report(taken, taken);
      block->retain({none.data(), static_cast<std::size_t>(taken)});
    }
  });
  if (backend_.overflowed()) {
    throw Error(ExitCode::kMemory, "the record of visited inputs is full at " +
                                       std::to_string(backend_.visited()) +
                                       " inputs, but a random search without duplicates needs all "
                                       "of them in memory; lower global.num");
  }
}

void LockstepSearch::random_phase() {
  // Draws go on until enough distinct inputs were tested; those after the last one needed do not
  // count, so that it does not matter how many are drawn at a time.
  double const domain = backend_.subject().keys().groups * backend_.subject().get().variants;
  std::int64_t wanted = seeds_.count();
  auto& cut = result_.cut;
  if (config_.budget.seeds && *config_.budget.seeds < config_.global.num) cut.reason = "seeds";
  if (config_.budget.iterations && *config_.budget.iterations < wanted) {
    wanted = *config_.budget.iterations;
    cut.reason = "iterations";
  }
  if (config_.budget.evaluations && tests_within(*config_.budget.evaluations) <= wanted) {
    wanted = tests_within(*config_.budget.evaluations);
    cut.reason = "evaluations";
  }
  if (domain < static_cast<double>(wanted)) {
    wanted = static_cast<std::int64_t>(domain);
    cut.reason = "";
  }
  begin_phase(0, wanted);
  constexpr std::int64_t kMostDraws = std::numeric_limits<std::uint32_t>::max();
  constexpr std::int64_t kLeastDraws = 1024;      // in a round, for each thread
  constexpr std::int64_t kDrawsAtOnce = 1 << 24;  // the clock may end a run long before global.num
  // A run that the clock ended is repeated by as many draws.
  bool const repeats = options_.replay && options_.replay->global_seeds >= 0;
  std::int64_t most = repeats ? options_.replay->global_seeds : kMostDraws;
  if (seeds_.fixed()) most = std::min(most, seeds_.count());
  std::int64_t drawn = 0;
  bool timed_out = false;
  while (static_cast<std::int64_t>(backend_.visited()) < wanted && drawn < most && !timed_out) {
    std::int64_t const missing = wanted - static_cast<std::int64_t>(backend_.visited());
    std::int64_t const enough = std::max(missing, kLeastDraws * backend_.concurrency());
    std::int64_t const end = std::min(most, drawn + std::min(enough, kDrawsAtOnce));
    random_round(drawn, end);
    auto const open = std::find(global_done_.begin() + drawn, global_done_.end(), 0);
    drawn = open - global_done_.begin();
    timed_out = drawn < end;
  }
  if (drawn == kMostDraws && static_cast<std::int64_t>(backend_.visited()) < wanted) {
    throw Error(ExitCode::kConfig, "global.num: 2^32 draws do not give " + std::to_string(wanted) +
                                       " distinct inputs; expected fewer than the domain holds");
  }

  std::uint64_t last = Finder::pack(Phase::kGlobal, static_cast<std::uint32_t>(drawn), 0);
  std::vector<std::uint64_t> tested;
  std::vector<std::uint64_t> hits;
  backend_.collect([&](Visits const& visits) {
    for (std::size_t i = 0; i < visits.count; ++i) {
      if (visits.finder[i] >= last) continue;
      tested.push_back(visits.finder[i]);
      if ((visits.state[i] & kVisitHit) != 0) hits.push_back(visits.finder[i]);
    }
  });
  auto const end_after = [&](std::vector<std::uint64_t>& finders, std::int64_t count) {
    auto const nth = finders.begin() + (count - 1);
    std::nth_element(finders.begin(), nth, finders.end());
    last = std::min(last, Finder::pack(Phase::kGlobal, Finder::seed(*nth) + 1, 0));
  };
  bool const enough = static_cast<std::int64_t>(tested.size()) >= wanted;
  if (enough && wanted > 0) end_after(tested, wanted);
  auto const instances = config_.budget.instances.value_or(0);
  bool const found = instances > 0 && static_cast<std::int64_t>(hits.size()) >= instances;
  std::uint64_t const before = last;
  if (found) end_after(hits, instances);
  if (last < before) {
    cut.reason = "instances";
  } else if (!enough && (timed_out || repeats)) {
    cut.reason = repeats ? options_.replay->reason : "seconds";
  } else if (!enough) {
    cut.reason = "";  // the table of seeds has no more
  }
  cut.finder = last;
  cut.global_seeds = static_cast<std::int64_t>(Finder::seed(last));
  cut.local_seeds = 0;

  result_.global.resize(static_cast<std::size_t>(cut.global_seeds));
  for (std::uint64_t const finder : tested) {
    if (finder >= last) continue;
    ++result_.counts.iterations;
    result_.global[Finder::seed(finder)].iterations = 1;
  }
  for (std::uint64_t const finder : hits) {
    if (finder < last) result_.global[Finder::seed(finder)].found = true;
  }
  if (options_.trace) {
    result_.last_rows.resize(static_cast<std::size_t>(cut.global_seeds) *
                             static_cast<std::size_t>(attributes_));
    seeds_.rows(0, cut.global_seeds, result_.last_rows.data());
  }
}

}  // namespace fairlane
