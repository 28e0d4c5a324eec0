// What is saved of a search: finished seeds and origins with what counts of them, and every visit. Lanes on their way
// are not: they run again, and since the record keeps the least finder of an input, visits made twice change nothing.

#include "engine/search_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine/lockstep_search.h"
#include "models/text.h"

namespace fairlane {
namespace {

// Sections of the state.
constexpr char const* kSeconds = "seconds";           // double [1] of search so far
constexpr char const* kTests = "seed.tests";          // uint32 [seeds], 0: not finished
constexpr char const* kLastRows = "seed.last_row";    // int32 [seeds][attributes] when tracing
constexpr char const* kHitSeeds = "hit.seed";         // uint32 [hits]
constexpr char const* kHitRows = "hit.row";           // int32 [hits][attributes]
constexpr char const* kDone = "origin.done";          // uint8 [origins]
constexpr char const* kRenewals = "origin.renewals";  // uint32 [origins]
constexpr char const* kDown = "adaptation.down";      // int32 [movable], AEQUITAS: StepAdaptation
constexpr char const* kShare = "adaptation.share";    // double [movable]
constexpr char const* kVisits = "visits";             // uint64 [visits][stride], see Findings

constexpr std::size_t kLongestPath = 4096;
constexpr std::size_t kRecordsAtOnce = std::size_t{1} << 16;

}  // namespace

std::string LockstepSearch::done_so_far() const {
  auto const share = [](std::vector<std::uint8_t> const& done, char const* what) {
    return fmt::format("{} of {} {}", std::count(done.begin(), done.end(), 1), done.size(), what);
  };
  return local_done_.empty() ? share(global_done_, "seeds") : share(local_done_, "origins");
}

void LockstepSearch::save() {
  Saving const& saving = *options_.saving;
  CheckpointWriter state(saving.path, saving.identity);
  state.add(kSeconds, std::vector<double>{clock_.seconds()});
  std::vector<std::uint32_t> tests(global_done_.size());
  for (std::size_t s = 0; s < tests.size(); ++s)
    tests[s] = global_done_[s] != 0 ? result_.global[s].iterations : 0;
  state.add(kTests, tests);
  state.add(kLastRows, result_.last_rows);
  state.section(kHitSeeds);
  for (auto const& hits : hits_) state.write(hits.seed);
  state.section(kHitRows);
  for (auto const& hits : hits_) state.write(hits.rows);
  state.add(kDone, local_done_);
  state.add(kRenewals, renewals_);
  if (adaptation_) {
    state.add(kDown, adaptation_->down());
    state.add(kShare, adaptation_->share());
  }
  write_visits(state, saving, backend_);
  state.commit();
  saved_ = done_so_far();
}

void LockstepSearch::resume() {
  Saving& saving = *options_.saving;
  if (saving.state == nullptr) return;
  CheckpointReader const& state = *saving.state;
  for (double const seconds : state.values<double>(kSeconds)) result_.earlier_seconds = seconds;
  for (std::uint32_t const tests : state.values<std::uint32_t>(kTests)) {
    result_.global.push_back({false, tests});
    global_done_.push_back(tests != 0 ? 1 : 0);
  }
  result_.last_rows = state.values<std::int32_t>(kLastRows);
  hits_.push_back({state.values<std::uint32_t>(kHitSeeds), state.values<std::int32_t>(kHitRows)});
  for (std::uint32_t const seed : hits_[0].seed) result_.global.at(seed).found = true;
  local_done_ = state.values<std::uint8_t>(kDone);
  renewals_ = state.values<std::uint32_t>(kRenewals);
  if (state.size(kShare) > 0) {
    adaptation_.emplace(new_adaptation());
    adaptation_->restore(state.values<std::int32_t>(kDown), state.values<double>(kShare));
  }
  restore_visits(saving);
  saving.state.reset();
  saved_ = done_so_far();
  saving.tell(fmt::format("goes on from the saved state: {} are done", saved_));
}

void LockstepSearch::save_on_the_way() {
  if (clock_.stopped()) return;  // stop() saves
  fairlane::save_on_the_way(*options_.saving, [this] { save(); });
}

void LockstepSearch::stop(Error const& error) {
  stop_search(
      error, *options_.saving, [this] { save(); }, saved_);
}

void write_visits(CheckpointWriter& state, Saving const& saving, Backend& backend) {
  state.section(kVisits);
  saving.findings->save(backend, [&](std::uint64_t const* records, std::size_t n) {
    state.write(records, n * saving.findings->stride() * sizeof *records);
  });
}

void restore_visits(Saving const& saving) {
  std::size_t const stride = saving.findings->stride();
  std::vector<std::uint64_t> records;
  saving.state->read(kVisits, kRecordsAtOnce * stride * sizeof(std::uint64_t),
                     [&](void const* data, std::size_t bytes) {
                       records.resize(bytes / sizeof(std::uint64_t));
                       std::memcpy(records.data(), data, bytes);
                       saving.findings->restore(records.data(), records.size() / stride);
                     });
}

void save_on_the_way(Saving& saving, std::function<void()> const& save) {
  saving.clock.run([&] {
    try {
      save();
    } catch (Error const& error) {
      if (error.code() == ExitCode::kStopped) throw;
      saving.tell(fmt::format("{}; the state was not saved, the search goes on", error.what()));
    }
  });
}

void stop_search(Error const& error, Saving const& saving, std::function<void()> const& save,
                 std::string const& saved) {
  bool const was_asked = error.code() == ExitCode::kInterrupted;
  bool const whole = was_asked || is_model_failure(error);  // unlike a device that has failed
  if (!whole && error.code() != ExitCode::kStopped) throw Error(error);
  std::string what = was_asked ? "stopped" : error.what();
  if (whole) {
    try {
      save();
    } catch (Error const& problem) {
      if (saved.empty()) throw;
      what += fmt::format("; {}", problem.what());
    }
  }
  throw Error(ExitCode::kStopped,
              saved.empty()
                  ? fmt::format("{}; nothing was saved yet: the same command begins anew", what)
                  : fmt::format("{}; state saved in {}, {} done: the same command goes on", what,
                                escaped(saving.place, kLongestPath), saved));
}

}  // namespace fairlane
