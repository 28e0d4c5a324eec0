// Sections of the HTML page about shares: how much, against whom, where.
#pragma once

#include <string>

#include "base/json.h"
#include "engine/report/html_parts.h"

namespace fairlane::report {

/// The three shares of every protected set on one scale, and severity.
std::string how_much_section(Json const& audit);
/// Who gets the better decision, and how often everybody would with each value.
std::string against_whom_section(Json const& audit, Room const& room);
/// Shares by value as a map, and rules.
std::string where_section(Json const& audit, Room const& room);

}  // namespace fairlane::report
