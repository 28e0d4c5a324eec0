// Members of a Keras configuration, which is JSON.
#pragma once

#include <optional>
#include <string>

#include "base/formats/json.h"

namespace fairlane::keras {

/// A value for messages.
std::string shown(Json const& value);

/// A member, or null JSON when it is absent.
Json const& member(Json const& object, char const* key);
/// Null when it is absent or no text.
std::string const* text_member(Json const& object, char const* key);
/// A number as Keras writes it, or as it writes a numpy scalar; nothing when absent or null.
/// Throws Error(kData).
std::optional<double> number_member(Json const& config, char const* key, std::string const& where);

/// Whether an `axis` says the last one of [rows, values].
bool is_last_axis(Json const& axis);

}  // namespace fairlane::keras
