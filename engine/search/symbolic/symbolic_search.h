// Symbolic generation (SG): inputs are taken from a priority queue, tested, and explained by a
// surrogate decision tree; negated predicates of their paths lead to the next inputs.
#pragma once

#include "engine/search/search.h"

namespace fairlane {

/// Runs `sg` until global.num profiles are tested or the queue is empty. The seeds are the queue's
/// first content.
///
/// Every round takes the sg.frontier best inputs of the queue whose profile was not tested before,
/// tests and explains all of them, and puts what they lead to on the queue, one after the other;
/// with sg.frontier 1 that is the sequential algorithm. Finders have the number of the test as
/// seed; inputs from directed toggles belong to the local phase. result.global has all tests.
/// Throws Error; kStopped where the same search can go on from the saved state.
/// Source: see engine/search/symbolic/path_toggles.h.
SearchResult symbolic_search(RunConfig const& config, SeedSource const& seeds, Backend& backend,
                             SearchOptions const& options);

}  // namespace fairlane
