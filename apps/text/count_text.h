// What enumerate and estimate count, for people.
#pragma once

#include <string>

#include "engine/count/enumerate.h"
#include "engine/count/estimate.h"
#include "models/data/domain.h"

namespace fairlane {

/// Whether none of what an enumeration or an estimate evaluated had a defined output.
bool nothing_defined(std::string const& json);

/// "1.2 G of 1.5 G groups, ..., 12 s left".
std::string enumeration_progress_text(WalkProgress const& progress);
/// An enumeration's summary.json as a short table. domain: for words, or null: codes.
std::string enumeration_text(std::string const& json, Domain const* domain);

/// "1.2 M samples  350 k/s  share known to +-0.2 %".
std::string estimate_progress_text(EstimateProgress const& progress);
/// An estimate's JSON as a short table.
std::string estimate_text(std::string const& json);

}  // namespace fairlane
