// Tables and curves of the page of a command's results.
#pragma once

#include <string>

#include "base/formats/json.h"
#include "engine/report/html_parts.h"

namespace fairlane::report {

/// The methods of a comparison, with their figures and p-values.
std::string methods_markup(Json const& digest);
/// What each method had found after how much work, a picture each; empty where nothing recorded it.
std::string curves_markup(Json const& digest);
/// Cells of a verification, those with an example first.
std::string cells_markup(Json const& digest, Room const& room);
/// Both models of a retraining side by side, and the candidates.
std::string retrained_markup(Json const& digest, Room const& room);
/// The cells of a sweep.
std::string sweep_markup(Json const& digest, Room const& room);
/// Seeds that had led to a finding after so many tests.
std::string seeds_markup(Json const& digest, Room const& room);
/// How many profiles differ by how much, of an enumeration.
std::string severity_markup(Json const& digest);

}  // namespace fairlane::report
