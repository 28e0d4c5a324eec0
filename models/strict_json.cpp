#include "models/strict_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <set>
#include <vector>

#include "kernels/core/error.h"
#include "models/text.h"

namespace fairlane {

nlohmann::json parse_strict_json(std::string_view text, std::string const& where, int max_depth) {
  using Event = nlohmann::json::parse_event_t;
  std::vector<std::set<std::string>> keys;  // of the objects that are open, innermost last
  auto const check = [&](int depth, Event event, nlohmann::json& parsed) {
    if (event == Event::object_start || event == Event::array_start) {
      if (depth >= max_depth) {
        throw Error(ExitCode::kData,
                    fmt::format("{}: JSON is nested more than {} levels deep", where, max_depth));
      }
      if (event == Event::object_start) keys.emplace_back();
    } else if (event == Event::object_end) {
      keys.pop_back();
    } else if (event == Event::key) {
      auto const& key = parsed.get_ref<std::string const&>();
      if (!keys.back().insert(key).second) {
        throw Error(ExitCode::kData,
                    fmt::format("{}: JSON key {} occurs twice", where, in_quotes(key)));
      }
    }
    return true;
  };
  try {
    return nlohmann::json::parse(text, check);
  } catch (nlohmann::json::parse_error const& error) {
    std::size_t const byte = error.byte == 0 ? 0 : error.byte - 1;
    if (byte >= text.size()) {
      throw Error(ExitCode::kData,
                  fmt::format("{}: malformed JSON: ends after {} bytes, cut short?", where, byte));
    }
    throw Error(ExitCode::kData, fmt::format("{}: malformed JSON at byte {}, near {}", where,
                                             error.byte, in_quotes(text.substr(byte), 20)));
  } catch (nlohmann::json::exception const& error) {
    throw Error(ExitCode::kData,
                fmt::format("{}: malformed JSON: {}", where, escaped(error.what())));
  }
}

}  // namespace fairlane
