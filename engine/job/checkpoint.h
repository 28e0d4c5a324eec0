// The state of work that goes on in another process: named sections in one file, which is replaced
// whole or not at all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/sha256.h"

namespace fairlane {

/// Writes a state beside the earlier one, which stays as it is until commit().
///
/// The file is a line that names the format, a line with the identity's SHA-256, the sections'
/// bytes one after the other, a table of the sections, the table's size, and the SHA-256 of all
/// that. Numbers have the machine's byte order.
class CheckpointWriter {
 public:
  /// identity: what the state belongs to, such as a manifest; only its digest is kept. Throws
  /// Error(kDisk).
  CheckpointWriter(std::string path, std::string const& identity);
  /// Without commit(), removes what was written.
  ~CheckpointWriter();
  CheckpointWriter(CheckpointWriter const&) = delete;
  CheckpointWriter& operator=(CheckpointWriter const&) = delete;

  /// Begins a section, to which the following write() belong. Names are distinct words.
  void section(std::string const& name);
  void write(void const* data, std::size_t bytes);
  template <class T>
  void write(std::vector<T> const& values) {
    static_assert(std::has_unique_object_representations_v<T> || std::is_floating_point_v<T>,
                  "padding has no value");
    write(values.data(), values.size() * sizeof(T));
  }
  /// A section that is an array.
  template <class T>
  void add(std::string const& name, std::vector<T> const& values) {
    section(name);
    write(values);
  }
  /// Flushes to disk and takes the earlier state's place. Throws Error(kDisk).
  void commit();

 private:
  void put(void const* data, std::size_t bytes);
  void end_section();

  std::string path_;
  std::string new_path_;
  FileWriter file_;
  Sha256 digest_;
  std::string table_;
  std::string name_;         // of the section being written
  std::uint64_t bytes_ = 0;  // of it
  bool committed_ = false;
};

/// A state that was found whole.
class CheckpointReader {
 public:
  ~CheckpointReader();
  CheckpointReader(CheckpointReader const&) = delete;
  CheckpointReader& operator=(CheckpointReader const&) = delete;

  /// Bytes of a section, 0 where there is none.
  std::uint64_t size(std::string const& name) const;
  /// Calls take(data, bytes) with the section's bytes in order, `piece` at a time. Throws
  /// Error(kDisk).
  using Take = std::function<void(void const* data, std::size_t bytes)>;
  void read(std::string const& name, std::size_t piece, Take const& take) const;
  /// A section as an array. Throws Error(kDisk | kBug).
  template <class T>
  std::vector<T> values(std::string const& name) const {
    std::vector<T> values(size(name) / sizeof(T));
    auto* to = reinterpret_cast<char*>(values.data());
    read(name, sizeof(T) << 16, [&](void const* data, std::size_t bytes) {
      if (bytes % sizeof(T) != 0)
        throw Error(ExitCode::kBug, path_ + ": " + name + " is no array of such values");
      to = std::copy_n(static_cast<char const*>(data), bytes, to);
    });
    return values;
  }

 private:
  friend std::unique_ptr<CheckpointReader> open_checkpoint(
      std::string const& path, std::string const& identity,
      std::function<void(std::string const&)> const& warn);

  struct Section {
    std::uint64_t offset;
    std::uint64_t bytes;
  };

  explicit CheckpointReader(std::string path) : path_(std::move(path)) {}
  /// What is wrong with the file; empty when nothing is.
  std::string problem(std::string const& identity);
  std::string read_table(std::string const& table, std::uint64_t begin);
  /// Bytes [offset, offset + bytes) of the file; fewer where it ends. Throws Error(kDisk).
  std::string bytes_at(std::uint64_t offset, std::uint64_t bytes) const;

  std::string path_;
  int fd_ = -1;
  std::map<std::string, Section> sections_;
};

/// Opens the state at `path`; null when there is none. One of another identity, or one that is
/// damaged, is removed, and `warn` is told so in one line. Throws Error(kDisk).
std::unique_ptr<CheckpointReader> open_checkpoint(
    std::string const& path, std::string const& identity,
    std::function<void(std::string const&)> const& warn);

/// When to save: at least `seconds` apart, and so seldom that saving takes no more than a twentieth
/// of the time.
class CheckpointClock {
 public:
  using Now = std::function<double()>;  // seconds; any thread

  /// seconds: 0 = never. now: empty = the time that passes; tests bring their own.
  explicit CheckpointClock(double seconds, Now now = {});
  bool due() const { return seconds_ > 0.0 && now_() >= next_; }
  /// Calls save() and finds the next time by how long that took. One thread at a time, and none in
  /// due() meanwhile.
  void run(std::function<void()> const& save);

 private:
  double seconds_;
  Now now_;
  double next_;
};

}  // namespace fairlane
