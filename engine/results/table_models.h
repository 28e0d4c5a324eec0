// What the configured table says of each finding, where that is asked for: how ordinary it is, and
// which label voters give it.
#pragma once

#include <atomic>
#include <optional>

#include "engine/config/run_config.h"
#include "engine/learning/electorate.h"
#include "engine/plausibility/plausibility.h"
#include "engine/subject/subject.h"

namespace fairlane {

/// plausibility  with output.plausibility
/// voters        with output.vote
struct TableModels {
  std::optional<PlausibilityModel> plausibility;
  std::optional<Electorate> voters;
};

/// Learns from the table as it is now.
/// stop: set by a signal
/// Throws Error(kNoInput | kData | kUnavailable | kInterrupted).
TableModels table_models(RunConfig const& config, TestSubject const& subject, int threads,
                         std::atomic<bool> const* stop);

}  // namespace fairlane
