// The output directory: files appear under their final names complete or not at all, DONE last.
#pragma once

#include <string>

#include "base/formats/json.h"

namespace fairlane {

/// The command that wrote a manifest: all but run have a section of their own.
std::string recorded_command(Json const& manifest);

/// A directory of results being written.
///
/// Everything is written below DIR/.partial and renamed into place by finish(). A directory that
/// holds anything but results of this program is refused (Error kOutput), as is one with the
/// finished results, or with the state of an unfinished run, of another manifest unless
/// `overwrite`, or one that another run is writing to; leftovers of an interrupted run are removed,
/// except its state and manifest.
class OutputDir {
 public:
  /// manifest: text of manifest.json. Creates the directory. Throws Error(kOutput | kDisk).
  OutputDir(std::string dir, std::string const& manifest, bool overwrite);
  /// Without finish(), removes what was written; and the directory if this object created it, but
  /// for a state in it.
  ~OutputDir();
  OutputDir(OutputDir const&) = delete;
  OutputDir& operator=(OutputDir const&) = delete;

  std::string const& path() const { return dir_; }
  /// Path of a file or folder that is being written under its temporary place. finish() publishes
  /// the files; folders are for temporary files and are removed.
  std::string partial(std::string const& name) const;
  /// Path of the state from which an interrupted run can go on (engine/job/checkpoint.h). It stays
  /// until finish(), which removes it.
  std::string state_path() const;
  /// Writes a whole small file.
  void write(std::string const& name, std::string const& text);
  /// Replaces the manifest (a run cut by seconds records its cut). Before finish().
  void set_manifest(std::string const& manifest);
  /// Flushes to disk, removes DONE and results of an earlier run that this one lacks, renames
  /// everything into place, manifest.json first, DONE last. Throws std::logic_error for a file that
  /// is in no list of results, since nothing would remove it.
  void finish();

 private:
  void create();
  void check_contents(std::string const& manifest, bool overwrite) const;
  /// Refuses to replace the saved state of another run.
  void check_state(std::string const& manifest) const;
  void lock();
  /// Empties .partial but for the lock, the state and the manifest that the state belongs to; says
  /// what cannot be removed.
  std::string clear_leftovers() const;
  /// Removes what was written.
  void discard() const;

  std::string dir_;
  std::string partial_;
  int lock_ = -1;         // file descriptor
  bool created_ = false;  // the directory itself
  bool finished_ = false;
};

}  // namespace fairlane
