// The encoding of an attribute as a domain file spells it.
#pragma once

#include <string>

#include "base/formats/strict_yaml.h"
#include "models/data/encoding.h"

namespace fairlane {

/// Reads `encoding:`. source names the file in messages, what the attribute's key.
/// Throws Error(kConfig) with file:line:column.
Encoding read_encoding_yaml(std::string const& source, YamlNode const& node,
                            std::string const& what);

/// Checks what an encoding needs to know of the codes, where the file alone says it.
/// Throws Error(kConfig) with file:line:column.
void check_encoding_yaml(std::string const& source, YamlNode const& node, std::string const& what,
                         Attribute const& attribute);

/// The text behind `encoding:`.
std::string format_encoding_yaml(Encoding const& encoding);

}  // namespace fairlane
