// Where this build's checkout, command and interpreter are.
#pragma once

#include <string>

namespace fairlane {

/// The checkout's root.
std::string source_dir();
/// The `fairlane` command of this build.
std::string built_command();
/// The Python interpreter of the tests' scripts.
std::string test_python();
/// The folder of bad LibTorch plug-ins; see tests/models/torch/fake_plugin.cpp.
std::string fake_plugins_dir();

}  // namespace fairlane
