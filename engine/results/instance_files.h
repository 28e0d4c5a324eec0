// The files of the instances: their names, formats, and instances.json, which lists them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/config/run_config.h"
#include "engine/learning/electorate.h"
#include "engine/record/output_dir.h"
#include "engine/results/instance_columns.h"

namespace fairlane {

inline constexpr char const* kInstanceIndex = "instances.json";

/// One file of instances.
struct InstanceFileFacts {
  std::string name;
  std::int64_t rows = 0;
  std::string sha256;
};

/// Throws Error(kConfig) where words or plausibility of findings that are not written are asked
/// for, or plausibility without a table, and Error(kUnavailable) where this build or machine lacks
/// what a format needs.
void require_format(RunConfig const& config);

/// Whether a format's files hold the rows that an array of NumPy has.
inline bool has_rows_of_arrays(OutputFormat format) {
  return format == OutputFormat::kNpy || format == OutputFormat::kParquet;
}

/// Name of the i-th file, where each has `shard_rows`; of the only one, where there are none.
std::string instance_file_name(OutputFormat format, std::optional<std::int64_t> shard_rows,
                               std::int64_t i);

/// instances.json: format, columns with their distinct names, what they hold, types and words, how
/// good the voters are, and the files.
/// voters: null: none were asked
std::string instance_index_json(RunConfig const& config, TestSubject const& subject,
                                InstanceColumns const& columns, Electorate const* voters,
                                std::vector<InstanceFileFacts> const& files);
/// The files that a directory's instances.json lists; of a directory from before there was one, the
/// only file, without a digest. Throws Error(kNoInput | kData).
std::vector<InstanceFileFacts> read_instance_files(std::string const& dir, OutputFormat format);
/// Refuses a finished directory of a command that has listed its instances, and whose list is gone.
/// Throws Error(kIntegrity).
void require_instance_index(std::string const& dir);

/// Instances on their way to the disk, in order.
class InstanceWriter {
 public:
  /// rows  in all. Throws Error(kDisk).
  InstanceWriter(RunConfig const& config, InstanceColumns const& columns, std::int64_t rows,
                 OutputDir& out);
  ~InstanceWriter();
  InstanceWriter(InstanceWriter const&) = delete;
  InstanceWriter& operator=(InstanceWriter const&) = delete;
  class File;

  /// bytes  of `rows` instances of one file, as the format has them. Throws Error(kDisk).
  void write(std::string const& bytes, std::int64_t rows);
  /// Ends the last file.
  std::vector<InstanceFileFacts> const& finish();

 private:
  void open();
  void close();

  OutputConfig const& output_;
  InstanceColumns const& columns_;
  OutputDir& out_;
  std::int64_t left_;  // rows that are not written
  std::int64_t room_ = 0;
  std::vector<InstanceFileFacts> files_;
  std::unique_ptr<File> file_;
};

}  // namespace fairlane
