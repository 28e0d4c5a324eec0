// The journal of a sweep: what has been begun and finished, appended record by record.
//
// A file begins with a line that names the format. Each record is a size (u32), a number (u64, from
// 1 on), a CRC-32C (u32) of number and text, and the text, one JSON object, all in little-endian
// byte order. `kind` is SESSION, STARTED, RESULT or COMMIT. A COMMIT acknowledges every record
// before it: it is written and flushed to disk with them. What is behind the last COMMIT may be
// lost, and is then done again.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/formats/json.h"

namespace fairlane {

/// Where what is acknowledged ends.
/// bytes    up to the end of the last COMMIT: where the next record goes
/// number   of the last record there
struct JournalEnd {
  std::uint64_t bytes = 0;
  std::uint64_t number = 0;
};

/// Reads a journal, also while it is written. take gets the records that a COMMIT acknowledges,
/// without the COMMITs; empty: nobody wants them. What is incomplete at the end is left out.
/// Throws Error(kIntegrity) where a record is damaged and not just cut short, or the file is not
/// ours; Error(kNoInput).
JournalEnd read_journal(std::string const& path, std::function<void(Json const&)> const& take = {});

/// Appends to a journal. One process at a time, which holds a lock on the file.
class JournalWriter {
 public:
  /// Creates the file, or goes on behind its last COMMIT. holder: a line that says who is asking,
  /// which a second process is told.
  /// Throws Error(kOutput) where another process holds it, Error(kIntegrity | kDisk).
  JournalWriter(std::string path, std::string const& holder);
  ~JournalWriter();
  JournalWriter(JournalWriter const&) = delete;
  JournalWriter& operator=(JournalWriter const&) = delete;

  /// Adds a record, which counts from the next commit() on.
  void add(Json const& record);
  /// Writes what was added and a COMMIT, and flushes them to disk; nothing where nothing was added.
  /// Throws Error(kDisk): what was added then counts as lost, and this can no longer be used.
  void commit();

 private:
  void append(std::string_view text);
  void take_over(std::string const& holder);
  [[noreturn]] void fail(char const* what);

  std::string path_;
  int fd_ = -1;
  bool failed_ = false;
  std::uint64_t number_ = 0;
  std::string waiting_;
};

/// Whether a process holds the journal, and the line by which it did.
struct JournalHolder {
  bool held = false;
  std::string who;
};
JournalHolder journal_holder(std::string const& path);

}  // namespace fairlane
