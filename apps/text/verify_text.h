// What a person reads of a verification.
#pragma once

#include <string>

#include "engine/recheck/recheck.h"
#include "engine/verify/verify.h"

namespace fairlane {

/// The table of a verification, from its summary.json.
std::string verify_text(std::string const& json);
std::string verify_progress_text(VerifyProgress const& progress);

/// What `verify --check` shows of its result, as a person and as a program reads it, and of its
/// progress.
std::string recheck_text(RecheckResult const& result);
std::string recheck_json(RecheckResult const& result);
std::string recheck_progress_text(RecheckProgress const& progress);

}  // namespace fairlane
