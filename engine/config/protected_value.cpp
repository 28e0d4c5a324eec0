#include "engine/config/protected_value.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace fairlane {
namespace {

using Kind = YamlNode::Kind;

/// The codes of `race: [0, 4]`; nothing means all of them.
std::vector<std::int32_t> compared_values(ConfigPlace const& at, YamlNode const& node,
                                          std::string const& what) {
  std::vector<std::int32_t> values;
  if (node.kind == Kind::kNull) return values;
  if (node.kind != Kind::kSequence) {
    at.fail(node, fmt::format("{} is {}, expected the list of codes to compare, such as [0, 4]",
                              what, node.shown()));
  }
  for (YamlNode const& item : node.items) {
    auto const value = item.integer();
    if (!value || *value < -kMaxCode || *value > kMaxCode) {
      at.fail(item, fmt::format("{} lists {}, expected integer codes", what, item.shown()));
    }
    auto const code = static_cast<std::int32_t>(*value);
    if (std::find(values.begin(), values.end(), code) != values.end()) {
      at.fail(item, fmt::format("{} lists {} twice", what, code));
    }
    values.push_back(code);
  }
  if (values.size() < 2) {
    at.fail(node, fmt::format("{} lists {} codes, expected at least two to compare", what,
                              values.size()));
  }
  std::sort(values.begin(), values.end());
  return values;
}

class ProtectedReader {
 public:
  ProtectedReader(ConfigPlace const& at, RunConfig& config) : at_(at), config_(config) {}

  void read(YamlNode const& node) {
    config_.protected_attributes.clear();
    if (node.kind == Kind::kSequence) {
      for (YamlNode const& item : node.items) entry(item);
    } else {
      entry(node);
    }
    if (config_.protected_attributes.empty()) {
      at_.fail(node, "protected is an empty list, expected one attribute or several");
    }
  }

 private:
  void entry(YamlNode const& node) {
    if (node.kind == Kind::kMap) {
      for (std::size_t i = 0; i < node.keys.size(); ++i) {
        std::string const what = fmt::format("protected: {}", in_quotes(node.keys[i].scalar));
        add(node.keys[i], compared_values(at_, node.items[i], what));
      }
      return;
    }
    if (node.kind != Kind::kScalar || node.scalar.empty()) {
      at_.expected(node, ProtectedValue().expected());
    }
    add(node, {});
  }

  void add(YamlNode const& name, std::vector<std::int32_t> values) {
    for (ProtectedAttribute const& before : config_.protected_attributes) {
      if (before.name == name.scalar) {
        at_.fail(name, fmt::format("protected lists {} twice", in_quotes(name.scalar)));
      }
    }
    config_.positions["protected." + name.scalar] = at_.position(name);
    config_.protected_attributes.push_back({name.scalar, std::move(values)});
  }

  ConfigPlace const& at_;
  RunConfig& config_;
};

}  // namespace

void ProtectedValue::read(ConfigPlace const& at, YamlNode const& node, RunConfig& config) const {
  ProtectedReader(at, config).read(node);
}

void ProtectedValue::record(RunConfig const& config, std::string const& name, Json& section) const {
  Json attributes = Json::array();
  for (ProtectedAttribute const& attribute : config.protected_attributes) {
    Json entry;
    entry["name"] = attribute.name;
    entry["values"] = attribute.values;
    attributes.push_back(std::move(entry));
  }
  section[name] = std::move(attributes);
}

void ProtectedValue::restore(Json const& section, std::string const& name,
                             RunConfig& config) const {
  config.protected_attributes.clear();
  for (Json const& entry : section.at(name)) {
    config.protected_attributes.push_back(
        {entry.at("name").get<std::string>(), entry.at("values").get<std::vector<std::int32_t>>()});
  }
}

Json ProtectedValue::schema() const {
  Json name;
  name["type"] = "string";
  name["minLength"] = 1;
  Json code;
  code["type"] = "integer";
  code["minimum"] = -kMaxCode;
  code["maximum"] = kMaxCode;
  Json codes;
  codes["type"] = Json::array({"array", "null"});
  codes["items"] = std::move(code);
  codes["minItems"] = 2;
  codes["uniqueItems"] = true;
  Json compared;
  compared["type"] = "object";
  compared["minProperties"] = 1;
  compared["additionalProperties"] = std::move(codes);
  Json several;
  several["type"] = "array";
  several["minItems"] = 1;
  several["items"]["anyOf"] = Json::array({name, compared});
  Json schema;
  schema["anyOf"] = Json::array({name, compared, several});
  return schema;
}

std::string ProtectedValue::expected() const {
  return "attribute names, such as [age, race] or {race: [0, 4]}";
}

}  // namespace fairlane
