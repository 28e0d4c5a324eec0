#include "models/torch/loader.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/text.h"

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
  auto const beside = std::filesystem::read_symlink("/proc/self/exe", ec).parent_path();
  // Where `cmake --install` puts it.
  auto const installed = beside.parent_path() / "lib" / "fairlane";
  bool const is_there = !std::filesystem::exists(beside / kTorchPluginFile, ec) &&
                        std::filesystem::exists(installed / kTorchPluginFile, ec);
  return (is_there ? installed : beside).string();
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
    throw unavailable(
        "no such file; install LibTorch (libtorch-dev; scripts/setup) and build with "
        "-DFAIRLANE_TORCH=ON, or set FAIRLANE_PLUGIN_DIR");
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
