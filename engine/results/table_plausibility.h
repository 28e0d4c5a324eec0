// How ordinary people are beside the table of a configuration, and that as lines of a CSV.
#pragma once

#include <cstdint>
#include <string>

#include "engine/config/run_config.h"
#include "engine/plausibility/plausibility.h"
#include "models/data/domain.h"

namespace fairlane {

/// What the people look like of the table that a configuration names: its rows, whichever protected
/// values are compared; those outside the domain dropped or clipped as it says, those that violate
/// a constraint left out. `plausibility.at_least` is a percentile of the same rows.
/// domain   whose absent bounds are the table's
/// threads  workers
/// Throws Error(kNoInput | kData).
PlausibilityModel table_plausibility(RunConfig const& config, Domain domain, int threads);

inline constexpr char const* kInstancePlausibility = "instances.plausibility.csv";
inline constexpr char const* kPlausibilityHeader =
    "distance,surprise,distance_percentile,surprise_percentile\n";

/// Appends a line with the figures of a row, each in the fewest digits that it is read back from.
void append_plausibility(std::string& bytes, PlausibilityModel const& model,
                         std::int32_t const* row);

}  // namespace fairlane
