#include "models/torch/loader.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace fairlane {

TorchPlugin const& torch_plugin(std::string const& folder) {
  static constexpr PluginName kName = {
      "LibTorch plug-in", kTorchPluginFile, kTorchPluginSymbol, kTorchPluginVersion,
      "install LibTorch (libtorch-dev; scripts/setup) and build with -DFAIRLANE_TORCH=ON"};
  return *static_cast<TorchPlugin const*>(load_plugin(kName, folder));
}

void require_torch(TorchStatus problem, char const* who) {
  constexpr std::size_t kLongestReason = 400;
  if (problem == nullptr) return;
  throw Error(ExitCode::kUnavailable, fmt::format("{}: {}", who, escaped(problem, kLongestReason)));
}

}  // namespace fairlane
