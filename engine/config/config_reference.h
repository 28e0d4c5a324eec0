// What the table of keys tells editors and people.
#pragma once

#include <string>

namespace fairlane {

/// The JSON schema (draft 2020-12) of configurations: keys, kinds, ranges, words and defaults.
std::string config_schema();

/// The reference page in Markdown: every key with its value, default and meaning.
std::string config_reference();

/// A key's default as YAML has it; empty where it has none.
std::string default_text(char const* key);

/// A key's meaning in one line, its words included.
std::string key_comment(char const* key);

}  // namespace fairlane
