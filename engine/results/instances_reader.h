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

namespace fairlane {

/// One instance as a file states it.
/// row   [attributes]
/// pair  [selected] protected values of the pair
struct InstanceRecord {
  std::int32_t const* row = nullptr;
  std::int32_t const* pair = nullptr;
  std::int32_t label = 0;
  std::int32_t pair_label = 0;
  float score = 0.0F;
  float pair_score = 0.0F;
  std::uint64_t finder = 0;
};

/// Consecutive instances in the bytes of their file, parsed by whoever takes the block.
/// bytes   whole lines of a CSV, or rows of an array
/// scores  rows of scores.npy
/// first   line of the first instance (CSV; the header is line 1) or its row (npy, from 0)
struct InstanceBlock {
  std::string bytes;
  std::string scores;
  std::int64_t first = 0;
};

/// The instances of a finished directory.
class InstanceFile {
 public:
  /// columns: names of instances.csv's columns. Throws Error(kNoInput | kData).
  InstanceFile(std::string const& dir, OutputFormat format, std::vector<std::string> columns,
               std::size_t attributes);

  /// False at the end.
  bool next(InstanceBlock& block);
  /// "instances.csv:17" or "instances.npy: row 15".
  std::string place(std::int64_t number) const;

  /// Parses a block; take(number, record) for every instance, fail(number, what) for one that is
  /// malformed.
  using Take = std::function<void(std::int64_t number, InstanceRecord const& record)>;
  using Fail = std::function<void(std::int64_t number, char const* what)>;
  void parse(InstanceBlock const& block, Take const& take, Fail const& fail) const;

 private:
  static InputFile open(std::string const& path);
  void open_csv(std::vector<std::string> const& columns);
  void open_npy();
  bool next_lines(InstanceBlock& block);
  bool next_rows(InstanceBlock& block);
  std::size_t read(InputFile const& file, std::string const& path, char* to,
                   std::size_t size) const;
  void parse_lines(InstanceBlock const& block, Take const& take, Fail const& fail) const;
  void parse_rows(InstanceBlock const& block, Take const& take, Fail const& fail) const;
  /// Error text, or null.
  char const* parse_line(char const* begin, char const* end, std::vector<std::int32_t>& cells,
                         InstanceRecord& record) const;

  std::string dir_;
  OutputFormat format_;
  std::size_t attributes_;
  std::size_t columns_;
  std::size_t selected_;
  InputFile file_;
  InputFile scores_;
  std::string rest_;         // the beginning of the next line
  std::int64_t number_ = 0;  // of the next instance
  std::int64_t rows_ = 0;    // npy: in all
};

}  // namespace fairlane
