// Which share of all that there is a run has found.
#pragma once

#include <cstdint>
#include <string>

#include "engine/results/summary.h"
#include "engine/subject/subject.h"

namespace fairlane {

/// What an enumeration of the whole domain counted.
struct EnumeratedTotals {
  std::int64_t instances = 0;
  std::int64_t groups = 0;
  DomainShare share;
};

/// Reads the totals of the finished enumeration in `dir`. Throws Error(kNoInput | kData |
/// kUsage) where there is none of the same model, domain, protected selection and threshold, or
/// where it is one of a part of the domain only; Error(kIntegrity) where it has not finished or its
/// files contradict each other.
EnumeratedTotals read_totals(std::string const& dir, RunConfig const& config,
                             TestSubject const& subject);

}  // namespace fairlane
