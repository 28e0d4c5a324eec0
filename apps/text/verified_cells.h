// Where a verification's unfair cells lie, and its worst pairs, in words.
#pragma once

#include <string>

#include "engine/results/manifest.h"
#include "models/data/domain.h"

namespace fairlane {

/// From cells.csv and counterexamples.csv of a directory of `verify`; empty where no cell is unfair.
/// Throws Error(kNoInput | kData).
std::string verified_cells_text(std::string const& dir, RecordedRun const& recorded,
                                Domain const& domain);

}  // namespace fairlane
