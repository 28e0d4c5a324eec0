// Loads the LibTorch plug-in, which brings hundreds of libraries: only where it is asked for.
#pragma once

#include <string>

#include "models/torch/plugin_api.h"

namespace fairlane {

/// The folder in which the plug-in is expected: FAIRLANE_PLUGIN_DIR, otherwise beside the running
/// program.
std::string plugin_folder();

/// The plug-in in `folder`, loaded once and for as long as the process lives.
/// Throws Error(kUnavailable) where it is absent, does not load or has another version.
TorchPlugin const& torch_plugin(std::string const& folder = plugin_folder());

}  // namespace fairlane
