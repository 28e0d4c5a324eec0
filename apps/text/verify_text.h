// What a person reads of a verification.
#pragma once

#include <string>

#include "engine/verify/verify.h"

namespace fairlane {

/// The table of a verification, from its summary.json.
std::string verify_text(std::string const& json);
std::string verify_progress_text(VerifyProgress const& progress);

}  // namespace fairlane
