// Cells of a verification and seeds of a trace, read line by line.
#pragma once

#include <string>

#include "base/formats/json.h"
#include "engine/digest/results_digest.h"
#include "models/data/domain.h"

namespace fairlane::digest {

/// `cells` of a digest, from cells.csv and counterexamples.csv of `verify`:
///   count  cells
///   shown  the first of each verdict: `cell`, `where` it differs from the others in words,
///          `verdict`, `reason`, `boxes`
///   pairs  examples of the first cells that have one
Json digest_cells(ResultsPlace const& place, Domain const& domain);
/// `seeds` of a digest, from global.csv.
Json digest_trace(std::string const& path);

}  // namespace fairlane::digest
