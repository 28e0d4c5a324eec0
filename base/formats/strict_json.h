// JSON and UBJSON of model files, read strictly.
#pragma once

#include <string>
#include <string_view>

#include "base/formats/json.h"

namespace fairlane {

/// Parses a JSON text from an untrusted file. `where` names it in messages: the file and the path
/// inside it.
/// Throws Error(kData) for malformed text, a key that occurs twice in one object, or nesting deeper
/// than `max_depth`.
Json parse_strict_json(std::string_view text, std::string const& where, int max_depth);
/// Same for UBJSON, a binary form of JSON. Throws for more values than bytes, too.
Json parse_strict_ubjson(std::string_view bytes, std::string const& where, int max_depth);

}  // namespace fairlane
