// Sections of the HTML page about shares: how much, against whom, where.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "engine/report/audit_words.h"
#include "engine/report/html_parts.h"

namespace fairlane::report {

/// A row of a table of shares: in words, and as a bar where it was examined. most: end of the scale
std::string share_row(ShareLine const& line, double most);
/// Class h0 to h5 of a map's tile: h0 is nothing.
int shade_of(double share, double most);
/// The map's colours from nothing to the largest of them.
std::string map_key(std::string_view largest);

/// The three shares of every protected set on one scale, and severity.
std::string how_much_section(Json const& audit);
/// Who gets the better decision, and how often everybody would with each value.
std::string against_whom_section(Json const& audit, Room const& room);
/// Shares by value as a map, and rules.
std::string where_section(Json const& audit, Room const& room);

}  // namespace fairlane::report
