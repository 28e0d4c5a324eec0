// JSON inside model files, read strictly.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace fairlane {

/// Parses a JSON text from an untrusted file. `where` names it in messages: the file and the path
/// inside it.
/// Throws Error(kData) for malformed text, a key that occurs twice in one object, or nesting deeper
/// than `max_depth`.
nlohmann::json parse_strict_json(std::string_view text, std::string const& where, int max_depth);

}  // namespace fairlane
