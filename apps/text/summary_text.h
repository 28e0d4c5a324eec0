// A run's summary for people.
#pragma once

#include <string>

#include "base/json.h"

namespace fairlane {

/// The text of summary.json as a short table. Throws Error(kIntegrity) naming `source` when it is
/// malformed.
std::string summary_text(std::string const& json, std::string const& source);

/// The share of the domain as a run has measured it: `domain_share` of summary.json.
std::string domain_share_text(Json const& json);

}  // namespace fairlane
