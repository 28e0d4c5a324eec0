// The arguments of `fairlane sweep`, and what its actions share.
#pragma once

#include <string>
#include <vector>

#include "apps/commands/config_options.h"
#include "apps/console.h"
#include "base/error.h"
#include "engine/sweep/cell.h"
#include "engine/sweep/sweep_dir.h"
#include "engine/sweep/sweep_report.h"

namespace fairlane {

/// As given.
struct SweepArguments {
  std::string action;
  std::string plan;
  std::string out;
  std::string shard;
  std::string cell;
  std::string workers;
  std::string threads;
  std::string backend;
  std::string batch;
  std::string checkpoint;
  std::string memory;
  std::string metrics;
  bool mpi = false;
  bool slurm = false;
  bool gpus = false;
  bool dry_run = false;
  std::string kubernetes;
  std::string elements;
  std::vector<std::string> slurm_options;
  ModelFlags model;
  ConsoleOptions console;
};

/// A plan with its cells and the directory of its results.
struct LoadedSweep {
  SweepPlan plan;
  SweepCells cells;
  SweepDir dir;

  /// Throws Error.
  explicit LoadedSweep(SweepArguments const& arguments);
};

/// Threads that are asked for, otherwise all of the machine's. Throws Error(kUsage).
int sweep_threads(SweepArguments const& arguments);

/// Words that every command line of a sweep gets as they were given. Throws Error(kUsage).
std::vector<std::string> common_words(SweepArguments const& arguments);

/// Writes --metrics, where it is asked for. Throws Error(kDisk).
void write_metrics(SweepArguments const& arguments, LoadedSweep const& sweep,
                   SweepOverview const& overview, double seconds_left);

/// Writes the tables, prints how the sweep stands, and returns its exit code. Throws Error.
ExitCode conclude_sweep(SweepArguments const& arguments, LoadedSweep const& sweep);

/// fairlane sweep run, submit. Throw Error.
ExitCode run_sweep_plan(SweepArguments const& arguments);
ExitCode submit_sweep_plan(SweepArguments const& arguments);

}  // namespace fairlane
