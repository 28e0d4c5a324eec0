// NumPy's array files of rows with named fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fairlane {

/// A number in an array, little-endian.
enum class NpyType { kU1, kI1, kU2, kI2, kU4, kI4, kF4 };
struct NpyTypeRow {
  NpyType type;
  char const* code;  // as NumPy writes it
  std::size_t bytes;
};
inline constexpr NpyTypeRow kNpyTypes[] = {
    {NpyType::kU1, "|u1", 1}, {NpyType::kI1, "|i1", 1}, {NpyType::kU2, "<u2", 2},
    {NpyType::kI2, "<i2", 2}, {NpyType::kU4, "<u4", 4}, {NpyType::kI4, "<i4", 4},
    {NpyType::kF4, "<f4", 4},
};
NpyTypeRow const& npy_type(NpyType type);
/// The smallest type of integers that has all of low..high.
NpyType smallest_npy_type(std::int64_t low, std::int64_t high);

/// A field of a row; fields follow each other without gaps, and have distinct names.
struct NpyField {
  std::string name;
  NpyType type = NpyType::kI4;

  bool operator==(NpyField const&) const = default;
};
std::size_t npy_row_bytes(std::span<NpyField const> fields);

/// Header of an array [rows] of such rows, which follow it. Names that are not ASCII are escaped as
/// Python reads them. Source: NumPy Enhancement Proposal 1.
std::string npy_header(std::span<NpyField const> fields, std::int64_t rows);

/// What a header says.
struct NpyHeader {
  std::vector<NpyField> fields;
  std::int64_t rows = 0;
  std::size_t bytes = 0;  // length of the header itself
};
/// Length of a header, from the first bytes of a file; kNpyPrefix of them suffice. Throws
/// Error(kData) naming `source`.
inline constexpr std::size_t kNpyPrefix = 12;
std::size_t npy_header_bytes(std::string_view bytes, std::string const& source);
/// Reads a header as npy_header writes it, with fields of these names. Throws likewise.
NpyHeader parse_npy_header(std::string_view bytes, std::span<NpyField const> expected,
                           std::string const& source);

}  // namespace fairlane
