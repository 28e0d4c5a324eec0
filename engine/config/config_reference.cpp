#include "engine/config/config_reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "engine/config/config_keys.h"

namespace fairlane {
namespace {

constexpr char const* kIntroduction = R"(# Configuration

<!-- `fairlane config` writes this page; what it says stands in engine/config/config_keys.cpp. -->

A run, and every other command that takes a CONFIG, is described by one YAML file:

```yaml
model: model.h5
data: people.csv
domain: people.domain.yaml
protected: [sex]
budget: {seconds: 60}
output: {dir: results}
```

`fairlane init MODEL DATA` writes one to start from. Keys that are left out have their defaults,
which are the papers' values. A key that a method or command does not use is accepted; one that
nobody knows is an error, as is a key that stands twice. Anchors, aliases and tags are refused.

Paths in the file are relative to it. On the command line, `--set KEY=VALUE` overrides any key by
its name below, such as `--set global.num=10`, or a section, `--set 'budget={seconds: 5}'`; its
values are YAML, and its paths are relative to the working directory. `--out DIR` stands for
`output.dir`, `--seed S` for `seed`; both win over `--set`.

`fairlane config --schema > fairlane.schema.json` writes a JSON schema for editors. Those with the
YAML language server check and complete a file that begins with

```yaml
# yaml-language-server: $schema=fairlane.schema.json
```
)";

ConfigKey const& known(char const* name) {
  ConfigKey const* const key = find_key(name);
  if (key == nullptr) throw std::out_of_range(std::string("no key ") + name);
  return *key;
}

bool allows_null(Json const& schema) {
  if (schema.contains("enum")) {
    auto const& words = schema.at("enum");
    return std::any_of(words.begin(), words.end(), [](Json const& one) { return one.is_null(); });
  }
  if (!schema.contains("type") || !schema.at("type").is_array()) return false;
  Json const& types = schema.at("type");
  return std::any_of(types.begin(), types.end(), [](Json const& type) { return type == "null"; });
}

/// What holds where the key is left out; null and `false` where nothing does.
struct Default {
  Json value;
  bool known = false;
};

Default default_of(ConfigKey const& key) {
  if (key.required != nullptr) return {};
  Json section;
  key.value->record(RunConfig(), "value", section);
  Json const& value = section.at("value");
  if (value.is_null() && !allows_null(key.value->schema())) return {};
  return {value, true};
}

std::string yaml_of(Json const& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string with_unit(std::string text, ConfigKey const& key) {
  if (*key.unit != '\0') text += fmt::format(" [{}]", key.unit);
  return text;
}

Json key_schema(ConfigKey const& key) {
  std::string description = with_unit(key.help, key);
  for (Choice const& choice : key.value->choices()) {
    description += fmt::format("\n{}: {}", choice.name, choice.help);
  }
  Json schema;
  schema["description"] = description;
  Json const kind = key.value->schema();
  for (auto const& [name, value] : kind.items()) schema[name] = value;
  Default const absent = default_of(key);
  if (absent.known) schema["default"] = absent.value;
  return schema;
}

/// A map that takes the keys of a section ("": the top) and no others.
Json map_schema(std::string const& section) {
  Json schema;
  schema["type"] = "object";
  schema["additionalProperties"] = false;
  Json& properties = schema["properties"];
  for (ConfigKey const& key : config_keys()) {
    KeyName const name = split_key(key.name);
    if (name.section == section) {
      properties[name.last] = key_schema(key);
    } else if (section.empty() && !properties.contains(name.section)) {
      Json inner = map_schema(name.section);
      inner["type"] = Json::array({"object", "null"});
      inner["description"] = section_named(name.section).help;
      properties[name.section] = std::move(inner);
    }
  }
  return schema;
}

std::string cell(std::string const& text) {
  std::string escaped;
  for (char const c : text) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
  return escaped;
}

std::string code(std::string const& text) { return "`" + text + "`"; }

/// The rows of a section ("": the top), and what their words mean.
std::string section_text(std::string const& section) {
  std::string text = "\n| key | value | default | meaning |\n|---|---|---|---|\n";
  std::string words;
  for (ConfigKey const& key : config_keys()) {
    if (split_key(key.name).section != section) continue;
    Default const absent = default_of(key);
    auto const choices = key.value->choices();
    text += fmt::format("| `{}` | {} | {} | {} |\n", key.name,
                        choices.empty() ? cell(with_unit(key.value->expected(), key)) : "a word",
                        key.required != nullptr ? "required"
                        : absent.known          ? code(yaml_of(absent.value))
                                                : "",
                        cell(key.help));
    if (choices.empty()) continue;
    words += fmt::format("\n`{}`:\n\n", key.name);
    for (Choice const& choice : choices)
      words += fmt::format("- `{}`: {}\n", choice.name, choice.help);
  }
  return text + words;
}

}  // namespace

std::string config_schema() {
  Json schema;
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["title"] = "Fairlane configuration";
  Json const keys = map_schema("");
  for (auto const& [name, value] : keys.items()) schema[name] = value;
  Json required = Json::array();
  for (ConfigKey const& key : config_keys()) {
    // What a flag gives may be left out of the file.
    if (key.required != nullptr && key.flag == nullptr) required.push_back(key.name);
  }
  schema["required"] = std::move(required);
  return schema.dump(2) + "\n";
}

std::string config_reference() {
  std::string text = kIntroduction;
  text += "\n## General\n" + section_text("");
  for (ConfigSection const& section : config_sections()) {
    text += fmt::format("\n## `{}`\n\n{}\n", section.name, section.help);
    text += section_text(section.name);
  }
  return text;
}

std::string default_text(char const* key) {
  Default const absent = default_of(known(key));
  return absent.known ? yaml_of(absent.value) : "";
}

std::string key_comment(char const* key) {
  ConfigKey const& row = known(key);
  auto const choices = row.value->choices();
  return choices.empty() ? row.help : fmt::format("{}: {}", row.help, either_of(choices));
}

}  // namespace fairlane
