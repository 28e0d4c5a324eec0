// What an audit comes to.
#pragma once

#include <string>

#include "base/formats/json.h"

namespace fairlane {

/// `verdict` of audit.json, by its sets: level "differs" where the decision about a row, a
/// plausible person or another input depends on protected attributes; "proven fair" where all
/// inputs of the domain were counted for every set and none is an IDI; "none found" otherwise.
Json verdict_json(Json const& audit);

/// `policy` of audit.json: met where the share of some set is above, not where that of none is, and
/// null where a share was not examined or is not known well enough.
/// share  rows, plausible or domain
Json policy_json(Json const& audit, std::string const& share, double above);

}  // namespace fairlane
