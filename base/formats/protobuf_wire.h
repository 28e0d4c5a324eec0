// Protocol Buffers as bytes: the fields of a message, without its schema.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/formats/byte_cursor.h"

namespace fairlane {

/// One field of a message. A nested message is one of `bytes`, and is only read where the caller
/// descends into it: nothing here recurses.
struct ProtobufField {
  enum class Kind { kVarint, kFixed64, kBytes, kFixed32 };
  std::uint32_t number = 0;
  Kind kind = Kind::kVarint;
  std::uint64_t value = 0;  // of a varint or a fixed number, its bits
  std::string_view bytes;   // of kBytes; points into the file

  /// The content of a string or a nested message. Throws Malformed for a number.
  std::string_view content() const;
  /// A signed or unsigned integer, an enum or a bool. Throws Malformed for anything but a varint.
  std::int64_t integer() const;
  /// Throws Malformed for anything but four bytes.
  float float32() const;
};

/// Walks over the fields of one message.
/// Source: Protocol Buffers, "Encoding"; groups (deprecated) are refused.
class ProtobufReader {
 public:
  explicit ProtobufReader(std::string_view message) : cursor_(message, "a message") {}
  /// The next field, or nothing at the end. Throws Malformed.
  std::optional<ProtobufField> next();

 private:
  ByteCursor cursor_;
};

/// Appends the numbers of a repeated field, packed or not. Throws Malformed.
void append_integers(ProtobufField const& field, std::vector<std::int64_t>& out);
/// Same for float (width 4) and double (width 8), widened.
void append_floats(ProtobufField const& field, std::size_t width, std::vector<double>& out);

}  // namespace fairlane
