// The report of an audit as Markdown, as code hosts and CI systems show it.
#pragma once

#include <string>

#include "base/formats/json.h"

namespace fairlane {

/// The audit as a summary in GitHub's Markdown.
/// audit  audit.json; what is absent or null is said to be not examined (docs/reports.md)
/// Throws JsonError where a part that every audit has is missing.
std::string report_markdown(Json const& audit);

}  // namespace fairlane
