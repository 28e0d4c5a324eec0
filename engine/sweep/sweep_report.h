// sweep.csv, timing.csv and sweep.json: what all cells of a sweep have come to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/sweep/cell.h"
#include "engine/sweep/sweep_dir.h"

namespace fairlane {

/// How a cell stands.
enum class CellStanding { kWaiting, kRunning, kDone, kFailed };
template <>
inline constexpr std::array kEnumWords<CellStanding> =
    std::to_array<Word<CellStanding>>({{CellStanding::kWaiting, "waiting", "not begun"},
                                       {CellStanding::kRunning, "running", "somebody works on it"},
                                       {CellStanding::kDone, "done", "its results are there"},
                                       {CellStanding::kFailed, "failed", "ended with an error"}});

/// A plan's cells beside what the journals say of them.
/// states   [cells]
/// results  [cells], null where the cell has not ended
struct SweepOverview {
  SweepPlan const& plan;
  SweepCells const& cells;
  SweepStandings const& standings;
  std::vector<CellStanding> states;
  std::vector<CellResult const*> results;

  SweepOverview(SweepPlan const& plan, SweepCells const& cells, SweepStandings const& standings);
  std::int64_t count(CellStanding state) const;
  /// Seconds of workers' time that finished cells took; evaluations of the model in them.
  double seconds() const;
  double evaluations() const;
};

/// A row for each cell, several where a cell has several methods. Equal sweeps give equal bytes,
/// wherever and however often interrupted they ran.
std::string sweep_csv(SweepOverview const& overview);
/// Where each cell ran, how long, and how fast in relation to that machine's peak.
std::string timing_csv(SweepOverview const& overview);
/// All of both; `timing` is what differs between equal sweeps.
std::string sweep_json(SweepOverview const& overview);

/// Writes these and the tables of paper_tables.h into the sweep's directory, sweep.json last.
/// Throws Error(kDisk).
void write_sweep_report(SweepOverview const& overview, SweepDir const& dir);

}  // namespace fairlane
