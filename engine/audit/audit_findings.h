// The findings that an audit shows.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/formats/json.h"
#include "engine/audit/row_audit.h"
#include "engine/plausibility/plausibility.h"
#include "engine/subject/subject.h"

namespace fairlane {

/// Findings that are shown of a selection.
inline constexpr std::size_t kShownFindings = 10;
/// Findings that these are chosen from, at most, of the rows and of a search each.
inline constexpr std::size_t kMostCandidates = 10'000;

/// At most kMostCandidates inputs of a directory of `run`, each of a group of its own, spread over
/// all: [count][attributes]. Throws Error.
std::vector<std::int32_t> found_people(std::string const& dir, RunConfig const& config,
                                       TestSubject const& subject);

/// Chooses findings that are severe, plausible and different from each other among the affected
/// rows and what a search has found, and says them in codes and words.
/// rows   of the subject's data
/// found  [count][attributes]
/// Returns an array as audit.json has it.
Json shown_findings(TestSubject const& subject, Backend& backend, std::int32_t favourable,
                    PlausibilityModel const& model, RowAudit const& rows,
                    std::vector<std::int32_t> const& found, std::atomic<bool> const* stop);

}  // namespace fairlane
