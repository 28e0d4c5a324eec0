// What this machine is and reaches, beside a sweep's figures.
#pragma once

#include <string>

#include "base/stopwatch.h"
#include "engine/sweep/sweep_dir.h"

namespace fairlane {

/// Describes the machine, and measures its peak now and then: others may work on it meanwhile.
class MachineProbe {
 public:
  MachineProbe();
  /// The machine with the peak of so many threads, measured anew where it was not for a while.
  /// backend: of a command, such as "cuda:0"
  CellMachine machine(std::string const& backend, int threads);

 private:
  std::string backend_;
  CellMachine machine_;
  Stopwatch since_measured_;
};

/// What the processor calls itself, or "unknown".
std::string cpu_name();

/// "process 1234 on host, since 2026-01-31 12:00:00 UTC".
std::string this_process();

}  // namespace fairlane
