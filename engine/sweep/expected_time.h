// How long a cell takes, as far as that is known before it begins.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/sweep/cell.h"
#include "engine/sweep/sweep_dir.h"

namespace fairlane {

/// [cells] seconds of one core: by finished cells of the same command and subject, where there are
/// any, otherwise by the model's size; nothing where neither tells.
std::vector<std::optional<double>> expected_seconds(SweepPlan const& plan, SweepCells const& cells,
                                                    SweepStandings const& standings);

}  // namespace fairlane
