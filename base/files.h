// Files: read only where they are regular files, so that nothing waits for a pipe; written so that
// a name never stands for half of one.
#pragma once

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace fairlane {

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using InputFile = std::unique_ptr<std::FILE, FileCloser>;

/// Opens a regular file for reading its bytes; never waits. Throws Error(kNoInput) that says what
/// else the path is: nothing, a directory, a FIFO, a socket or a device.
InputFile open_input(std::string const& path);

/// The path from the root. Throws Error(kNoInput) where it is relative and the working directory
/// has been deleted.
std::filesystem::path absolute_path(std::string const& path);

/// The bytes of a file. Throws Error(kNoInput) as open_input() does, and when it is unreadable or
/// larger than `limit`.
std::string read_file(std::string const& path, std::size_t limit);

/// Takes the next part of a text.
using TextSink = std::function<void(std::string_view)>;

/// Writes a whole file, which appears under its name complete or not at all: to a neighbour first,
/// flushed to disk, then renamed. Neighbours that killed processes left are removed. Throws
/// Error(unplaced) where it cannot be created or put into place, Error(kDisk) where it cannot be
/// written.
void write_whole_file(std::string const& path, std::string_view bytes,
                      ExitCode unplaced = ExitCode::kDisk);
/// Same of what `fill` gives to its sink.
void write_whole_file(std::string const& path, std::function<void(TextSink const&)> const& fill,
                      ExitCode unplaced = ExitCode::kDisk);

/// A new buffered file. Throws Error(kDisk) naming the path on any failure, at close() at the
/// latest.
class FileWriter {
 public:
  explicit FileWriter(std::string path);
  /// Leaves the file as it is when close() was not called.
  ~FileWriter();
  FileWriter(FileWriter const&) = delete;
  FileWriter& operator=(FileWriter const&) = delete;
  void write(char const* data, std::size_t size);
  void close();

 private:
  friend void write_whole_file(std::string const& path,
                               std::function<void(TextSink const&)> const& fill, ExitCode unplaced);
  /// named: what messages call the file. uncreated: the exit code where it cannot be created.
  FileWriter(std::string const& path, std::string named, ExitCode uncreated);
  void flush(char const* data, std::size_t size);
  void sync();

  std::string named_;
  int fd_ = -1;
  std::vector<char> buffer_;
};

/// Flushes a file or a directory to disk. Throws Error(kDisk).
void sync_path(std::string const& path);
/// Throws Error(unplaced).
void rename_file(std::string const& from, std::string const& to,
                 ExitCode unplaced = ExitCode::kDisk);
/// Puts a finished file into the place of another, which is whole at every moment, also on disk.
/// Throws Error(kDisk), or Error(unplaced) where it cannot be renamed.
void replace_file(std::string const& from, std::string const& to,
                  ExitCode unplaced = ExitCode::kDisk);

}  // namespace fairlane
