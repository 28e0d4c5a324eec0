// The report of an audit as a page for people.
#pragma once

#include <string>

#include "base/formats/json.h"

namespace fairlane {

/// The audit as one HTML page of at most 2 MB that needs nothing else: no script, no request.
/// audit  audit.json; what is absent or null is said to be not examined (docs/reports.md)
/// Throws JsonError where a part that every audit has is missing.
std::string report_html(Json const& audit);

}  // namespace fairlane
