// A run's summary for people.
#pragma once

#include <string>

namespace fairlane {

/// The text of summary.json as a short table. Throws Error(kIntegrity) naming `source` when it is
/// malformed.
std::string summary_text(std::string const& json, std::string const& source);

}  // namespace fairlane
