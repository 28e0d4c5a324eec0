// YAML as this project accepts it: one document of plain data, every value with its place in the
// file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fairlane {

/// One value of a YAML document.
/// keys    [n] of a map, in order, distinct; empty otherwise
/// items   [n] values of a map or a sequence
struct YamlNode {
  enum class Kind { kNull, kScalar, kSequence, kMap };
  Kind kind = Kind::kNull;
  int line = 0;         // 1-based
  int column = 0;       // 1-based
  bool quoted = false;  // a scalar in quotes is text, whatever it looks like
  std::string scalar;
  std::vector<YamlNode> keys;
  std::vector<YamlNode> items;

  /// The value of a key of a map, or null.
  YamlNode const* find(std::string_view key) const;
  /// The scalar as a decimal integer, a number, or true/false; nothing when it is something else.
  std::optional<std::int64_t> integer() const;
  std::optional<double> number() const;
  std::optional<bool> boolean() const;
  /// "a list", "a map", "nothing" or the quoted scalar, for messages.
  std::string shown() const;
  /// The value on one line, as YAML that is read as the same value.
  std::string flow_text() const;
};

/// Bounds on what a document may hold.
struct YamlLimits {
  std::size_t bytes = std::size_t{1} << 24;
  int depth = 8;
  std::size_t nodes = std::size_t{1} << 20;
};

/// Parses one document. Anchors, aliases, tags, merge keys, repeated keys, keys that are not
/// scalars, further documents, control characters and malformed UTF-8 are refused. Throws
/// Error(kConfig) with source:line:column.
YamlNode parse_strict_yaml(std::string_view text, std::string const& source,
                           YamlLimits const& limits = {});

/// Error(kConfig) "source:line:column: what" for a node.
[[noreturn]] void fail_yaml(std::string const& source, YamlNode const& node,
                            std::string const& what);

/// Refuses keys of a map that are not in `known`, with a suggestion. Throws Error(kConfig).
void check_yaml_keys(std::string const& source, YamlNode const& map,
                     std::vector<std::string> const& known);

}  // namespace fairlane
