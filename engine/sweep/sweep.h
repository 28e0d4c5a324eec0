// Works off the cells of a sweep.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/sweep/cell.h"
#include "engine/sweep/sweep_dir.h"
#include "engine/sweep/worker.h"

namespace fairlane {

/// A cell on its way, for people.
struct CellProgress {
  std::string worker;
  std::string cell;
  std::string doing;
  double seconds = 0.0;
};

/// What a watcher may show of a sweep.
/// done, failed, total  cells of this process's part
/// session              cells that ended since it began
/// seconds              since it began
/// seconds_left         0: not known
struct SweepProgress {
  std::int64_t done = 0;
  std::int64_t failed = 0;
  std::int64_t total = 0;
  std::int64_t session = 0;
  double seconds = 0.0;
  double seconds_left = 0.0;
  std::vector<CellProgress> running;
};

/// journal    name of the process's journal
/// part       indices of the cells that are its own
/// slots      a worker each
/// threads    of the machine, shared out among the cells of slots that have none of their own
/// common     words for every command line, such as --allow-exec
/// holder     who works, for a second process that wants the same part
/// checked    called about once a second, after what has ended was acknowledged
struct SweepOptions {
  std::string journal = "all";
  std::vector<std::size_t> part;
  std::vector<WorkerSlot> slots;
  int threads = 1;
  std::vector<std::string> common;
  std::string holder;
  std::function<std::unique_ptr<SweepWorker>(WorkerSlot const&)> make_worker;
  std::atomic<bool> const* stop = nullptr;
  std::function<void(std::string const&)> notice;
  std::function<void(SweepProgress const&)> progress;
  std::function<void(SweepProgress const&)> checked;
};

/// How the process's part stands at its end.
struct SweepOutcome {
  std::int64_t done = 0;
  std::int64_t failed = 0;
  std::int64_t ran = 0;  // cells that ended in this session
};

/// Runs every cell of the part that is not done yet, those that are expected to take longest first.
/// A cell that fails does not stop the others, and is tried again by the next call.
/// Throws Error: kStopped where it was asked to stop, kOutput where another process has the part,
/// kDisk where no space is left, kIntegrity where a journal is damaged. What is acknowledged in the
/// journal is never done again.
SweepOutcome run_sweep(SweepPlan const& plan, SweepCells const& cells, SweepDir const& dir,
                       SweepOptions const& options);

}  // namespace fairlane
