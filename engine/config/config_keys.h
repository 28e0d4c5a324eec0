// The keys of a configuration, one row each: whatever reads, records or describes them goes by this
// table.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/formats/json.h"
#include "engine/config/config_place.h"
#include "engine/config/run_config.h"

namespace fairlane {

/// A word that a value may be, and what it means.
struct Choice {
  std::string name;
  std::string help;
};
/// "a, b or c".
std::string either_of(std::vector<Choice> const& choices);

/// A member of RunConfig as a key's value.
class ConfigValue {
 public:
  virtual ~ConfigValue() = default;

  /// Takes the value from YAML. Throws Error(at.code | kUnavailable).
  virtual void read(ConfigPlace const& at, YamlNode const& node, RunConfig& config) const = 0;
  /// Adds the value to its section of a manifest; paths are relative to config.output.dir.
  virtual void record(RunConfig const& config, std::string const& name, Json& section) const = 0;
  /// Takes back what record() added. Throws where it is something else.
  virtual void restore(Json const& section, std::string const& name, RunConfig& config) const = 0;
  /// The JSON schema of what read() takes.
  virtual Json schema() const = 0;
  /// The same in words, as in "expected an integer 1..10".
  virtual std::string expected() const = 0;
  /// The words that the value may be; none where it is no word.
  virtual std::vector<Choice> choices() const { return {}; }
};

/// One key.
struct ConfigKey {
  char const* name;  // dotted
  std::shared_ptr<ConfigValue const> value;
  char const* help;                // one line
  char const* unit = "";           // of a number
  char const* required = nullptr;  // what is expected of a configuration that lacks the key
  char const* flag = nullptr;      // of the command line, for the same
  char const* before = nullptr;    // JSON: the value of manifests that do not have the key yet
  bool recorded = true;            // in the manifest's `config`; otherwise beside it
};

/// Keys with a common first name.
struct ConfigSection {
  char const* name;
  char const* help;
  bool in_every_manifest = true;  // where it is missing, its keys have their defaults
};

/// All keys, in the order of the documentation and of manifests; those of a section stand together.
std::span<ConfigKey const> config_keys();
/// The key of this name; null when there is none.
ConfigKey const* find_key(std::string_view name);
/// All sections, in order.
std::span<ConfigSection const> config_sections();
/// The section of this name. Throws std::out_of_range.
ConfigSection const& section_named(std::string_view name);

/// A dotted name in two parts; the section is empty at the top.
struct KeyName {
  std::string section;
  std::string last;
};
KeyName split_key(std::string_view name);

}  // namespace fairlane
