#include "engine/config/config_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "base/files.h"
#include "base/text.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostSeed = std::numeric_limits<std::uint64_t>::max();
constexpr std::int64_t kMostInterval = std::numeric_limits<std::int32_t>::max();
constexpr char const* kNever = "inf";

std::string text_of(ConfigPlace const& at, YamlNode const& node, std::string const& what) {
  if (node.kind != YamlNode::Kind::kScalar || node.scalar.empty()) at.expected(node, what);
  return node.scalar;
}

fs::path absolute_of(std::string const& path) {
  std::error_code ec;
  auto const absolute = absolute_path(path);
  auto resolved = fs::weakly_canonical(absolute, ec);
  return ec ? absolute.lexically_normal() : resolved;  // whoever opens it says what is wrong
}

/// A path that is relative to a folder. What is beside a folder is not what is beside a link to it:
/// "link/.." stays as it is.
std::string joined_path(fs::path const& folder, std::string const& path) {
  fs::path const joined = folder / path;
  fs::path const normal = joined.lexically_normal();
  bool const is_same = joined == normal || absolute_of(joined) == absolute_of(normal);
  return (is_same ? normal : joined).string();
}

std::string path_of(ConfigPlace const& at, YamlNode const& node, std::string const& what) {
  std::string const text = text_of(at, node, what);
  if (text.find('\0') != std::string::npos) at.expected(node, "a path without NUL characters");
  return joined_path(at.base, text);
}

// A path as seen from the manifest's directory, so that both can be moved together.
std::string path_from(std::string const& dir, std::string const& path) {
  auto const relative = absolute_of(path).lexically_relative(absolute_of(dir.empty() ? "." : dir));
  return (relative.empty() ? absolute_of(path) : relative).generic_string();
}

std::string resolved_path(Json const& path, std::string const& dir) {
  return joined_path(dir, path.get<std::string>());
}

std::vector<std::string> names_of(std::vector<Choice> const& choices) {
  std::vector<std::string> names;
  for (Choice const& choice : choices) names.push_back(choice.name);
  return names;
}

Json typed(char const* type) {
  Json schema;
  schema["type"] = type;
  return schema;
}

Json text_schema() {
  Json schema = typed("string");
  schema["minLength"] = 1;
  return schema;
}

template <class T>
Json range_schema(char const* type, T low, T high) {
  Json schema = typed(type);
  schema["minimum"] = low;
  schema["maximum"] = high;
  return schema;
}

Json any_of(Json one, Json other) {
  Json schema;
  schema["anyOf"] = Json::array({std::move(one), std::move(other)});
  return schema;
}

Json constant(Json value) {
  Json schema;
  schema["const"] = std::move(value);
  return schema;
}

}  // namespace

std::int64_t IntegerKind::read(ConfigPlace const& at, YamlNode const& node) const {
  auto const value = node.integer();
  if (!value || *value < low || *value > high) at.expected(node, expected());
  return *value;
}

Json IntegerKind::schema() const {
  Json schema = typed("integer");
  schema["minimum"] = low;
  if (high != kNoLimit) schema["maximum"] = high;
  return schema;
}

std::string IntegerKind::expected() const {
  return high == kNoLimit ? fmt::format("an integer of at least {}", low)
                          : fmt::format("an integer {}..{}", low, high);
}

std::vector<int> IntegersKind::read(ConfigPlace const& at, YamlNode const& node) const {
  std::vector<int> values;
  if (node.kind == YamlNode::Kind::kNull) return values;
  if (node.kind != YamlNode::Kind::kSequence || node.items.empty() || node.items.size() > most)
    at.expected(node, expected());
  for (YamlNode const& item : node.items) values.push_back(static_cast<int>(each.read(at, item)));
  return values;
}

Json IntegersKind::recorded(std::vector<int> const& values, std::string const& /*dir*/) const {
  return values.empty() ? Json(nullptr) : Json(values);
}

std::vector<int> IntegersKind::restored(Json const& json, std::string const& /*dir*/) const {
  return json.is_null() ? std::vector<int>() : json.get<std::vector<int>>();
}

Json IntegersKind::schema() const {
  Json schema;
  schema["type"] = Json::array({"array", "null"});
  schema["items"] = each.schema();
  schema["minItems"] = 1;
  schema["maxItems"] = most;
  return schema;
}

std::string IntegersKind::expected() const {
  return fmt::format("a list of 1 to {} numbers, each {}, or null", most, each.expected());
}

std::uint64_t SeedKind::read(ConfigPlace const& at, YamlNode const& node) const {
  std::string_view const digits = node.scalar;
  bool const plain = node.kind == YamlNode::Kind::kScalar && !node.quoted;
  std::uint64_t value = 0;
  auto const [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (!plain || ec != std::errc() || end != digits.data() + digits.size()) {
    at.expected(node, expected());
  }
  return value;
}

Json SeedKind::schema() const { return range_schema<std::uint64_t>("integer", 0, kMostSeed); }

std::string SeedKind::expected() const { return fmt::format("an integer 0..{}", kMostSeed); }

double NumberKind::read(ConfigPlace const& at, YamlNode const& node) const {
  auto const value = node.number();
  bool const inside = value && *value >= low && *value <= high;
  if (!inside || (open && (*value == low || *value == high))) at.expected(node, words);
  return *value;
}

Json NumberKind::schema() const {
  Json schema = typed("number");
  schema[open ? "exclusiveMinimum" : "minimum"] = low;
  schema[open ? "exclusiveMaximum" : "maximum"] = high;
  return schema;
}

double StepKind::read(ConfigPlace const& at, YamlNode const& node) const {
  auto const step = node.number();
  if (!step || *step < 0.0 || *step > static_cast<double>(kMaxCode)) at.expected(node, expected());
  if (*step < 1.0 || *step != std::floor(*step)) {
    at.expected(node, expected() + "; attributes hold integers, so there are no parts of a step");
  }
  return *step;
}

Json StepKind::schema() const { return range_schema("integer", 1, static_cast<int>(kMaxCode)); }

std::string StepKind::expected() const {
  return fmt::format("a whole number of codes 1..{}", kMaxCode);
}

std::uint32_t RenewalKind::read(ConfigPlace const& at, YamlNode const& node) const {
  bool const text = node.kind == YamlNode::Kind::kScalar;
  if (text && (node.scalar == kNever || node.scalar == ".inf")) return kNeverUpdate;
  auto const value = node.integer();
  if (!value || *value < 0 || *value > kMostInterval) at.expected(node, expected());
  return static_cast<std::uint32_t>(*value);
}

Json RenewalKind::recorded(std::uint32_t value, std::string const& /*dir*/) const {
  return value == kNeverUpdate ? Json(kNever) : Json(value);
}

std::uint32_t RenewalKind::restored(Json const& json, std::string const& /*dir*/) const {
  return json == kNever ? kNeverUpdate : json.get<std::uint32_t>();
}

Json RenewalKind::schema() const {
  return any_of(range_schema<std::int64_t>("integer", 0, kMostInterval), constant(kNever));
}

std::string RenewalKind::expected() const {
  return fmt::format("an integer 0..{} or \"{}\"", kMostInterval, kNever);
}

bool SwitchKind::read(ConfigPlace const& at, YamlNode const& node) const {
  auto const value = node.boolean();
  if (!value) at.expected(node, expected());
  return *value;
}

Json SwitchKind::schema() const { return typed("boolean"); }

std::string PathKind::read(ConfigPlace const& at, YamlNode const& node) const {
  if (optional && node.kind == YamlNode::Kind::kNull) return {};
  return path_of(at, node, "a path");
}

Json PathKind::recorded(std::string const& path, std::string const& dir) const {
  return path.empty() ? Json(nullptr) : Json(path_from(dir, path));
}

std::string PathKind::restored(Json const& json, std::string const& dir) const {
  return json.is_null() ? std::string() : resolved_path(json, dir);
}

Json PathKind::schema() const {
  Json schema = text_schema();
  if (optional) schema["type"] = Json::array({"string", "null"});
  return schema;
}

std::string PathKind::expected() const { return optional ? "a path, or null" : "a path"; }

std::string ResultsKind::read(ConfigPlace const& at, YamlNode const& node) const {
  return path_of(at, node, "a path");
}

Json ResultsKind::recorded(std::string const& /*path*/, std::string const& /*dir*/) const {
  return ".";
}

std::string ResultsKind::restored(Json const& /*json*/, std::string const& dir) const {
  return dir;
}

Json ResultsKind::schema() const { return text_schema(); }

std::string WordKind::read(ConfigPlace const& at, YamlNode const& node) const {
  std::string const name = text_of(at, node, expected());
  std::vector<std::string> const names = names_of(words);
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    at.fail(node, fmt::format("{} is {}, expected {}{}", at.key, in_quotes(name), expected(),
                              did_you_mean(name, names)));
  }
  return name;
}

Json WordKind::recorded(std::string const& word, std::string const& /*dir*/) const {
  return word.empty() ? Json(nullptr) : Json(word);
}

std::string WordKind::restored(Json const& json, std::string const& /*dir*/) const {
  if (may_be_unset && json.is_null()) return {};
  auto word = json.get<std::string>();
  bool const known = std::any_of(words.begin(), words.end(),
                                 [&](Choice const& choice) { return choice.name == word; });
  if (!known) throw std::out_of_range(fmt::format("unknown value {}", in_quotes(word)));
  return word;
}

Json WordKind::schema() const {
  Json schema;
  schema["enum"] = names_of(words);
  return schema;
}

std::string WordKind::expected() const {
  return fmt::format("one of {}", fmt::join(names_of(words), ", "));
}

void ModelValue::read(ConfigPlace const& at, YamlNode const& node, RunConfig& config) const {
  std::string const text = text_of(at, node, expected());
  config.model = is_command(text) ? text : path_of(at, node, expected());
  config.model_folder = at.base.string();
}

void ModelValue::record(RunConfig const& config, std::string const& name, Json& section) const {
  std::string const& dir = config.output.dir;
  if (!is_command(config.model)) {
    section[name] = PathKind().recorded(config.model, dir);
    return;
  }
  section[name] = config.model;
  section[name + "_folder"] =
      path_from(dir, config.model_folder.empty() ? std::string(".") : config.model_folder);
}

void ModelValue::restore(Json const& section, std::string const& name, RunConfig& config) const {
  std::string const& dir = config.output.dir;
  config.model = section.at(name).get<std::string>();
  if (is_command(config.model)) {
    config.model_folder = resolved_path(section.at(name + "_folder"), dir);
  } else {
    config.model = resolved_path(section.at(name), dir);
  }
}

Json ModelValue::schema() const { return text_schema(); }

std::string ModelValue::expected() const { return "a path"; }

}  // namespace fairlane
