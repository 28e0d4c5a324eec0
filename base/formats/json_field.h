// A value inside a JSON model file that knows its place, for messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/formats/json.h"

namespace fairlane {

/// A value and its path, such as "model.json:learner.objective.name". Every method throws
/// Error(kData) with the path, the value and what was expected.
class JsonField {
 public:
  /// value: must outlive the field
  JsonField(Json const& value, std::string where) : value_(value), where_(std::move(where)) {}

  std::string const& where() const { return where_; }
  Error error(std::string const& what) const;

  /// An object's member; an error when there is none.
  JsonField at(std::string const& key) const;
  bool has(std::string const& key) const;
  /// Keys of an object.
  std::vector<std::string> keys() const;
  /// Items of an array.
  std::size_t size() const;
  JsonField item(std::size_t i) const;

  std::string text() const;
  bool boolean() const;
  /// A finite number.
  double number() const;
  std::int64_t integer(std::int64_t low, std::int64_t high) const;

  /// Arrays of finite numbers, of integers in low..high, of strings.
  std::vector<double> numbers() const;
  std::vector<std::int32_t> integers(std::int32_t low, std::int32_t high) const;
  std::vector<std::string> texts() const;

 private:
  Json const& value_;
  std::string where_;
};

}  // namespace fairlane
