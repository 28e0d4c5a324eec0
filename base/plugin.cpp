#include "base/plugin.h"

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

std::string plugin_folder(char const* file) {
  if (char const* const chosen = std::getenv("FAIRLANE_PLUGIN_DIR");
      chosen != nullptr && *chosen != '\0') {
    return chosen;
  }
  std::error_code ec;
  auto const beside = std::filesystem::read_symlink("/proc/self/exe", ec).parent_path();
  auto const installed = beside.parent_path() / "lib" / "fairlane";
  bool const is_there =
      !std::filesystem::exists(beside / file, ec) && std::filesystem::exists(installed / file, ec);
  return (is_there ? installed : beside).string();
}

void const* load_plugin(PluginName const& plugin, std::string const& folder) {
  std::filesystem::path const path = std::filesystem::path(folder) / plugin.file;
  auto const unavailable = [&](std::string const& what) {
    return Error(
        ExitCode::kUnavailable,
        fmt::format("{} {}: {}", plugin.what, escaped(path.string(), kLongestMessage), what));
  };
  std::error_code ec;
  if (!std::filesystem::exists(path, ec))
    throw unavailable(fmt::format("no such file; {}, or set FAIRLANE_PLUGIN_DIR", plugin.absent));
  // Never unloaded: what its libraries register and start does not end before the process.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) throw unavailable(escaped(dlerror(), kLongestMessage));
  using Entry = void const* (*)();
  auto const entry = reinterpret_cast<Entry>(dlsym(library, plugin.symbol));
  if (entry == nullptr)
    throw unavailable(fmt::format("is none of fairlane's: it has no {}", plugin.symbol));
  void const* const table = entry();
  std::uint32_t const version = *static_cast<std::uint32_t const*>(table);
  if (version != plugin.version) {
    throw unavailable(fmt::format("has interface {}, expected {}; build it with this fairlane",
                                  version, plugin.version));
  }
  return table;
}

}  // namespace fairlane
