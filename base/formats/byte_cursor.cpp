#include "base/formats/byte_cursor.h"

#include <fmt/format.h>

#include "base/text.h"

namespace fairlane {

std::uint64_t ByteCursor::number(std::size_t width) {
  std::string_view const field = take(width);
  std::uint64_t value = 0;
  for (std::size_t i = width; i-- > 0;) value = value << 8 | static_cast<unsigned char>(field[i]);
  return value;
}

std::uint64_t ByteCursor::varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    std::uint8_t const byte = u8();
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if ((byte & 0x80U) == 0) return value;
  }
  throw Malformed{fmt::format("{} has a number of more than 64 bits", title_)};
}

std::string_view ByteCursor::take(std::uint64_t count) {
  if (count > left()) {
    throw Malformed{
        fmt::format("{} ends early: {} bytes are needed, {} are left", title_, count, left())};
  }
  std::string_view const result = bytes_.substr(at_, static_cast<std::size_t>(count));
  at_ += result.size();
  return result;
}

void ByteCursor::expect(std::string_view signature) {
  std::string_view const found = take(signature.size());
  if (found != signature) {
    throw Malformed{fmt::format("{} begins with {}, expected {}", title_, in_quotes(found),
                                in_quotes(signature))};
  }
}

}  // namespace fairlane
