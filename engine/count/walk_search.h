// A walk by several threads that can be interrupted: what `enumerate` does between reading its
// input and writing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/count/enumerate.h"
#include "engine/count/walk_findings.h"
#include "engine/job/job.h"

namespace fairlane {

/// Walks groups [begin, end), multiples of the plan's groups per head, from the saved state on
/// where there is one. view, rows: of the walker's subject. Where options name ranks this is rank
/// 0's part, and the others call help_walk(). Throws Error(kStopped | kConfig | kMemory).
void walk_groups(Walker& walker, SubjectView const& view, RowDescriber& rows, std::int64_t begin,
                 std::int64_t end, int threads, EnumerateOptions const& options,
                 StateFile const& state, GroupCounts& counts, WalkFindings& findings);

/// Walks what rank 0 gives this one, until there is no more. Throws Error.
void help_walk(Walker& walker, SubjectView const& view, RowDescriber& rows, int threads,
               EnumerateOptions const& options, WalkFindings& findings);

}  // namespace fairlane
