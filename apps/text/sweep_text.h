// A sweep for people.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/sweep/sweep.h"
#include "engine/sweep/sweep_report.h"

namespace fairlane {

/// "42 of 165 cells, 2 failed  3.1 cells/s  2 min 5 s left".
std::string sweep_progress_text(SweepProgress const& progress);

/// The cells of a plan with what is expected of them: at most so many, and their sum.
/// seconds  [cells] of one core
/// threads  that will share them
std::string sweep_plan_text(SweepOverview const& overview,
                            std::vector<std::optional<double>> const& seconds, int threads,
                            std::size_t most);
std::string sweep_plan_json(SweepOverview const& overview,
                            std::vector<std::optional<double>> const& seconds);

/// How a sweep stands: counts, who works on it, what has failed and why.
std::string sweep_status_text(SweepOverview const& overview, double seconds_left);
std::string sweep_status_json(SweepOverview const& overview, double seconds_left);

}  // namespace fairlane
