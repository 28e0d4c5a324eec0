// The flags of every command that takes a CONFIG.
#pragma once

#include <string>
#include <vector>

#include "engine/config/config_yaml.h"
#include "engine/config/run_config.h"
#include "engine/count/enumerate.h"

namespace fairlane {

class Arguments;

/// The flags of every command that loads a model, as given: --allow-exec, --exec-children and
/// --exec-timeout.
struct ModelFlags {
  bool allow_exec = false;
  std::string exec_children;
  std::string exec_timeout;

  void add_to(Arguments& app);
  /// Throws Error(kUsage).
  ModelOptions options() const;
};

/// CONFIG, --out, --backend, --threads, --batch, --checkpoint, --memory, those of models, --seed
/// and --set as given.
struct ConfigOptions {
  std::string path;
  std::string out;
  std::string backend = "auto";
  std::string threads;
  std::string batch;
  std::string checkpoint;
  std::string memory;
  ModelFlags model;
  std::string seed;
  std::vector<std::string> set;

  /// Adds the arguments to a subcommand; CONFIG may be left out where it is not required.
  /// first  name and help of `path`
  struct FirstArgument {
    char const* name;
    char const* help;
  };
  void add_to(Arguments& app, bool config_required = true,
              char const* out_help = "directory for the results, instead of output.dir",
              FirstArgument const& first = {"CONFIG", "configuration (YAML)"});
  /// The file with all overrides. Throws Error.
  RunConfig config(ModelUse use = ModelUse::kTested) const;
  /// Throws Error(kUsage | kUnavailable).
  Execution execution() const;
};

/// "2/7" of a --shard. Throws Error(kUsage).
Shard parse_shard(std::string const& text);

/// Bytes of "2000000", "512K", "64M" or "8G". Throws Error(kUsage) naming the flag.
std::uint64_t parse_bytes(std::string const& flag, std::string const& text);

/// Checks the --backend of a command. Throws Error(kUsage | kUnavailable).
void check_backend_name(std::string const& name);

}  // namespace fairlane
