// What fairlane and its Parquet plug-in say to each other: plain C types and one function table,
// because the two may differ in compiler flags, C++ ABI and standard library. The plug-in shares no
// other code with the rest.
//
// Anything that changes here, or means something else, takes a new kParquetPluginVersion.
#pragma once

#include <cstdint>

namespace fairlane {

inline constexpr std::uint32_t kParquetPluginVersion = 1;
inline constexpr char const* kParquetPluginFile = "fairlane_parquet.so";
inline constexpr char const* kParquetPluginSymbol = "fairlane_parquet_plugin";

/// Numbers of a column, little-endian.
enum ParquetType : std::int32_t {
  kParquetU1,
  kParquetI1,
  kParquetU2,
  kParquetI2,
  kParquetU4,
  kParquetI4,
  kParquetF4
};

/// name  in UTF-8
struct ParquetColumn {
  char const* name;
  std::int32_t type;  // ParquetType
};

/// A call that can fail returns a negative number or null, and puts a line at `problem`, of at most
/// `room` bytes. Rows are their columns' numbers side by side, without gaps.
struct ParquetProblem {
  char* text;
  std::int64_t room;
};

struct ParquetPlugin {
  std::uint32_t version;  // kParquetPluginVersion, first in every version
  char const* name;       // of the library
  /// zstd  0: not compressed
  void* (*create)(char const* path, ParquetColumn const* columns, std::int32_t count,
                  std::int32_t zstd, ParquetProblem problem);
  std::int32_t (*write)(void* writer, char const* rows, std::int64_t count, ParquetProblem problem);
  /// Writes the end of the file.
  std::int32_t (*finish)(void* writer, ParquetProblem problem);
  void (*free_writer)(void* writer);
  /// A file with exactly these columns. rows: how many it has, out
  void* (*open)(char const* path, ParquetColumn const* columns, std::int32_t count,
                std::int64_t* rows, ParquetProblem problem);
  /// Reads the next rows, at most `count`; returns how many.
  std::int64_t (*read)(void* reader, char* rows, std::int64_t count, ParquetProblem problem);
  void (*free_reader)(void* reader);
};
using ParquetPluginEntry = ParquetPlugin const* (*)();

}  // namespace fairlane
