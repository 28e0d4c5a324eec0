#include "base/formats/strict_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace fairlane {
namespace {

using StrictLibrary = nlohmann::json;

/// What is open at some place of a document, and what may not be opened there.
class OpenParts {
 public:
  /// format: for messages
  OpenParts(std::string where, char const* format, int max_depth)
      : where_(std::move(where)), format_(format), max_depth_(max_depth) {}

  char const* format() const { return format_; }
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

/// Makes a Json of what the library reads, and throws for what may not be there.
class JsonBuilder final : public nlohmann::json_sax<StrictLibrary> {
 public:
  /// most_values: that the document can hold, whatever it claims
  JsonBuilder(std::string_view bytes, OpenParts open, std::size_t most_values)
      : bytes_(bytes), open_(std::move(open)), most_values_(most_values) {}

  Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(StrictLibrary::number_integer_t value) override { return add(value); }
  bool number_unsigned(StrictLibrary::number_unsigned_t value) override { return add(value); }
  bool number_float(StrictLibrary::number_float_t value, std::string const&) override {
    return add(value);
  }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(StrictLibrary::binary_t&) override { throw open_.error("has binary data"); }
  bool start_object(std::size_t size) override {
    open_.open_object();
    return start(size, Json::object());
  }
  bool key(std::string& key) override {
    open_.key(key);
    keys_.back() = std::move(key);
    return true;
  }
  bool end_object() override {
    open_.close_object();
    return end();
  }
  bool start_array(std::size_t size) override { return start(size, Json::array()); }
  bool end_array() override { return end(); }
  bool parse_error(std::size_t byte, std::string const&,
                   StrictLibrary::exception const& problem) override {
    constexpr int kOtherErrors = 200;  // below are the library's parse errors
    if (problem.id < kOtherErrors) throw open_.malformed(byte, bytes_);
    throw open_.error(fmt::format("malformed {}: {}", open_.format(), escaped(problem.what())));
  }

 private:
  bool start(std::size_t size, Json empty) {
    open_.check_depth(static_cast<int>(parts_.size()));
    if (size != kNoSize && size > most_values_ - values_) too_many();
    count();
    parts_.push_back(std::move(empty));
    keys_.emplace_back();
    return true;
  }
  bool end() {
    Json part = std::move(parts_.back());
    parts_.pop_back();
    keys_.pop_back();
    return put(std::move(part));
  }
  bool add(Json value) {
    count();
    return put(std::move(value));
  }
  /// Puts a value into what is open; its key is a new one.
  bool put(Json value) {
    if (parts_.empty()) {
      root_ = std::move(value);
    } else if (parts_.back().is_array()) {
      parts_.back().push_back(std::move(value));
    } else {
      parts_.back().add_member(std::move(keys_.back()), std::move(value));
    }
    return true;
  }
  void count() {
    if (++values_ > most_values_) too_many();
  }
  [[noreturn]] void too_many() const {
    throw open_.error(fmt::format("malformed {}: claims more values than its {} bytes can hold",
                                  open_.format(), bytes_.size()));
  }

  static constexpr auto kNoSize = static_cast<std::size_t>(-1);  // the library's, for no size given
  std::string_view bytes_;
  OpenParts open_;
  std::size_t most_values_;
  std::size_t values_ = 0;
  std::vector<Json> parts_;        // arrays and objects that are open, innermost last
  std::vector<std::string> keys_;  // of each, the member that comes next
  Json root_;
};

Json parse(std::string_view bytes, StrictLibrary::input_format_t format, OpenParts open) {
  // Every value takes a byte at least: an array of nulls may claim any length.
  JsonBuilder builder(bytes, std::move(open), bytes.size());
  StrictLibrary::sax_parse(bytes.begin(), bytes.end(), &builder, format);
  return builder.take();
}

}  // namespace

Json parse_strict_json(std::string_view text, std::string const& where, int max_depth) {
  return parse(text, StrictLibrary::input_format_t::json, OpenParts(where, "JSON", max_depth));
}

Json parse_strict_ubjson(std::string_view bytes, std::string const& where, int max_depth) {
  return parse(bytes, StrictLibrary::input_format_t::ubjson, OpenParts(where, "UBJSON", max_depth));
}

}  // namespace fairlane
