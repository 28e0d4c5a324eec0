#include "apps/ranks_frame.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>

#include "apps/console.h"
#include "base/stopwatch.h"
#include "base/thread_pool.h"
#include "engine/ranks/mpi_link.h"
#include "engine/subject/subject.h"
#include "kernels/devices.h"

namespace fairlane {
namespace {

constexpr double kGraceSeconds = 1.0;     // in which a lower rank's failure is awaited
constexpr double kSilentSeconds = 10.0;   // in which the one who speaks ends all
constexpr double kStoppedSeconds = 60.0;  // in which all ranks save what they have
constexpr std::chrono::milliseconds kLook{5};

bool is_stop(ExitCode code) { return code == ExitCode::kStopped || code == ExitCode::kInterrupted; }

/// Looks at what has come until `ready` says so, or for that long.
template <class Ready>
bool await(Ranks& ranks, double seconds, Ready const& ready) {
  Stopwatch const start;
  while (true) {
    auto const failure = ranks.failure();
    if (ready(failure)) return true;
    if (start.seconds() >= seconds) return false;
    std::this_thread::sleep_for(kLook);
  }
}

/// Ends this rank, and all others where they have not all been asked to stop.
ExitCode end_ranks(Ranks& ranks, RankLink& link, ExitCode code, std::string const& what) {
  if (ranks.echoes()) {
    await(ranks, kSilentSeconds, [](auto const&) { return false; });
    link.abort(code);
    return code;
  }
  ranks.tell_failure(code, what);
  if (Interrupt::flag() && is_stop(code)) {
    bool const all = await(ranks, kStoppedSeconds, [&](auto const& failure) {
      return ranks.failures() == ranks.size() - 1 || (failure && !is_stop(failure->code));
    });
    auto const failure = ranks.failure();
    bool const by_another = failure && !is_stop(failure->code);
    if (ranks.is_first() && !by_another) tell_error(what);
    if (all && !by_another) {
      link.close();
      return code;
    }
  }
  auto const is_lower = [&](auto const& failure) {
    return failure && (failure->rank < ranks.rank() || is_stop(code));
  };
  bool const silent = await(ranks, ranks.is_first() ? 0.0 : kGraceSeconds, is_lower);
  if (silent) {
    await(ranks, kSilentSeconds, [](auto const&) { return false; });
  } else if (!Interrupt::flag() || !is_stop(code)) {
    tell_error(what);
  }
  link.abort(code);
  return code;
}

}  // namespace

ExitCode with_ranks(std::function<ExitCode(Ranks&)> const& work) {
  std::unique_ptr<RankLink> const link = make_mpi_link();
  Interrupt const interrupt(Interrupt::Watch::kRanks);
  Ranks ranks(*link, &Interrupt::flag());
  try {
    ExitCode const code = work(ranks);
    flush_stdout();
    ExitCode const first =
        static_cast<ExitCode>(std::stoi(ranks.broadcast(std::to_string(static_cast<int>(code)))));
    link->close();
    return first;
  } catch (Error const& error) {
    return end_ranks(ranks, *link, error.code(), error.what());
  } catch (std::bad_alloc const&) {
    return end_ranks(ranks, *link, ExitCode::kMemory, "out of memory");
  } catch (std::exception const& error) {
    return end_ranks(ranks, *link, ExitCode::kBug,
                     fmt::format("this is a bug, please report it: {}", error.what()));
  }
}

void share_machine(Ranks& ranks, Execution& execution) {
  auto const hosts = ranks.gather_on_all(ranks.host());
  std::string const host = ranks.host();
  auto const sharers = std::count(hosts.begin(), hosts.end(), host);
  auto const before = std::count(hosts.begin(), hosts.begin() + ranks.rank(), host);
  if (execution.threads == 0) {
    // A launcher may have given each rank cores of its own.
    bool const bound = machine_threads() < sysconf(_SC_NPROCESSORS_ONLN);
    execution.threads =
        bound ? machine_threads() : std::max(1, machine_threads() / static_cast<int>(sharers));
    execution.model.threads = execution.threads;
  }
  execution.sharers = static_cast<int>(sharers);
  if (execution.backend == "cuda") {
    std::vector<int> usable;
    for (DeviceSummary const& device : cuda_devices()) {
      if (device.problem.empty()) usable.push_back(device.index);
    }
    if (!usable.empty()) {
      auto const own = static_cast<std::size_t>(before) % usable.size();
      execution.backend = fmt::format("cuda:{}", usable[own]);
    }
  }
}

}  // namespace fairlane
