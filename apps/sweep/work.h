// The process of a sweep's worker.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "engine/sweep/worker.h"

namespace fairlane {

/// Carries out a command line; throws Error.
using RunWords = std::function<ExitCode(std::vector<std::string> const& words)>;

/// Reads command lines from the standard input until it ends, and answers each on the standard
/// output with how it ended. What command lines print goes nowhere. Throws Error(kDisk) where
/// nobody reads the answers.
void work_for_sweep(RunWords const& run);

}  // namespace fairlane
