// A run's configuration: YAML and command-line overrides, checked strictly.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/config/run_config.h"

namespace fairlane {

/// A value of the command line for a key of the configuration, such as global.num.
/// place    the flag, for messages
/// is_yaml  the value is read as YAML (--set); otherwise it is taken as it is (--out), and what is
///          refused is an error of usage
/// base     of relative paths; empty: the working directory
struct Override {
  std::string place;
  std::string key;
  std::string value;
  bool is_yaml = true;
  std::string base = {};
};

/// Splits the "key=value" of a --set. Throws Error(kUsage).
Override parse_set(std::string const& argument);

/// Whether a command tests a model, or makes one: then no `model` is required.
enum class ModelUse { kTested, kMade };

/// Reads a configuration file; overrides apply in order and pass the same checks as the file.
/// Throws Error(kNoInput | kConfig | kUsage) with file:line:column, or the flag.
RunConfig read_run_config(std::string const& path, std::vector<Override> const& overrides,
                          ModelUse use = ModelUse::kTested);

/// Same, from text. `source` names it in messages; paths in it are relative to `base`.
RunConfig parse_run_config(std::string_view text, std::string const& source,
                           std::string const& base, std::vector<Override> const& overrides,
                           ModelUse use = ModelUse::kTested);

/// A configuration that was read, with overrides. Throws Error(kConfig | kUsage).
RunConfig overridden(RunConfig config, std::vector<Override> const& overrides);

}  // namespace fairlane
