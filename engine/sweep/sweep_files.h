// Files of a sweep's own directory, which several processes may write.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace fairlane {

/// Puts files into a directory, each whole or not at all: they are written below DIR/.partial and
/// renamed. One process at a time has that folder, and others wait; what a process has left there
/// that was killed is removed.
class SweepFiles {
 public:
  /// Throws Error(kOutput) where .partial cannot be created, is not of a sweep, or another process
  /// does not let go of it.
  explicit SweepFiles(std::string dir);
  /// Removes .partial.
  ~SweepFiles();
  SweepFiles(SweepFiles const&) = delete;
  SweepFiles& operator=(SweepFiles const&) = delete;

  /// Throws Error(kDisk), or Error(unplaced) where the file cannot be put into place.
  void write(std::string const& name, std::string_view bytes, ExitCode unplaced = ExitCode::kDisk);
  /// Where there is none, nothing happens. Throws Error(kDisk).
  void remove(std::string const& name);

 private:
  bool try_lock();
  void clear() const;

  std::string dir_;
  std::string partial_;
  std::string lock_path_;
  int lock_ = -1;  // file descriptor
};

}  // namespace fairlane
