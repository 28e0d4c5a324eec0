// A comparison for people.
#pragma once

#include <string>

#include "engine/compare/compare.h"

namespace fairlane {

/// compare.json as tables. source: where it is from, for messages. Throws Error(kIntegrity).
std::string compare_text(std::string const& json, std::string const& source);
/// "trial 3 of 60  maft, seed 44  2 min 5 s left".
std::string compare_progress_text(CompareProgress const& progress);

}  // namespace fairlane
