// Loads the LibTorch plug-in, which brings hundreds of libraries: only where it is asked for.
#pragma once

#include <string>

#include "base/plugin.h"
#include "models/torch/plugin_api.h"

namespace fairlane {

/// The plug-in in `folder`. Throws Error(kUnavailable) as load_plugin() does.
TorchPlugin const& torch_plugin(std::string const& folder = plugin_folder(kTorchPluginFile));

/// Throws Error(kUnavailable) where a call of the plug-in has failed. who: "LibTorch cannot train"
void require_torch(TorchStatus problem, char const* who);

}  // namespace fairlane
