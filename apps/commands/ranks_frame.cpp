#include "apps/commands/ranks_frame.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <optional>
#include <thread>
#include <vector>

#include "base/stopwatch.h"
#include "base/threads/thread_pool.h"
#include "engine/ranks/mpi_link.h"
#include "engine/subject/subject.h"
#include "kernels/devices.h"

namespace fairlane {
namespace {

constexpr double kGraceSeconds = 1.0;     // in which rank 0 says what has become of another's error
constexpr double kSilentSeconds = 20.0;   // in which the one who speaks ends all
constexpr double kStoppedSeconds = 60.0;  // in which all ranks save what they have
constexpr std::chrono::milliseconds kLook{5};

using Failures = std::vector<std::optional<RankFailure>>;

/// Looks at what has come until `ready` says so, or for that long; whether it has said so.
template <class Ready>
bool await(Ranks& ranks, double seconds, Ready const& ready) {
  Stopwatch const start;
  while (!ready(ranks.failures())) {
    if (start.seconds() >= seconds) return false;
    std::this_thread::sleep_for(kLook);
  }
  return true;
}

/// Ends this rank after all others were asked to stop, too; nothing where another one fails.
std::optional<ExitCode> end_asked(Ranks& ranks, RankLink& link, ExitCode code,
                                  std::string const& what) {
  auto const fails = [](Failures const& failures) {
    return std::ranges::any_of(failures, [](auto const& f) { return f && !f->asked; });
  };
  auto const count = static_cast<std::ptrdiff_t>(ranks.size()) - 1;
  bool const waits = await(ranks, kStoppedSeconds, [&](Failures const& failures) {
    return fails(failures) ||
           std::ranges::count_if(failures, [](auto const& f) { return f.has_value(); }) == count;
  });
  Failures const& failures = ranks.failures();
  if (fails(failures)) return std::nullopt;
  if (ranks.is_first()) tell_error(what);
  if (!waits) return std::nullopt;
  link.close();
  return ranks.is_first() ? code : failures.front()->code;
}

/// Ends this rank and all others. Rank 0 speaks; where it has nothing to say, because it works and
/// does not listen, the one that has failed.
ExitCode end_ranks(Ranks& ranks, RankLink& link, ExitCode code, std::string const& what) {
  bool const is_stop = code == ExitCode::kStopped || code == ExitCode::kInterrupted;
  bool const asked = is_stop && ranks.asked_to_stop() && !ranks.echoes();
  if (ranks.is_first() || !ranks.echoes()) ranks.tell_failure(code, asked, what);
  if (asked) {
    if (auto const end = end_asked(ranks, link, code, what)) return *end;
  }
  bool speaks = ranks.is_first() && !asked;
  if (!speaks && !asked && !ranks.echoes()) {
    speaks = !await(ranks, kGraceSeconds, [&](Failures const& failures) {
      return std::any_of(failures.begin(), failures.begin() + ranks.rank(),
                         [](auto const& failure) { return failure && !failure->asked; });
    });
  }
  if (speaks) {
    tell_error(what);
  } else {
    await(ranks, kSilentSeconds, [](Failures const&) { return false; });
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

ConsoleOptions console_of_rank(ConsoleOptions options, Ranks const& ranks) {
  if (!ranks.is_first()) options.quiet = true;
  return options;
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
