// Input files: opened only where they are regular files, so that nothing waits for a pipe.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

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

}  // namespace fairlane
