// What is saved of a lockstep search: finished seeds and origins with what counts of them, and
// every visit. Lanes on their way are not: they run again, and since the record keeps the least
// finder of an input, visits made twice change nothing. Where a clock may end the search before
// they have come as far again, it is saved how far they were, since their visits count.
#include "engine/search/lockstep/lockstep_search.h"

#include <fmt/format.h>

#include <algorithm>

namespace fairlane {
namespace {

// Sections of the state, beside the visits.
constexpr char const* kTests = "seed.tests";          // uint32 [seeds], 0: not finished
constexpr char const* kBegun = "seed.begun";          // uint32 [seeds] tests of those not finished
constexpr char const* kLastRows = "seed.last_row";    // int32 [seeds][attributes] when tracing
constexpr char const* kHitSeeds = "hit.seed";         // uint32 [hits]
constexpr char const* kHitRows = "hit.row";           // int32 [hits][attributes]
constexpr char const* kDone = "origin.done";          // uint8 [origins]
constexpr char const* kSteps = "origin.steps";        // uint32 [origins]
constexpr char const* kRenewals = "origin.renewals";  // uint32 [origins]
constexpr char const* kDown = "adaptation.down";      // int32 [movable], AEQUITAS: StepAdaptation
constexpr char const* kShare = "adaptation.share";    // double [movable]

}  // namespace

std::string LockstepSearch::done() const {
  auto const share = [](std::vector<std::uint8_t> const& done, char const* what) {
    return fmt::format("{} of {} {}", std::count(done.begin(), done.end(), 1), done.size(), what);
  };
  return local_done_.empty() ? share(global_done_, "seeds") : share(local_done_, "origins");
}

void LockstepSearch::write_state(CheckpointWriter& state) {
  std::vector<std::uint32_t> tests(global_done_.size());
  std::vector<std::uint32_t> begun(global_done_.size());
  for (std::size_t s = 0; s < tests.size(); ++s)
    (global_done_[s] != 0 ? tests : begun)[s] = result_.global[s].iterations;
  state.add(kTests, tests);
  state.add(kBegun, begun);
  state.add(kLastRows, result_.last_rows);
  state.section(kHitSeeds);
  for (auto const& hits : hits_) state.write(hits.seed);
  state.section(kHitRows);
  for (auto const& hits : hits_) state.write(hits.rows);
  state.add(kDone, local_done_);
  state.add(kSteps, steps_);
  state.add(kRenewals, renewals_);
  if (adaptation_) {
    state.add(kDown, adaptation_->down());
    state.add(kShare, adaptation_->share());
  }
  if (frontier_) {
    frontier_->plan(frontier_threads());
    frontier_->write(state);
  }
  write_visits(state);
}

void LockstepSearch::read_state(CheckpointReader const& state) {
  for (std::uint32_t const tests : state.values<std::uint32_t>(kTests)) {
    result_.global.push_back({false, tests});
    global_done_.push_back(tests != 0 ? 1 : 0);
  }
  auto const begun = state.values<std::uint32_t>(kBegun);
  for (std::size_t s = 0; s < begun.size(); ++s)
    if (global_done_.at(s) == 0) result_.global[s].iterations = begun[s];
  result_.last_rows = state.values<std::int32_t>(kLastRows);
  hits_.push_back({state.values<std::uint32_t>(kHitSeeds), state.values<std::int32_t>(kHitRows)});
  for (std::uint32_t const seed : hits_[0].seed) result_.global.at(seed).found = true;
  local_done_ = state.values<std::uint8_t>(kDone);
  steps_ = state.values<std::uint32_t>(kSteps);
  renewals_ = state.values<std::uint32_t>(kRenewals);
  if (method_.frontier) {
    new_frontier();
    if (!frontier_->read(state, frontier_threads())) frontier_.reset();
  }
  if (state.size(kShare) > 0) {
    adaptation_.emplace(new_adaptation());
    adaptation_->restore(state.values<std::int32_t>(kDown), state.values<double>(kShare));
  }
  read_visits(state);
}

}  // namespace fairlane
