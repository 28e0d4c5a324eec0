#include "models/strict_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <vector>

#include "kernels/core/error.h"
#include "models/text.h"

namespace fairlane {
namespace {

using Json = nlohmann::json;

/// What is open at some place of a document, and what may not be opened there.
class OpenParts {
 public:
  /// format: for messages
  OpenParts(std::string where, char const* format, int max_depth)
      : where_(std::move(where)), format_(format), max_depth_(max_depth) {}

  Error error(std::string const& what) const {
    return Error(ExitCode::kData, fmt::format("{}: {}", where_, what));
  }
  /// depth: how many arrays and objects are open
  void check_depth(int depth) const {
    if (depth >= max_depth_) {
      throw error(fmt::format("{} is nested more than {} levels deep", format_, max_depth_));
    }
  }
  void open_object() { keys_.emplace_back(); }
  void close_object() { keys_.pop_back(); }
  void key(std::string const& key) {
    if (!keys_.back().insert(key).second) {
      throw error(fmt::format("{} key {} occurs twice", format_, in_quotes(key)));
    }
  }
  /// byte: from 1
  Error malformed(std::size_t byte, std::string_view bytes) const {
    std::size_t const at = byte == 0 ? 0 : byte - 1;
    if (at >= bytes.size())
      return error(fmt::format("malformed {}: ends after {} bytes, cut short?", format_, at));
    return error(fmt::format("malformed {} at byte {}, near {}", format_, byte,
                             in_quotes(bytes.substr(at), 20)));
  }

 private:
  std::string where_;
  char const* format_;
  int max_depth_;
  std::vector<std::set<std::string>> keys_;  // of the objects that are open, innermost last
};

/// Throws for what UBJSON may claim beyond what its bytes hold: an array of nulls costs a few bytes, whatever its length.
class UbjsonCheck final : public nlohmann::json_sax<Json> {
 public:
  UbjsonCheck(std::string_view bytes, std::string const& where, int max_depth)
      : bytes_(bytes), open_(where, "UBJSON", max_depth) {}

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(Json::number_integer_t) override { return value(); }
  bool number_unsigned(Json::number_unsigned_t) override { return value(); }
  bool number_float(Json::number_float_t, std::string const&) override { return value(); }
  bool string(std::string&) override { return value(); }
  bool binary(Json::binary_t&) override { return value(); }
  bool start_object(std::size_t size) override {
    open_.open_object();
    return start(size);
  }
  bool key(std::string& key) override {
    open_.key(key);
    return true;
  }
  bool end_object() override {
    open_.close_object();
    return end_array();
  }
  bool start_array(std::size_t size) override { return start(size); }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(std::size_t byte, std::string const&, Json::exception const&) override {
    throw open_.malformed(byte, bytes_);
  }

 private:
  bool start(std::size_t size) {
    open_.check_depth(depth_++);
    if (size != kNoSize && size > bytes_.size() - values_) too_many();
    return value();
  }
  bool value() {
    if (++values_ > bytes_.size()) too_many();
    return true;
  }
  [[noreturn]] void too_many() const {
    throw open_.error(fmt::format("malformed UBJSON: claims more values than its {} bytes can hold",
                                  bytes_.size()));
  }

  static constexpr auto kNoSize = static_cast<std::size_t>(-1);  // the library's, for no size given
  std::string_view bytes_;
  OpenParts open_;
  int depth_ = 0;
  std::size_t values_ = 0;
};

}  // namespace

nlohmann::json parse_strict_json(std::string_view text, std::string const& where, int max_depth) {
  using Event = Json::parse_event_t;
  OpenParts open(where, "JSON", max_depth);
  auto const check = [&](int depth, Event event, Json& parsed) {
    if (event == Event::object_start || event == Event::array_start) open.check_depth(depth);
    if (event == Event::object_start) open.open_object();
    if (event == Event::object_end) open.close_object();
    if (event == Event::key) open.key(parsed.get_ref<std::string const&>());
    return true;
  };
  try {
    return Json::parse(text, check);
  } catch (Json::parse_error const& error) {
    throw open.malformed(error.byte, text);
  } catch (Json::exception const& error) {
    throw open.error(fmt::format("malformed JSON: {}", escaped(error.what())));
  }
}

nlohmann::json parse_strict_ubjson(std::string_view bytes, std::string const& where,
                                   int max_depth) {
  UbjsonCheck check(bytes, where, max_depth);
  try {
    Json::sax_parse(bytes.begin(), bytes.end(), &check, Json::input_format_t::ubjson);
    return Json::from_ubjson(bytes.begin(), bytes.end());
  } catch (Json::exception const& error) {
    throw Error(ExitCode::kData,
                fmt::format("{}: malformed UBJSON: {}", where, escaped(error.what())));
  }
}

}  // namespace fairlane
