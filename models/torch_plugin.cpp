#include "models/torch_plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "kernels/core/error.h"
#include "models/text.h"

namespace fairlane {

namespace {

constexpr std::size_t kLongestMessage = 4096;

}  // namespace

std::string plugin_folder() {
  if (char const* const chosen = std::getenv("FAIRLANE_PLUGIN_DIR");
      chosen != nullptr && *chosen != '\0') {
    return chosen;
  }
  std::error_code ec;
  return std::filesystem::read_symlink("/proc/self/exe", ec).parent_path().string();
}

TorchPlugin const& torch_plugin(std::string const& folder) {
  std::filesystem::path const path = std::filesystem::path(folder) / kTorchPluginFile;
  auto const unavailable = [&](std::string const& what) {
    return Error(
        ExitCode::kUnavailable,
        fmt::format("LibTorch plug-in {}: {}", escaped(path.string(), kLongestMessage), what));
  };
  std::error_code ec;
  if (!std::filesystem::exists(path, ec))
    throw unavailable("no such file; build with -DFAIRLANE_TORCH=ON, or set FAIRLANE_PLUGIN_DIR");
  // Never unloaded: what its libraries register and start does not end before the process.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) throw unavailable(escaped(dlerror(), kLongestMessage));
  auto const entry = reinterpret_cast<TorchPluginEntry>(dlsym(library, kTorchPluginSymbol));
  if (entry == nullptr)
    throw unavailable(fmt::format("is none of fairlane's: it has no {}", kTorchPluginSymbol));
  TorchPlugin const& plugin = *entry();
  if (plugin.version != kTorchPluginVersion) {
    throw unavailable(fmt::format("has interface {}, expected {}; build it with this fairlane",
                                  plugin.version, kTorchPluginVersion));
  }
  return plugin;
}

}  // namespace fairlane
