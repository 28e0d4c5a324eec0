#include "base/formats/json_field.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"

namespace fairlane {
namespace {

// A value as it stands in the file, cut short.
std::string shown(Json const& value) {
  if (value.is_array()) return fmt::format("an array of {}", value.size());
  if (value.is_object()) return "an object";
  if (value.is_string()) return in_quotes(value.get<std::string>());
  return value.dump();
}

}  // namespace

Error JsonField::error(std::string const& what) const {
  return Error(ExitCode::kData, fmt::format("{}: {}", where_, what));
}

JsonField JsonField::at(std::string const& key) const {
  if (!value_.is_object()) throw error(fmt::format("is {}, expected an object", shown(value_)));
  Json const* const found = value_.find(key);
  if (found == nullptr) throw error(fmt::format("has no {}", in_quotes(key)));
  char const joint = where_.find(':') == std::string::npos ? ':' : '.';
  return {*found, fmt::format("{}{}{}", where_, joint, key)};
}

bool JsonField::has(std::string const& key) const {
  return value_.is_object() && value_.contains(key);
}

std::vector<std::string> JsonField::keys() const {
  std::vector<std::string> result;
  if (!value_.is_object()) throw error(fmt::format("is {}, expected an object", shown(value_)));
  for (auto const& [key, value] : value_.items()) result.push_back(key);
  return result;
}

std::size_t JsonField::size() const {
  if (!value_.is_array()) throw error(fmt::format("is {}, expected an array", shown(value_)));
  return value_.size();
}

JsonField JsonField::item(std::size_t i) const {
  return {value_[i], fmt::format("{}[{}]", where_, i)};
}

std::string JsonField::text() const {
  if (!value_.is_string()) throw error(fmt::format("is {}, expected a string", shown(value_)));
  return value_.get<std::string>();
}

bool JsonField::boolean() const {
  if (!value_.is_boolean())
    throw error(fmt::format("is {}, expected true or false", shown(value_)));
  return value_.get<bool>();
}

double JsonField::number() const {
  double const value = value_.is_number() ? value_.get<double>() : NAN;
  if (!std::isfinite(value))
    throw error(fmt::format("is {}, expected a finite number", shown(value_)));
  return value;
}

std::int64_t JsonField::integer(std::int64_t low, std::int64_t high) const {
  double const value = value_.is_number() ? value_.get<double>() : NAN;
  if (!(value >= static_cast<double>(low) && value <= static_cast<double>(high) &&
        value == std::floor(value))) {
    throw error(fmt::format("is {}, expected an integer in {}..{}", shown(value_), low, high));
  }
  return static_cast<std::int64_t>(value);
}

std::vector<double> JsonField::numbers() const {
  std::vector<double> result(size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    auto const& value = value_[i];
    result[i] = value.is_number() ? value.get<double>() : NAN;
    if (!std::isfinite(result[i])) result[i] = item(i).number();  // throws
  }
  return result;
}

std::vector<std::int32_t> JsonField::integers(std::int32_t low, std::int32_t high) const {
  std::vector<std::int32_t> result(size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    auto const& value = value_[i];
    std::int64_t const whole =
        value.is_number_integer() ? value.get<std::int64_t>() : std::int64_t{high} + 1;
    result[i] = static_cast<std::int32_t>(
        whole >= low && whole <= high ? whole : item(i).integer(low, high));
  }
  return result;
}

std::vector<std::string> JsonField::texts() const {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < size(); ++i) result.push_back(item(i).text());
  return result;
}

}  // namespace fairlane
