// The frame of a command whose work is shared by the ranks that mpirun has started (--mpi).
#pragma once

#include <functional>

#include "apps/console.h"
#include "base/error.h"
#include "engine/config/run_config.h"
#include "engine/ranks/ranks.h"

namespace fairlane {

/// Help of a command's flag --mpi.
inline constexpr char const* kMpiHelp =
    "share the work among the processes of mpirun, such as: mpirun -n 4 fairlane ... --mpi";

/// Calls work(ranks) on every rank, and returns on all of them what rank 0's work returns. An error
/// on one rank ends all: the least rank that has failed says why in one line, and mpirun returns
/// its exit code. Where a signal asks all to stop, each first does what its work does then; rank 0
/// says what has become of it. Throws Error(kUsage | kUnavailable) where there are no ranks.
ExitCode with_ranks(std::function<ExitCode(Ranks&)> const& work);

/// What a rank may say: rank 0 whatever was asked for, the others only errors.
ConsoleOptions console_of_rank(ConsoleOptions options, Ranks const& ranks);

/// Each rank's part of its machine, where nothing else is asked for: threads and memory are shared
/// equally by the ranks of one machine, which take its GPUs by turns. All ranks together.
void share_machine(Ranks& ranks, Execution& execution);

}  // namespace fairlane
