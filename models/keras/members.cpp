#include "models/keras/members.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace fairlane::keras {

std::string shown(Json const& value) {
  constexpr std::size_t kShown = 80;
  return escaped(value.dump(), kShown);
}

Json const& member(Json const& object, char const* key) {
  static Json const kNone;
  if (!object.is_object()) return kNone;
  Json const* const found = object.find(key);
  return found == nullptr ? kNone : *found;
}

std::string const* text_member(Json const& object, char const* key) {
  return member(object, key).string();
}

std::optional<double> number_member(Json const& config, char const* key, std::string const& where) {
  Json const* value = &member(config, key);
  if (text_member(*value, "class_name") != nullptr && value->contains("config")) {
    value = &member(member(*value, "config"), "value");
  }
  if (value->is_null()) return std::nullopt;
  if (!value->is_number())
    throw data_error(where, fmt::format("{} is {}, expected a number", key, shown(*value)));
  return value->get<double>();
}

bool is_last_axis(Json const& axis) {
  return axis.is_null() || axis == -1 || axis == 1 || axis == Json::array({-1}) ||
         axis == Json::array({1});
}

}  // namespace fairlane::keras
