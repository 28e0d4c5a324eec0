// The kinds of values that keys of a configuration have: how each is read from YAML, recorded in a
// manifest, and described to editors and people. Only the table of keys needs them.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/config/config_keys.h"

namespace fairlane {

// A kind is a struct with
// read      the value of a YAML node; throws as ConfigValue::read does
// schema    the JSON schema of what read takes
// expected  the same in words
// recorded  (not where it is the value itself) what a manifest in `dir` has
// restored  (likewise) the value of it

/// An integer low..high.
struct IntegerKind {
  static constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
  std::int64_t low = 0;
  std::int64_t high = kNoLimit;

  std::int64_t read(ConfigPlace const& at, YamlNode const& node) const;
  Json schema() const;
  std::string expected() const;
};

/// A list of integers, such as [64, 32], or null for none.
struct IntegersKind {
  IntegerKind each;
  std::size_t most = 0;

  std::vector<int> read(ConfigPlace const& at, YamlNode const& node) const;
  Json recorded(std::vector<int> const& values, std::string const& dir) const;
  std::vector<int> restored(Json const& json, std::string const& dir) const;
  Json schema() const;
  std::string expected() const;
};

/// Any integer of 64 bits, for the seed of random numbers.
struct SeedKind {
  std::uint64_t read(ConfigPlace const& at, YamlNode const& node) const;
  Json schema() const;
  std::string expected() const;
};

/// A number low..high; without the bounds themselves where it is open.
struct NumberKind {
  double low = 0.0;
  double high = 0.0;
  std::string words;
  bool open = false;

  double read(ConfigPlace const& at, YamlNode const& node) const;
  Json schema() const;
  std::string expected() const { return words; }
};

/// The length of a step: attributes hold integers.
struct StepKind {
  double read(ConfigPlace const& at, YamlNode const& node) const;
  Json schema() const;
  std::string expected() const;
};

/// A number of steps, or "inf" for never.
struct RenewalKind {
  std::uint32_t read(ConfigPlace const& at, YamlNode const& node) const;
  Json recorded(std::uint32_t value, std::string const& dir) const;
  std::uint32_t restored(Json const& json, std::string const& dir) const;
  Json schema() const;
  std::string expected() const;
};

/// true or false.
struct SwitchKind {
  bool read(ConfigPlace const& at, YamlNode const& node) const;
  Json schema() const;
  std::string expected() const { return "true or false"; }
};

/// A file; where it is optional, null and an empty path mean none.
struct PathKind {
  bool optional = false;

  std::string read(ConfigPlace const& at, YamlNode const& node) const;
  Json recorded(std::string const& path, std::string const& dir) const;
  std::string restored(Json const& json, std::string const& dir) const;
  Json schema() const;
  std::string expected() const;
};

/// The directory that the manifest itself is in.
struct ResultsKind {
  std::string read(ConfigPlace const& at, YamlNode const& node) const;
  Json recorded(std::string const& path, std::string const& dir) const;
  std::string restored(Json const& json, std::string const& dir) const;
  Json schema() const;
  std::string expected() const { return "a directory"; }
};

/// One of several words; where it may be unset, manifests have null for no word.
struct WordKind {
  std::vector<Choice> words;
  bool may_be_unset = false;

  std::string read(ConfigPlace const& at, YamlNode const& node) const;
  Json recorded(std::string const& word, std::string const& dir) const;
  std::string restored(Json const& json, std::string const& dir) const;
  Json schema() const;
  std::string expected() const;
  std::vector<Choice> choices() const { return words; }
};

/// A value of an enumeration, by its word.
template <class E>
struct EnumKind {
  WordKind words = {choices_of()};

  E read(ConfigPlace const& at, YamlNode const& node) const {
    return find_word<E>(words.read(at, node))->value;
  }
  Json recorded(E value, std::string const& /*dir*/) const { return name_of(value); }
  E restored(Json const& json, std::string const& dir) const {
    return find_word<E>(words.restored(json, dir))->value;
  }
  Json schema() const { return words.schema(); }
  std::string expected() const { return words.expected(); }
  std::vector<Choice> choices() const { return words.words; }

  static std::vector<Choice> choices_of() {
    std::vector<Choice> all;
    for (Word<E> const& word : kEnumWords<E>) all.push_back({word.name, word.help});
    return all;
  }
};

/// A value of another kind, or null for none.
template <class Kind>
struct OptionalKind {
  Kind kind;

  auto read(ConfigPlace const& at, YamlNode const& node) const {
    using Value = decltype(kind.read(at, node));
    if (node.kind == YamlNode::Kind::kNull) return std::optional<Value>();
    return std::optional<Value>(kind.read(at, node));
  }
  template <class T>
  Json recorded(std::optional<T> const& value, std::string const& dir) const {
    if (!value) return nullptr;
    if constexpr (requires { kind.recorded(*value, dir); })
      return kind.recorded(*value, dir);
    else
      return Json(*value);
  }
  auto restored(Json const& json, std::string const& dir) const {
    using Value = decltype(kind.read(std::declval<ConfigPlace>(), std::declval<YamlNode>()));
    if (json.is_null()) return std::optional<Value>();
    if constexpr (requires { kind.restored(json, dir); })
      return std::optional<Value>(kind.restored(json, dir));
    else
      return std::optional<Value>(json.get<Value>());
  }
  Json schema() const {
    Json schema = kind.schema();
    if (schema.contains("enum"))
      schema["enum"].push_back(nullptr);
    else
      schema["type"] = Json::array({schema["type"], "null"});
    return schema;
  }
  std::string expected() const { return kind.expected() + ", or null"; }
};

/// object.*first.*rest...
template <class Object, class First, class... Rest>
auto& member_of(Object& object, First first, Rest... rest) {
  if constexpr (sizeof...(rest) == 0) {
    return object.*first;
  } else {
    return member_of(object.*first, rest...);
  }
}

/// A member of RunConfig that holds a value of a kind.
template <class Kind, class... Members>
class MemberValue final : public ConfigValue {
 public:
  explicit MemberValue(Kind kind, Members... members)
      : kind_(std::move(kind)), members_(members...) {}

  void read(ConfigPlace const& at, YamlNode const& node, RunConfig& config) const override {
    auto& value = member(config);
    value = static_cast<std::remove_reference_t<decltype(value)>>(kind_.read(at, node));
  }
  void record(RunConfig const& config, std::string const& name, Json& section) const override {
    auto const& value = member(config);
    if constexpr (requires { kind_.recorded(value, config.output.dir); }) {
      section[name] = kind_.recorded(value, config.output.dir);
    } else {
      section[name] = value;
    }
  }
  void restore(Json const& section, std::string const& name, RunConfig& config) const override {
    auto& value = member(config);
    Json const& json = section.at(name);
    if constexpr (requires { kind_.restored(json, config.output.dir); }) {
      value = kind_.restored(json, config.output.dir);
    } else {
      value = json.get<std::remove_reference_t<decltype(value)>>();
    }
  }
  Json schema() const override { return kind_.schema(); }
  std::string expected() const override { return kind_.expected(); }
  std::vector<Choice> choices() const override {
    if constexpr (requires { kind_.choices(); }) return kind_.choices();
    return ConfigValue::choices();
  }

 private:
  template <class Config>
  auto& member(Config& config) const {
    return std::apply(
        [&](auto... members) -> auto& { return member_of(config, members...); }, members_);
  }

  Kind kind_;
  std::tuple<Members...> members_;
};

/// A path, or a command, which is left as it is and runs where a path would begin.
class ModelValue final : public ConfigValue {
 public:
  void read(ConfigPlace const& at, YamlNode const& node, RunConfig& config) const override;
  void record(RunConfig const& config, std::string const& name, Json& section) const override;
  void restore(Json const& section, std::string const& name, RunConfig& config) const override;
  Json schema() const override;
  std::string expected() const override;
};

}  // namespace fairlane
