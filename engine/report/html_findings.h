// Parts of the page of a command's results about people: against whom, where, side by side.
#pragma once

#include <string>

#include "base/formats/json.h"
#include "engine/report/html_parts.h"

namespace fairlane::report {

/// Who gets the lower label and who the higher one, as far as the results tell; else says so.
std::string directions_markup(Json const& digest, Room const& room);
/// How many findings have each value, as a map; what it does not show is said.
std::string places_markup(Json const& digest, Room const& room);
/// Pairs as is beside as would be. level: of their headings; empty where there are none
std::string pairs_markup(Json const& digest, int level, Room const& room);

}  // namespace fairlane::report
