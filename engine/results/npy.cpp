#include "engine/results/npy.h"

#include <fmt/format.h>

#include <charconv>

#include "base/error.h"
#include "base/text.h"

namespace fairlane {
namespace {

constexpr std::string_view kMagic("\x93NUMPY\x01\x00", 8);
constexpr std::size_t kPrefix = 10;  // magic and the two bytes of the header's length
constexpr std::size_t kAlign = 64;

}  // namespace

std::string npy_header(std::string const& type, std::int64_t rows, std::int64_t columns) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}, {}), }}",
                                   type, rows, columns);
  std::size_t const bare = kPrefix + header.size() + 1;
  header.append((kAlign - bare % kAlign) % kAlign, ' ');
  header += '\n';
  std::string bytes(kMagic);
  bytes += static_cast<char>(header.size() & 0xFF);
  bytes += static_cast<char>(header.size() >> 8);
  return bytes + header;
}

NpyHeader parse_npy_header(std::string_view bytes, std::string const& source) {
  auto const fail = [&]() -> Error {
    return Error(ExitCode::kData, fmt::format("{}: is not an array file as this program writes it",
                                              escaped(source, 4096)));
  };
  if (bytes.size() < kPrefix || bytes.substr(0, kMagic.size()) != kMagic) throw fail();
  auto const byte = [&](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i]));
  };
  NpyHeader header;
  header.bytes = kPrefix + byte(8) + (byte(9) << 8);
  if (bytes.size() < header.bytes) throw fail();
  std::string_view const text = bytes.substr(kPrefix, header.bytes - kPrefix);
  constexpr std::string_view kType = "{'descr': '";
  if (text.substr(0, kType.size()) != kType) throw fail();
  constexpr std::size_t kTypeLength = 3;
  header.type = std::string(text.substr(kType.size(), kTypeLength));
  constexpr std::string_view kShape = "'shape': (";
  auto const at = text.find(kShape);
  if (at == std::string_view::npos) throw fail();
  char const* const end = text.data() + text.size();
  auto const rows = std::from_chars(text.data() + at + kShape.size(), end, header.rows);
  if (rows.ec != std::errc() || end - rows.ptr < 2) throw fail();
  auto const columns = std::from_chars(rows.ptr + 2, end, header.columns);
  if (columns.ec != std::errc()) throw fail();
  // Whatever else could be said differently shows here.
  if (npy_header(header.type, header.rows, header.columns) != bytes.substr(0, header.bytes))
    throw fail();
  return header;
}

}  // namespace fairlane
