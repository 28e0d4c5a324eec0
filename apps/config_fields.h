// The keys of a configuration, and how the value of each is read.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "engine/run_config.h"
#include "kernels/core/error.h"
#include "models/strict_yaml.h"

namespace fairlane {

/// Where a value of a configuration stands.
struct ConfigPlace {
  std::string source;  // file, or the flag
  bool is_flag = false;
  std::filesystem::path base;  // for relative paths
  std::string key;             // dotted

  /// Throws Error(code) with the place and what is wrong.
  [[noreturn]] void fail(YamlNode const& node, std::string const& what,
                         ExitCode code = ExitCode::kConfig) const;
  /// Same with the key and its value, of which `what` was expected.
  [[noreturn]] void expected(YamlNode const& node, std::string const& what) const;
  /// "file:line:column", or the flag.
  std::string position(YamlNode const& node) const;
};

/// A key: its dotted name, and what reads its value. read throws Error(kConfig), or kUnavailable for what was not built.
struct ConfigField {
  char const* key;
  void (*read)(ConfigPlace const& at, YamlNode const& node, RunConfig& config);
};

/// Everything that a configuration may say, in the order of the documentation.
std::span<ConfigField const> config_fields();

/// "one of a, b, c".
std::string one_of(std::vector<std::string> const& names);

}  // namespace fairlane
