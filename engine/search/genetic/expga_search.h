// ExpGA: inputs whose explanation names a protected attribute are the first generation of a genetic
// algorithm.
#pragma once

#include "engine/search/search.h"

namespace fairlane {

/// Runs `expga`. The global phase explains global.num inputs, in order, and tests those that are
/// seeds; it ends early once expga.populations are full. The local phase breeds and tests local.num
/// generations of them.
///
/// Populations advance side by side, but only what they have found together tells what is new.
/// Finders have the input's number as seed in the global phase, the number of the test in the
/// local one. result.global has all inputs that were explained; those that are no seeds have no
/// iterations.
/// Throws Error; kStopped where the same search can go on from the saved state.
/// Source: Fan et al., "Explanation-guided fairness testing through genetic algorithm", ICSE 2022.
SearchResult expga_search(RunConfig const& config, SeedSource const& seeds, Backend& backend,
                          SearchOptions const& options);

}  // namespace fairlane
