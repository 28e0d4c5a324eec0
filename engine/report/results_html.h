// The results of commands as a page for people.
#pragma once

#include <string>
#include <vector>

#include "base/formats/json.h"
#include "engine/digest/results_digest.h"

namespace fairlane {

/// One or several digests (engine/digest/results_digest.h) as one HTML page of at most 2 MB that
/// needs nothing else: no script, no request. A single audit has the page of report_html(). Equal
/// digests give equal pages. Throws JsonError where a part that the results have is missing; of
/// several results Error(kData), which names those.
std::string results_html(std::vector<Json> const& digests);
/// The page of results that are just written; where it cannot be made, one that says why, for the
/// results are worth more than their page.
std::string page_of_results(ResultsPlace const& place);

}  // namespace fairlane
