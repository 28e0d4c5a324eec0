// NumPy's array files, version 1.0, for two-dimensional row-major arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fairlane {

/// Header of an array [rows][columns]; `type` is "<i4" or "<f4". The values follow it,
/// little-endian. Source: NumPy Enhancement Proposal 1.
std::string npy_header(std::string const& type, std::int64_t rows, std::int64_t columns);

/// What a header says.
struct NpyHeader {
  std::string type;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::size_t bytes = 0;  // length of the header itself
};
/// Reads a header as npy_header writes it. Throws Error(kData) naming `source`.
NpyHeader parse_npy_header(std::string_view bytes, std::string const& source);

}  // namespace fairlane
