// Where tests find the LibTorch plug-in: the real one, which may not be built, and bad ones.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "models/torch/plugin_api.h"
#include "tests/checkout.h"

namespace fairlane {

/// FAIRLANE_PLUGIN_DIR while it lives.
class PluginDir {
 public:
  explicit PluginDir(std::string const& folder) {
    setenv("FAIRLANE_PLUGIN_DIR", folder.c_str(), 1);
  }
  ~PluginDir() { unsetenv("FAIRLANE_PLUGIN_DIR"); }
  PluginDir(PluginDir const&) = delete;
  PluginDir& operator=(PluginDir const&) = delete;
};

/// A folder with a bad plug-in: stranger, other_version, failing, lying.
inline std::string fake_plugin(std::string const& kind) { return fake_plugins_dir() + "/" + kind; }

/// The folder of the command, where the build puts the real one.
inline std::string built_plugin() {
  return std::filesystem::path(built_command()).parent_path().string();
}

}  // namespace fairlane

/// Uses the real plug-in, which must load where it was built; skips the test where it was not.
#define FL_NEED_TORCH(dir)                                                                       \
  if (!std::filesystem::exists(::fairlane::built_plugin() + "/" + ::fairlane::kTorchPluginFile)) \
    GTEST_SKIP() << "this build has no LibTorch plug-in (FAIRLANE_TORCH)";                       \
  ::fairlane::PluginDir const dir(::fairlane::built_plugin())
