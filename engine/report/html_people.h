// The parts of an HTML page that show people side by side.
#pragma once

#include <string>

#include "base/formats/json.h"
#include "engine/report/html_parts.h"

namespace fairlane::report {

/// What stands above a person.
/// source  where the person is from; may be empty
/// level   of the heading
/// file    has what the page leaves out
struct PersonTitle {
  std::string name;
  std::string source;
  int level = 4;
  char const* file = "audit.json";
};
/// A finding as is beside as would be. results: whose `decision` says what is decided
std::string person_card(Json const& results, Json const& finding, PersonTitle const& title,
                        Room const& room);
/// The findings of every protected set: each person as is, beside as would be.
std::string people_section(Json const& audit, Room const& room);

}  // namespace fairlane::report
