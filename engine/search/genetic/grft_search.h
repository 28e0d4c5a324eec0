// GRFT: a genetic population from every seed, then steps that all of its findings take alike.
#pragma once

#include "engine/search/search.h"

namespace fairlane {

/// Runs `grft`.
///
/// Global phase: each seed's population is tested whole, generation after generation, until one
/// holds IDIs, all of which are the seed's, or global.max_iter are tested. Local phase: every
/// distinct global IDI takes local.num steps; a step moves one attribute, the same for all, on from
/// where the origin last met an IDI, beyond the domain, too; what is tested is clipped to it.
/// Seeds, and then origins, advance in waves: a generation or a step at a time. A wave's size shows
/// in no result, but in where the clock ends a run. Finders have the number of the seed, in the
/// local phase that of the origin, by seed and row. Throws Error; kStopped where the same search
/// can go on from the saved state.
/// Source: see engine/search/genetic/grft_operators.h.
SearchResult grft_search(RunConfig const& config, SeedSource const& seeds, Backend& backend,
                         SearchOptions const& options);

}  // namespace fairlane
