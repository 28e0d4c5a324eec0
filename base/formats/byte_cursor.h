// Bytes of a file from others, read with every step checked against what is there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fairlane {

/// Thrown for malformed or unsupported contents; the caller adds the file and the path inside it.
struct Malformed {
  std::string what;
};

/// Reads little-endian integers and runs of bytes from a slice. Reading past its end throws
/// Malformed, which names the structure by `title`.
class ByteCursor {
 public:
  ByteCursor(std::string_view bytes, char const* title) : bytes_(bytes), title_(title) {}

  std::uint64_t number(std::size_t width);
  std::uint8_t u8() { return static_cast<std::uint8_t>(number(1)); }
  std::uint16_t u16() { return static_cast<std::uint16_t>(number(2)); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(number(4)); }
  std::uint64_t u64() { return number(8); }
  /// An integer in groups of seven bits, the lowest first, as Protocol Buffers and LevelDB do.
  std::uint64_t varint();
  std::string_view take(std::uint64_t count);
  void skip(std::uint64_t count) { take(count); }
  /// Reads the letters that begin most structures.
  void expect(std::string_view signature);
  std::string_view rest() { return take(left()); }
  std::size_t left() const { return bytes_.size() - at_; }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
  char const* title_;
};

}  // namespace fairlane
