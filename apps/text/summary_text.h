// A run's summary for people.
#pragma once

#include <string>

#include "base/formats/json.h"
#include "models/data/domain.h"

namespace fairlane {

/// The text of summary.json as a short table. Throws Error(kIntegrity) naming `source` when it is
/// malformed. domain: for words, or null: codes.
std::string summary_text(std::string const& json, std::string const& source,
                         Domain const* domain = nullptr);

/// The share of the domain as a run has measured it: `domain_share` of summary.json.
std::string domain_share_text(Json const& json);

}  // namespace fairlane
