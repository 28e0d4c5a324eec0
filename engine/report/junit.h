// The report of an audit as test results, as CI systems read them.
#pragma once

#include <string>

#include "base/formats/json.h"

namespace fairlane {

/// The audit as JUnit XML: a test per protected set, which fails where the set's share exceeds the
/// limit that was given (`policy`), is skipped where that share was not examined or its interval
/// holds the limit, and passes otherwise.
/// audit  audit.json (docs/reports.md)
/// Throws JsonError where a part that every audit has is missing.
std::string report_junit(Json const& audit);

}  // namespace fairlane
