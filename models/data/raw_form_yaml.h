// What a domain file says of the raw table: `raw:`, and an attribute's `column:` and `missing:`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/formats/strict_yaml.h"
#include "models/data/domain.h"

namespace fairlane {

/// Reads `raw:`. source names the file in messages. Throws Error(kConfig) with file:line:column.
RawForm read_raw_form_yaml(std::string const& source, YamlNode const& node);

/// Reads `column:` and `missing:` of an attribute. what: the attribute in messages.
/// Throws Error(kConfig) with file:line:column.
void read_raw_keys_yaml(std::string const& source, YamlNode const& node, std::string const& what,
                        Attribute& attribute);

/// Checks that the attributes and the form go together. root: the document.
/// Throws Error(kConfig) with file:line:column.
void check_raw_form_yaml(std::string const& source, YamlNode const& root, Domain const& domain);

/// The text behind `raw:`.
std::string format_raw_form_yaml(RawForm const& form);

/// A list of names, such as [a, "b c"], distinct. what: the key in messages.
/// Throws Error(kConfig) with file:line:column.
std::vector<std::string> read_names_yaml(std::string const& source, YamlNode const& node,
                                         std::string const& what);
/// A name as YAML takes it, in quotes where it needs them.
std::string format_name_yaml(std::string const& name);
/// A text in double quotes.
std::string format_quoted_yaml(std::string_view text);

}  // namespace fairlane
