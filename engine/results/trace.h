// global.csv: how each seed's global phase ended.
#pragma once

#include "engine/config/run_config.h"
#include "engine/record/output_dir.h"
#include "engine/search/search.h"
#include "engine/subject/subject.h"

namespace fairlane {

/// global.csv: method,seed,found,iterations,<attributes>.
void write_trace(RunConfig const& config, TestSubject const& subject, SearchResult const& result,
                 OutputDir& out);

}  // namespace fairlane
