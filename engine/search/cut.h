// Where a run ends, so that it can be repeated.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace fairlane {

/// Seeds or origins first .. first + count - 1 take at most so many steps (tests in the global
/// phase).
struct StepLimit {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t steps = 0;
  bool operator==(StepLimit const&) const = default;
};

/// Where a run ended: what counts is a function of this alone. The budgets that count something end
/// a run behind a seed or an origin, in canonical order; the clock ends it where it finds it, and
/// all that was done counts.
struct Cut {
  std::uint64_t finder =
      std::numeric_limits<std::uint64_t>::max();  // first finder that does not count
  std::int64_t global_seeds = -1;                 // seeds of the global phase, -1: all
  std::int64_t local_seeds = -1;                  // origins of the local phase, -1: all
  char const* reason =
      "";  // the budget that ended the run: seeds, iterations, evaluations, instances, seconds
  std::vector<StepLimit> unfinished;  // ascending; of the phase in which the clock ended the run
};

/// The limits that repeat items [0, end): as many steps as they have done.
/// done [end]   1 where an item needs no more
/// steps [end]  that each has done
std::vector<StepLimit> step_limits(std::span<std::uint8_t const> done,
                                   std::span<std::uint32_t const> steps);

/// The items from `first` on, before `end`, that share one limit; `most` where there is none.
StepLimit common_limit(std::span<StepLimit const> limits, std::int64_t first, std::int64_t end,
                       std::int64_t most);

}  // namespace fairlane
