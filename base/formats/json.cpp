#include "base/formats/json.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/formats/strict_json.h"

namespace fairlane {
namespace {

using Library = nlohmann::ordered_json;

/// Far above what our own files need.
constexpr int kMaxDepth = 64;

Library as_library(Json const& value) {
  if (value.is_array()) {
    Library array = Library::array();
    for (Json const& item : value) array.push_back(as_library(item));
    return array;
  }
  if (value.is_object()) {
    Library object = Library::object();
    // Keys differ: emplace_back of the underlying vector does not look for each among the others.
    std::vector<Library::object_t::value_type>& members = object.get_ref<Library::object_t&>();
    for (auto const& [key, member] : value.items()) members.emplace_back(key, as_library(member));
    return object;
  }
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  return nullptr;
}

}  // namespace

Json::Json(std::string value) : value_(Box<std::string>(std::move(value))) {}
Json::Json(Array items) : value_(Box<Array>(std::move(items))) {}

Json::Json(std::initializer_list<Json> items) {
  bool is_object = true;
  for (Json const& item : items) {
    is_object = is_object && item.is_array() && item.size() == 2 && item[0].is_string();
  }
  if (is_object) {
    Object members;
    for (Json const& item : items) members.emplace_back(item[0].text(), item[1]);
    value_ = Box<Object>(std::move(members));
  } else {
    value_ = Box<Array>(Array(items));
  }
}

Json Json::array(std::initializer_list<Json> items) { return Json(Array(items)); }

Json Json::object() {
  Json result;
  result.value_ = Box<Object>(Object());
  return result;
}

bool Json::is_number_unsigned() const {
  if (auto const* const value = std::get_if<std::int64_t>(&value_)) return *value >= 0;
  return std::holds_alternative<std::uint64_t>(value_);
}

void Json::refuse(char const* expected) const {
  std::string shown = is_array() ? "an array" : is_object() ? "an object" : dump();
  constexpr std::size_t kShown = 60;
  if (shown.size() > kShown) shown = shown.substr(0, kShown) + "...";
  throw JsonError(fmt::format("{}, expected {}", shown, expected));
}

std::size_t Json::size() const {
  if (is_null()) return 0;
  if (is_object()) return items().size();
  return list().size();
}

Json::Array const& Json::list() const {
  if (!is_array()) refuse("an array");
  return *std::get<Box<Array>>(value_);
}

Json const* Json::begin() const { return is_null() ? nullptr : list().data(); }
Json const* Json::end() const { return is_null() ? nullptr : list().data() + list().size(); }

Json const& Json::at(std::size_t i) const {
  Array const& items = list();
  if (i >= items.size())
    throw JsonError(fmt::format("{} items, expected more than {}", items.size(), i));
  return items[i];
}

void Json::push_back(Json item) {
  if (is_null()) *this = array();
  if (!is_array()) refuse("an array");
  std::get<Box<Array>>(value_)->push_back(std::move(item));
}

Json::Object const& Json::items() const {
  static Object const kNone;
  if (is_null()) return kNone;
  if (!is_object()) refuse("an object");
  return *std::get<Box<Object>>(value_);
}

Json const* Json::find(std::string_view key) const {
  for (auto const& [name, member] : items()) {
    if (name == key) return &member;
  }
  return nullptr;
}

Json const& Json::at(std::string_view key) const {
  Json const* const found = find(key);
  if (found == nullptr) throw JsonError(fmt::format("no member '{}'", key));
  return *found;
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) *this = object();
  if (Json const* const found = find(key)) return const_cast<Json&>(*found);
  auto& members = *std::get<Box<Object>>(value_);
  return members.emplace_back(std::string(key), Json()).second;
}

void Json::add_member(std::string key, Json value) {
  if (is_null()) *this = object();
  if (!is_object()) refuse("an object");
  std::get<Box<Object>>(value_)->emplace_back(std::move(key), std::move(value));
}

void Json::erase(std::string_view key) {
  if (!is_object()) return;
  std::erase_if(*std::get<Box<Object>>(value_),
                [&](auto const& member) { return member.first == key; });
}

std::int64_t Json::integer() const {
  if (auto const* const value = std::get_if<std::int64_t>(&value_)) return *value;
  if (auto const* const value = std::get_if<std::uint64_t>(&value_)) {
    if (!std::in_range<std::int64_t>(*value)) refuse("a smaller integer");
    return static_cast<std::int64_t>(*value);
  }
  refuse("an integer");
}

std::uint64_t Json::whole() const {
  if (auto const* const value = std::get_if<std::uint64_t>(&value_)) return *value;
  if (auto const* const value = std::get_if<std::int64_t>(&value_); value != nullptr && *value >= 0)
    return static_cast<std::uint64_t>(*value);
  refuse("an integer of at least 0");
}

double Json::number() const {
  if (auto const* const value = std::get_if<double>(&value_)) return *value;
  if (auto const* const value = std::get_if<std::uint64_t>(&value_))
    return static_cast<double>(*value);
  if (auto const* const value = std::get_if<std::int64_t>(&value_))
    return static_cast<double>(*value);
  refuse("a number");
}

bool Json::boolean() const {
  if (auto const* const value = std::get_if<bool>(&value_)) return *value;
  refuse("true or false");
}

std::string const* Json::string() const {
  return is_string() ? &*std::get<Box<std::string>>(value_) : nullptr;
}

std::string const& Json::text() const {
  if (!is_string()) refuse("a string");
  return *string();
}

bool operator==(Json const& a, Json const& b) {
  if (a.is_number() && b.is_number()) {
    if (a.is_number_unsigned() && b.is_number_unsigned()) return a.whole() == b.whole();
    if (a.is_number_integer() && b.is_number_integer()) {
      return !a.is_number_unsigned() && !b.is_number_unsigned() && a.integer() == b.integer();
    }
    return a.number() == b.number();
  }
  if (a.is_array() && b.is_array()) return a.list() == b.list();
  if (a.is_object() && b.is_object()) {
    if (a.size() != b.size()) return false;
    for (auto const& [key, member] : a.items()) {
      Json const* const other = b.find(key);
      if (other == nullptr || !(member == *other)) return false;
    }
    return true;
  }
  if (a.is_string() && b.is_string()) return a.text() == b.text();
  if (a.is_boolean() && b.is_boolean()) return a.boolean() == b.boolean();
  return a.is_null() && b.is_null();
}

std::string Json::dump(int indent) const {
  return as_library(*this).dump(indent, ' ', false, Library::error_handler_t::replace);
}

Json Json::parse(std::string_view text) {
  constexpr std::string_view kPlace = "text";
  try {
    return parse_strict_json(text, std::string(kPlace), kMaxDepth);
  } catch (Error const& error) {
    std::string_view const what = error.what();
    throw JsonError(std::string(what.substr(kPlace.size() + 2)));  // without "text: "
  }
}

}  // namespace fairlane
