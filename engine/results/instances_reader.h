// Reading the instances of an output directory back, strictly, block by block.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "engine/config/run_config.h"
#include "engine/results/instance_columns.h"
#include "engine/results/instance_files.h"
#include "engine/tables/parquet.h"

namespace fairlane {

/// One instance as a file states it; what is not among the columns keeps its default.
/// row   [attributes]
/// pair  [selected] protected values of the pair
struct InstanceRecord {
  std::int32_t const* row = nullptr;
  std::int32_t const* pair = nullptr;
  std::int32_t label = -1;
  std::int32_t pair_label = -1;
  float score = 0.0F;
  float pair_score = 0.0F;
  std::uint64_t finder = 0;
  std::int32_t voted_label = -1;
  float vote = 0.0F;
};

/// Consecutive instances in the bytes of their file, parsed by whoever takes the block.
/// bytes   whole lines of a CSV, or rows of an array
/// fields  of the array
/// first   place of the first instance
struct InstanceBlock {
  std::string bytes;
  std::vector<NpyField> fields;
  std::int64_t first = 0;
};

/// The instances of a finished directory, in all its files.
class InstanceFile {
 public:
  /// Throws Error(kNoInput | kData).
  InstanceFile(std::string dir, OutputFormat format, InstanceColumns columns);

  InstanceColumns const& columns() const { return columns_; }
  std::vector<InstanceFileFacts> const& files() const { return files_; }
  /// False at the end. Throws Error(kNoInput | kData | kIntegrity).
  bool next(InstanceBlock& block);
  /// Refuses files that were read to their end and have other rows than are listed. Throws
  /// Error(kIntegrity).
  void require_listed_rows() const;
  /// "instances.csv:17" or "instances.npy: row 15".
  std::string place(std::int64_t number) const;

  /// Parses a block; take(number, record) for every instance, fail(number, what) for one that is
  /// malformed.
  using Take = std::function<void(std::int64_t number, InstanceRecord const& record)>;
  using Fail = std::function<void(std::int64_t number, char const* what)>;
  void parse(InstanceBlock const& block, Take const& take, Fail const& fail) const;

 private:
  // An instance's number: its file, and its line there (CSV; the header is line 1) or its row (from
  // 0).
  static constexpr int kLineBits = 44;

  std::string path(std::size_t file) const { return dir_ + "/" + files_[file].name; }
  std::string path() const { return path(at_); }
  /// Opens the file at_; false where there is none.
  bool open();
  void open_csv();
  void open_npy();
  void open_parquet();
  bool next_lines(InstanceBlock& block);
  bool next_rows(InstanceBlock& block);
  std::size_t read(char* to, std::size_t size) const;
  void parse_lines(InstanceBlock const& block, Take const& take, Fail const& fail) const;
  void parse_rows(InstanceBlock const& block, Take const& take, Fail const& fail) const;
  /// Error text, or null.
  char const* parse_line(char const* begin, char const* end, std::vector<std::int32_t>& cells,
                         InstanceRecord& record) const;

  std::string dir_;
  OutputFormat format_;
  InstanceColumns columns_;
  std::vector<InstanceFileFacts> files_;
  std::size_t at_ = 0;  // number of the open file
  InputFile file_;
  std::string rest_;                     // the beginning of the next line
  std::int64_t number_ = 0;              // of the next instance in the file
  std::int64_t rows_ = 0;                // of an array
  std::vector<std::int64_t> read_rows_;  // of each file that was read to its end
  std::vector<NpyField> fields_;
  std::unique_ptr<ParquetReader> parquet_;
};

}  // namespace fairlane
