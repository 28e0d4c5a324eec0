// A comparison for people.
#pragma once

#include <string>
#include <vector>

#include "engine/compare/compare.h"

namespace fairlane {

/// The methods of a comparison that tried no input with a defined output, with any seed: their
/// zeros say nothing.
std::vector<std::string> untested_methods(std::string const& json);

/// compare.json as tables. source: where it is from, for messages. Throws Error(kData).
std::string compare_text(std::string const& json, std::string const& source);
/// "trial 3 of 60  maft, seed 44  2 min 5 s left".
std::string compare_progress_text(CompareProgress const& progress);

}  // namespace fairlane
