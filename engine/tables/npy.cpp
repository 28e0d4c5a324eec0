#include "engine/tables/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>

#include "base/error.h"
#include "base/text.h"

namespace fairlane {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kShort = 10;  // magic, version 1.0, and two bytes of the header's length
constexpr std::size_t kAlign = 64;
constexpr std::size_t kLongestShort = 65535;  // header of version 1.0
constexpr std::size_t kLongestName = 4096;    // of a file in a message
constexpr std::size_t kLongestHeader = std::size_t{1} << 26;

/// The character at the start of `text`, which is `length` bytes of UTF-8 long.
std::uint32_t code_point(std::string_view text, std::size_t length) {
  constexpr std::uint32_t kPayload = 0x3F;
  auto const byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i]));
  };
  std::uint32_t code = length == 1 ? byte(0) : byte(0) & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) code = code << 6 | (byte(i) & kPayload);
  return code;
}

/// A string of Python.
std::string literal(std::string const& name) {
  std::string text = "'";
  for (std::size_t at = 0; at < name.size();) {
    auto const byte = static_cast<unsigned char>(name[at]);
    if (byte >= 0x20 && byte < 0x7F) {
      if (byte == '\'' || byte == '\\') text += '\\';
      text += name[at++];
      continue;
    }
    std::string_view const rest = std::string_view(name).substr(at);
    std::size_t const length = std::max<std::size_t>(1, utf8_length(rest));
    text += fmt::format("\\U{:08x}", code_point(rest, length));
    at += length;
  }
  return text + "'";
}

Error not_ours(std::string const& source) {
  return {ExitCode::kData, fmt::format("{}: is not an array file as this program writes it",
                                       escaped(source, kLongestName))};
}

}  // namespace

NpyTypeRow const& npy_type(NpyType type) {
  return *std::ranges::find(kNpyTypes, type, &NpyTypeRow::type);
}

NpyType smallest_npy_type(std::int64_t low, std::int64_t high) {
  auto const holds = [&]<class T>(T) {
    return low >= std::numeric_limits<T>::min() && high <= std::numeric_limits<T>::max();
  };
  if (holds(std::uint8_t{})) return NpyType::kU1;
  if (holds(std::int8_t{})) return NpyType::kI1;
  if (holds(std::uint16_t{})) return NpyType::kU2;
  if (holds(std::int16_t{})) return NpyType::kI2;
  return holds(std::int32_t{}) ? NpyType::kI4 : NpyType::kU4;
}

std::size_t npy_row_bytes(std::span<NpyField const> fields) {
  std::size_t bytes = 0;
  for (NpyField const& field : fields) bytes += npy_type(field.type).bytes;
  return bytes;
}

std::string npy_header(std::span<NpyField const> fields, std::int64_t rows) {
  std::string header = "{'descr': [";
  for (NpyField const& field : fields) {
    if (header.back() != '[') header += ", ";
    header += fmt::format("({}, '{}')", literal(field.name), npy_type(field.type).code);
  }
  header += fmt::format("], 'fortran_order': False, 'shape': ({},), }}", rows);
  bool const is_short = header.size() + kAlign <= kLongestShort;
  std::size_t const prefix = is_short ? kShort : kNpyPrefix;
  std::size_t const bare = prefix + header.size() + 1;
  header.append((kAlign - bare % kAlign) % kAlign, ' ');
  header += '\n';
  std::string bytes(kMagic);
  bytes += is_short ? '\x01' : '\x02';
  bytes += '\0';
  for (std::size_t i = 0; i < prefix - kMagic.size() - 2; ++i)
    bytes += static_cast<char>((header.size() >> (8 * i)) & 0xFF);
  return bytes + header;
}

std::size_t npy_header_bytes(std::string_view bytes, std::string const& source) {
  if (bytes.size() < kNpyPrefix || bytes.substr(0, kMagic.size()) != kMagic) throw not_ours(source);
  std::size_t const prefix = bytes[kMagic.size()] == '\x01' ? kShort : kNpyPrefix;
  std::size_t length = 0;
  for (std::size_t i = prefix; i-- > kMagic.size() + 2;)
    length = length << 8 | static_cast<unsigned char>(bytes[i]);
  if (length > kLongestHeader) throw not_ours(source);
  return prefix + length;
}

NpyHeader parse_npy_header(std::string_view bytes, std::span<NpyField const> expected,
                           std::string const& source) {
  NpyHeader header;
  header.bytes = npy_header_bytes(bytes, source);
  if (bytes.size() < header.bytes) throw not_ours(source);
  std::string_view const text = bytes.substr(0, header.bytes);
  std::size_t at = 0;
  for (NpyField const& field : expected) {
    std::string const before = "(" + literal(field.name) + ", '";
    at = text.find(before, at);
    if (at == std::string_view::npos) throw not_ours(source);
    at += before.size();
    auto const* const type = std::ranges::find_if(
        kNpyTypes, [&](NpyTypeRow const& row) { return text.substr(at).starts_with(row.code); });
    if (type == std::end(kNpyTypes)) throw not_ours(source);
    header.fields.push_back({field.name, type->type});
  }
  constexpr std::string_view kShape = "'shape': (";
  auto const shape = text.find(kShape, at);
  if (shape == std::string_view::npos) throw not_ours(source);
  auto const rows =
      std::from_chars(text.data() + shape + kShape.size(), text.data() + text.size(), header.rows);
  // Whatever else could be said differently shows here.
  if (rows.ec != std::errc() || npy_header(header.fields, header.rows) != text)
    throw not_ours(source);
  return header;
}

}  // namespace fairlane
