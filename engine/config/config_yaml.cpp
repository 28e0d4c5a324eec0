#include "engine/config/config_yaml.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/formats/strict_yaml.h"
#include "base/text.h"
#include "engine/config/config_keys.h"
#include "models/data/domain_yaml.h"

namespace fairlane {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 20;

std::string one_of(std::vector<std::string> const& names) {
  return fmt::format("one of {}", fmt::join(names, ", "));
}

/// The names that may stand in a section ("" is the top), in order.
std::vector<std::string> names_in(std::string const& section) {
  std::vector<std::string> names;
  for (ConfigKey const& key : config_keys()) {
    KeyName const parts = split_key(key.name);
    bool const in_top = section.empty() && !parts.section.empty();
    if (!in_top && parts.section != section) continue;
    std::string const& name = in_top ? parts.section : parts.last;
    if (names.empty() || names.back() != name) names.push_back(name);
  }
  return names;
}

/// "; did you mean 'global.num'?" for a name of another section, or for a misspelt one of this.
std::string suggestion(std::string const& name, std::vector<std::string> const& known) {
  for (ConfigKey const& key : config_keys()) {
    KeyName const parts = split_key(key.name);
    if (!parts.section.empty() && parts.last == name) {
      return fmt::format("; did you mean {}?", in_quotes(key.name));
    }
  }
  return did_you_mean(name, known);
}

/// Reads the value of a key; a section's value is a map of its keys.
void read_value(ConfigPlace& at, std::string const& key, YamlNode const& node, RunConfig& config) {
  at.key = key;
  if (ConfigKey const* const found = find_key(key)) {
    found->value->read(at, node, config);
    config.positions[key] = at.position(node);
    return;
  }
  std::vector<std::string> const known = names_in(key);
  if (node.kind == YamlNode::Kind::kNull && !key.empty()) return;
  if (node.kind != YamlNode::Kind::kMap) {
    if (key.empty()) at.fail(node, fmt::format("the file holds {}, expected a map", node.shown()));
    at.expected(node, "a map with " + one_of(known));
  }
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    std::string const& name = node.keys[i].scalar;
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      at.fail(node.keys[i],
              fmt::format("unknown key {}{}, expected {}{}", in_quotes(name),
                          key.empty() ? "" : " in " + key, one_of(known), suggestion(name, known)));
    }
    read_value(at, key.empty() ? name : key + "." + name, node.items[i], config);
  }
}

/// Same for the dotted key of a flag.
void read_override(Override const& change, RunConfig& config) {
  ConfigPlace at;
  at.source = change.place;
  at.is_flag = true;
  at.base = change.base;
  if (!change.is_yaml) at.code = ExitCode::kUsage;
  YamlNode node;
  node.line = node.column = 1;
  if (!change.is_yaml) {
    node.kind = YamlNode::Kind::kScalar;
    node.scalar = change.value;
  } else if (change.value.find_first_not_of(" \t") != std::string::npos) {
    node = parse_strict_yaml(change.value, change.place, {.bytes = kMaxBytes});
  }
  std::vector<std::string> const top = names_in("");
  bool const is_section = std::find(top.begin(), top.end(), change.key) != top.end();
  if (!is_section && find_key(change.key) == nullptr) {
    std::vector<std::string> all;
    for (ConfigKey const& key : config_keys()) all.emplace_back(key.name);
    std::string hint = suggestion(change.key, all);
    if (hint.empty()) hint = "; 'fairlane config' lists all";
    at.fail(node, fmt::format("unknown key {}{}", in_quotes(change.key), hint));
  }
  read_value(at, change.key, node, config);
}

/// Which attributes the domain flags as protected; empty where it flags none or cannot be read,
/// of which others tell once it matters.
std::string flagged_hint(RunConfig const& config) {
  constexpr std::size_t kMostNamed = 20;
  std::string names;
  std::size_t count = 0;
  try {
    for (Attribute const& attribute : read_domain_yaml(config.domain).attributes) {
      if (!attribute.is_protected || ++count > kMostNamed) continue;
      names += (names.empty() ? "" : ", ") + escaped(attribute.name);
    }
  } catch (Error const&) {
    return {};
  }
  if (count == 0) return {};
  return fmt::format("; {} flags {}{}", escaped(config.domain, config.domain.size()), names,
                     count > kMostNamed ? ", ..." : "");
}

void require(RunConfig const& config, YamlNode const& root, ModelUse use) {
  for (ConfigKey const& key : config_keys()) {
    if (key.required == nullptr || config.positions.contains(key.name)) continue;
    if (use == ModelUse::kMade && std::string_view(key.name) == "model") continue;
    fail_yaml(config.source, root,
              fmt::format("has no {}, expected {}{}", in_quotes(key.name), key.required,
                          std::string_view(key.name) == "protected" ? flagged_hint(config) : ""));
  }
}

}  // namespace

Override parse_set(std::string const& argument) {
  auto const equals = argument.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw Error(
        ExitCode::kUsage,
        fmt::format("--set is {}, expected key=value, such as global.num=10", in_quotes(argument)));
  }
  std::string key = argument.substr(0, equals);
  return {"--set " + escaped(key), std::move(key), argument.substr(equals + 1), true};
}

RunConfig read_run_config(std::string const& path, std::vector<Override> const& overrides,
                          ModelUse use) {
  std::string const base = std::filesystem::path(path).parent_path().string();
  return parse_run_config(read_file(path, kMaxBytes), path, base, overrides, use);
}

RunConfig overridden(RunConfig config, std::vector<Override> const& overrides) {
  for (Override const& change : overrides) read_override(change, config);
  return config;
}

RunConfig parse_run_config(std::string_view text, std::string const& source,
                           std::string const& base, std::vector<Override> const& overrides,
                           ModelUse use) {
  RunConfig config;
  config.source = source;
  YamlNode root = parse_strict_yaml(text, source, {.bytes = kMaxBytes});
  root.line = std::max(root.line, 1);  // a document of comments has no place of its own
  root.column = std::max(root.column, 1);
  ConfigPlace at;
  at.source = source;
  at.base = base;
  read_value(at, "", root, config);
  config = overridden(std::move(config), overrides);
  require(config, root, use);
  return config;
}

}  // namespace fairlane
