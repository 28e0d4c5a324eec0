// Random search: inputs are drawn and tested, without duplicates.

#include <algorithm>
#include <limits>
#include <numeric>

#include "engine/lockstep_search.h"
#include "engine/workers.h"

namespace fairlane {

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

}  // namespace fairlane
