// The section of the HTML page that shows people side by side.
#pragma once

#include <string>

#include "base/json.h"
#include "engine/report/html_parts.h"

namespace fairlane::report {

/// The findings of every protected set: each person as is, beside as would be.
std::string people_section(Json const& audit, Room const& room);

}  // namespace fairlane::report
