// How ordinary people are beside the table of a configuration.
#pragma once

#include "engine/config/run_config.h"
#include "engine/plausibility/plausibility.h"
#include "models/data/domain.h"

namespace fairlane {

/// What the rows look like of the table that a configuration names: all of them, whichever protected
/// values it compares; those outside the domain dropped or clipped as it says.
/// domain   whose absent bounds are the table's
/// threads  workers
/// Throws Error(kNoInput | kData).
PlausibilityModel table_plausibility(RunConfig const& config, Domain domain, int threads);

}  // namespace fairlane
