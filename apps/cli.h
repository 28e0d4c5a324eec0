// The `fairlane` command as a function.
#pragma once

namespace fairlane {

/// Runs the command line and returns its exit code; every failure becomes one line on stderr.
int fairlane_main(int argc, char** argv);

}  // namespace fairlane
