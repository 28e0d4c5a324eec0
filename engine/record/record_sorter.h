// Sorting more records than fit in memory: chunks are sorted in memory, spilled, and merged when
// read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace fairlane {

/// Distinct records of 64-bit words in ascending order of their key.
///
/// A record is its key, most significant word first, and with `payload` one more word, of which the
/// least among equal keys is kept. At most `memory_limit` bytes are held (never less than one
/// append needs); what exceeds it goes to sorted temporary files in `dir`, which is created when
/// first needed. Not thread-safe.
class RecordSorter {
 public:
  struct Options {
    int key_words = 1;
    bool payload = true;
    std::string dir;
    std::string name;  // of the temporary files
    std::uint64_t memory_limit = 0;
    int threads = 1;  // that sort
  };

  explicit RecordSorter(Options options);
  ~RecordSorter();
  RecordSorter(RecordSorter const&) = delete;
  RecordSorter& operator=(RecordSorter const&) = delete;

  /// Words of a record.
  std::size_t stride() const { return stride_; }
  /// So many more will come, as far as is known: a wish that saves moving them. Throws
  /// Error(kMemory).
  void expect(std::size_t records);
  /// Room for up to `count` records at the end; commit() says how many were written. Throws
  /// Error(kMemory | kDisk).
  std::uint64_t* append(std::size_t count);
  void commit(std::size_t count) { count_ += count; }

  /// Calls take(records [n][stride], n) with everything so far, in no order, repeats among it.
  /// Before finish(). Throws Error(kDisk).
  using Look = std::function<void(std::uint64_t const* records, std::size_t n)>;
  void for_each_so_far(Look const& look) const;

  /// Sorts. Call once, after the last commit. Throws Error(kMemory | kDisk).
  void finish();
  /// Calls take(records [n][stride], n) in ascending order until it returns false. After finish(),
  /// repeatable, and by several threads at once.
  using Take = std::function<bool(std::uint64_t const* records, std::size_t n)>;
  void for_each(Take const& take) const;
  /// Temporary files written so far.
  int spilled() const { return next_file_; }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  using Words = std::unique_ptr<std::uint64_t, Free>;

  void reserve(std::size_t records);
  /// Whether the records in memory are sorted and distinct as they came.
  bool ascends() const;
  void sort_in_memory();
  void sort_narrow();
  void sort_wide();
  void drop_repeats();
  void spill();
  std::string merge_files(std::vector<std::string> const& files);
  std::string next_path();

  Options options_;
  std::size_t stride_;
  Words records_;
  std::size_t count_ = 0;
  std::size_t capacity_ = 0;
  std::vector<std::string> files_;  // sorted, without repeats within each
  int next_file_ = 0;
};

}  // namespace fairlane
