// Walks (enumerate, estimate) for people.
#pragma once

#include <string>

#include "engine/enumerate.h"

namespace fairlane {

/// "1.2 G of 1.5 G groups, ..., 12 s left".
std::string walk_progress_text(WalkProgress const& progress);
/// An enumeration's summary.json as a short table.
std::string walk_summary_text(std::string const& json);

/// An estimate's JSON as a short table.
std::string estimate_text(std::string const& json);

}  // namespace fairlane
