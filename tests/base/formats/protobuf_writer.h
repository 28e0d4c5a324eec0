// Writes Protocol Buffers messages field by field, independently of the reader under test.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

namespace fairlane {

inline std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 128; value >>= 7) out += static_cast<char>(value | 128);
  return out + static_cast<char>(value);
}

/// The lowest `width` bytes of a number.
inline std::string little_endian(std::uint64_t value, std::size_t width) {
  std::string out;
  for (std::size_t i = 0; i < width; ++i) out += static_cast<char>(value >> (8 * i));
  return out;
}

inline std::string float_bytes(std::vector<float> const& values) {
  std::string out;
  for (float const value : values) out += little_endian(std::bit_cast<std::uint32_t>(value), 4);
  return out;
}

/// One message.
class ProtobufWriter {
 public:
  ProtobufWriter& number(std::uint32_t field, std::int64_t value) {
    text_ += varint(field << 3U) + varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  ProtobufWriter& bytes(std::uint32_t field, std::string const& value) {
    text_ += varint(field << 3U | 2U) + varint(value.size()) + value;
    return *this;
  }
  ProtobufWriter& message(std::uint32_t field, ProtobufWriter const& value) {
    return bytes(field, value.text_);
  }
  ProtobufWriter& fixed32(std::uint32_t field, std::uint32_t value) {
    text_ += varint(field << 3U | 5U) + little_endian(value, 4);
    return *this;
  }
  ProtobufWriter& real(std::uint32_t field, float value) {
    return fixed32(field, std::bit_cast<std::uint32_t>(value));
  }
  std::string const& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace fairlane
