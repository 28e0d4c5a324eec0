// The one file that is compiled with paths of the machine: all others are the same in every clone.
#include "tests/checkout.h"

namespace fairlane {

std::string source_dir() { return FAIRLANE_SOURCE_DIR; }
std::string built_command() { return FAIRLANE_BINARY; }
std::string test_python() { return FAIRLANE_PYTHON; }
std::string fake_plugins_dir() { return FAIRLANE_FAKE_PLUGINS; }

}  // namespace fairlane
