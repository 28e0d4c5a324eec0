// What an audit comes to.
#pragma once

#include <string>

#include "base/json.h"

namespace fairlane {

/// `verdict` of audit.json, by its sets: level "differs" where the decision about a row or a
/// plausible person depends on protected attributes, or a search found one; "proven fair" where all
/// inputs of the domain were counted for every set and none is an IDI; "none found" otherwise.
Json verdict_json(Json const& audit);

/// `policy` of audit.json, of the last set: met is null where the share was not examined, or is not
/// known well enough.
/// share  rows, plausible or domain
Json policy_json(Json const& audit, std::string const& share, double above);

}  // namespace fairlane
