#include "models/torch/loader.h"

namespace fairlane {

TorchPlugin const& torch_plugin(std::string const& folder) {
  static constexpr PluginName kName = {
      "LibTorch plug-in", kTorchPluginFile, kTorchPluginSymbol, kTorchPluginVersion,
      "install LibTorch (libtorch-dev; scripts/setup) and build with -DFAIRLANE_TORCH=ON"};
  return *static_cast<TorchPlugin const*>(load_plugin(kName, folder));
}

}  // namespace fairlane
