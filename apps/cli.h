// The `fairlane` command as a function.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace fairlane {

/// Runs the command line and returns its exit code; every failure becomes one line on stderr.
int fairlane_main(int argc, char** argv);

/// Carries out the words of a command line within this process, as a sweep's worker does. Returns
/// its exit code. Throws Error.
ExitCode run_words(std::vector<std::string> const& words);

}  // namespace fairlane
