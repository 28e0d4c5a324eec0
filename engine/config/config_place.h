// Where a value of a configuration stands, for messages.
#pragma once

#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/formats/strict_yaml.h"

namespace fairlane {

/// The file or the flag that holds a value, and the value's key.
struct ConfigPlace {
  std::string source;  // file, or the flag
  bool is_flag = false;
  ExitCode code = ExitCode::kConfig;  // of a value that is refused
  std::filesystem::path base;         // for relative paths
  std::string key;                    // dotted

  /// Throws Error(code) with the place and what is wrong.
  [[noreturn]] void fail(YamlNode const& node, std::string const& what) const;
  /// Same with the key and its value, of which `what` was expected.
  [[noreturn]] void expected(YamlNode const& node, std::string const& what) const;
  /// "file:line:column", or the flag.
  std::string position(YamlNode const& node) const;
};

}  // namespace fairlane
