// Sections of the HTML page about shares: how much, against whom, where.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/formats/json.h"
#include "engine/report/audit_words.h"
#include "engine/report/html_parts.h"

namespace fairlane::report {

/// A row of a table of shares: in words, and as a bar where it was examined. most: end of the scale
std::string share_row(ShareLine const& line, double most);
/// The last row of such a table: the scale of its bars.
std::string scale_row(double most);
/// Shares on one scale, a row each. heads: of what, and the share
std::string shares_table(std::string_view caption, std::vector<std::string> const& heads,
                         std::vector<ShareLine> const& lines, double most);
/// The line of a share that is known exactly.
ShareLine exact_line(std::string of, Json const& share, std::string detail);
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
