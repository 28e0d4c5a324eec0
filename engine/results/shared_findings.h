// What ranks have found together, brought to the first of them.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/ranks/ranks.h"
#include "engine/record/findings.h"

namespace fairlane {

/// Findings of all ranks: on rank 0 every distinct IDI with its least finder, and the counts of
/// everything that was visited; on the others nothing. Each rank first owns a part of the groups,
/// takes the visits to them from all ranks, and keeps an input once. All ranks together.
/// own, from  this rank's, as they would be collected
/// options    of the findings, whose files are in folders below options.dir
/// Throws Error.
std::unique_ptr<Findings> gather_findings(Ranks& ranks, PackedSubject const& subject, Findings& own,
                                          VisitRecord& from, std::uint64_t cut,
                                          Findings::Options const& options);

}  // namespace fairlane
