// The page of a command's results.
#pragma once

#include "engine/config/run_config.h"
#include "engine/record/output_dir.h"

namespace fairlane {

/// Writes report.html where the configuration asks for it and somebody makes it: after all other
/// files, before finish(). Throws Error.
void write_results_page(RunConfig const& config, Execution const& execution, OutputDir& out);

}  // namespace fairlane
