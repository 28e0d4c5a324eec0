// Plans of sweeps over the small run of the command's tests.
#pragma once

#include <string>
#include <vector>

#include "engine/sweep/cell.h"
#include "tests/apps/command_line.h"

namespace fairlane {

/// A plan in the working directory, beside write_small_run()'s files.
inline SweepPlan planned(std::string const& text) {
  write_file("plan.yaml", text + "\noutput: {dir: swept}\n");
  return read_sweep_plan("plan.yaml");
}

/// "run config sex eidig seed 1" of each cell.
inline std::vector<std::string> texts(SweepCells const& cells) {
  std::vector<std::string> found;
  for (SweepCell const& cell : cells.cells) found.push_back(cell.text());
  return found;
}

inline std::vector<std::string> ids(SweepCells const& cells) {
  std::vector<std::string> found;
  for (SweepCell const& cell : cells.cells) found.push_back(cell.id);
  return found;
}

}  // namespace fairlane
