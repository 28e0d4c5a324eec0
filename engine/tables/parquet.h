// Parquet files of rows with named fields, by the plug-in that has Apache Arrow.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "engine/tables/npy.h"
#include "engine/tables/parquet_plugin_api.h"

namespace fairlane {

/// The plug-in. Throws Error(kUnavailable) as load_plugin() does.
ParquetPlugin const& parquet_plugin();

/// A file being written, in row groups of 2^20 rows.
class ParquetWriter {
 public:
  /// zstd  compressed so. Throws Error(kDisk | kUnavailable).
  ParquetWriter(std::string path, std::span<NpyField const> fields, bool zstd);
  /// rows  as an array of NumPy has them. Throws Error(kDisk).
  void write(char const* rows, std::int64_t count);
  void close();

 private:
  std::string path_;
  ParquetPlugin const& plugin_;
  std::unique_ptr<void, void (*)(void*)> writer_;
};

/// A file being read.
class ParquetReader {
 public:
  /// A file with exactly these fields. Throws Error(kData | kUnavailable).
  ParquetReader(std::string path, std::span<NpyField const> fields);
  std::int64_t rows() const { return rows_; }
  /// The next rows, at most `count`, to rows; how many they are, 0 at the end. Throws
  /// Error(kData).
  std::int64_t read(char* rows, std::int64_t count);

 private:
  std::string path_;
  ParquetPlugin const& plugin_;
  std::unique_ptr<void, void (*)(void*)> reader_;
  std::int64_t rows_ = 0;
};

}  // namespace fairlane
