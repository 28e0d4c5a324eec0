#include "engine/tables/parquet.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "base/error.h"
#include "base/plugin.h"
#include "base/text.h"

namespace fairlane {
namespace {

constexpr std::size_t kLongestPath = 4096;
constexpr std::size_t kLongestProblem = 400;

/// Room for what a plug-in says of a failure.
class Problem {
 public:
  operator ParquetProblem() { return {text_.data(), kLongestProblem}; }
  Error error(ExitCode code, std::string const& path) const {
    return {code, fmt::format("{}: {}", escaped(path, kLongestPath),
                              escaped(text_.data(), kLongestProblem))};
  }

 private:
  std::array<char, kLongestProblem> text_{};
};

std::vector<ParquetColumn> columns_of(std::span<NpyField const> fields) {
  std::vector<ParquetColumn> columns;
  for (NpyField const& field : fields)
    columns.push_back({field.name.c_str(), static_cast<std::int32_t>(field.type)});
  return columns;
}
static_assert(static_cast<int>(NpyType::kU1) == kParquetU1 &&
              static_cast<int>(NpyType::kI1) == kParquetI1 &&
              static_cast<int>(NpyType::kU2) == kParquetU2 &&
              static_cast<int>(NpyType::kI2) == kParquetI2 &&
              static_cast<int>(NpyType::kU4) == kParquetU4 &&
              static_cast<int>(NpyType::kI4) == kParquetI4 &&
              static_cast<int>(NpyType::kF4) == kParquetF4);

}  // namespace

ParquetPlugin const& parquet_plugin() {
  static constexpr PluginName kName = {
      "Parquet plug-in", kParquetPluginFile, kParquetPluginSymbol, kParquetPluginVersion,
      "install Apache Arrow (python3 -m pip install pyarrow) and build with -DFAIRLANE_ARROW=ON"};
  return *static_cast<ParquetPlugin const*>(load_plugin(kName, plugin_folder(kParquetPluginFile)));
}

ParquetWriter::ParquetWriter(std::string path, std::span<NpyField const> fields, bool zstd)
    : path_(std::move(path)), plugin_(parquet_plugin()), writer_(nullptr, plugin_.free_writer) {
  Problem problem;
  auto const columns = columns_of(fields);
  writer_.reset(plugin_.create(path_.c_str(), columns.data(),
                               static_cast<std::int32_t>(columns.size()), zstd ? 1 : 0, problem));
  if (!writer_) throw problem.error(ExitCode::kDisk, path_);
}

void ParquetWriter::write(char const* rows, std::int64_t count) {
  Problem problem;
  if (plugin_.write(writer_.get(), rows, count, problem) < 0)
    throw problem.error(ExitCode::kDisk, path_);
}

void ParquetWriter::close() {
  Problem problem;
  if (plugin_.finish(writer_.get(), problem) < 0) throw problem.error(ExitCode::kDisk, path_);
  writer_.reset();
}

ParquetReader::ParquetReader(std::string path, std::span<NpyField const> fields)
    : path_(std::move(path)), plugin_(parquet_plugin()), reader_(nullptr, plugin_.free_reader) {
  Problem problem;
  auto const columns = columns_of(fields);
  reader_.reset(plugin_.open(path_.c_str(), columns.data(),
                             static_cast<std::int32_t>(columns.size()), &rows_, problem));
  if (!reader_) throw problem.error(ExitCode::kData, path_);
}

std::int64_t ParquetReader::read(char* rows, std::int64_t count) {
  Problem problem;
  std::int64_t const n = plugin_.read(reader_.get(), rows, count, problem);
  if (n < 0) throw problem.error(ExitCode::kData, path_);
  return n;
}

}  // namespace fairlane
