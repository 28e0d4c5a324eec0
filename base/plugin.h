// Libraries of this program that are loaded only where they are asked for.
#pragma once

#include <cstdint>
#include <string>

namespace fairlane {

/// what     it is, for messages
/// symbol   of a function without arguments that returns the plug-in's table as a void const*
/// version  first word of that table
/// absent   how to get it
struct PluginName {
  char const* what;
  char const* file;
  char const* symbol;
  std::uint32_t version;
  char const* absent;
};

/// The folder in which plug-ins are expected: FAIRLANE_PLUGIN_DIR, otherwise beside the running
/// program, or where `cmake --install` puts that file.
std::string plugin_folder(char const* file);

/// The table of a plug-in in `folder`, loaded once and for as long as the process lives.
/// Throws Error(kUnavailable) where it is absent, does not load or has another version.
void const* load_plugin(PluginName const& plugin, std::string const& folder);

}  // namespace fairlane
