// From visited inputs to findings: distinct instances in canonical order, groups, counts,
// signature.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/layout/plan.h"
#include "kernels/visits.h"

namespace fairlane {

/// Turns backend keys into rows, and rows into keys that sort like the rows.
///
/// A row key is the row's mixed-radix number over the domain in dataset order, cut into words of at
/// most kRowKeyBits, most significant word first; comparing the words one after the other compares
/// the rows.
class RowCodec {
 public:
  explicit RowCodec(PackedSubject const& subject);
  int attributes() const { return attributes_; }
  int words() const { return words_; }
  /// key [words] of an input given by the backend's group key and variant.
  void key(std::uint64_t const* group, std::uint32_t variant, std::uint64_t* key) const;
  /// row [attributes] of the same.
  void row(std::uint64_t const* group, std::uint32_t variant, std::int32_t* row) const;
  void row_key(std::int32_t const* row, std::uint64_t* key) const;
  void row_of_key(std::uint64_t const* key, std::int32_t* row) const;
  /// Key of the row with the least value in every selected attribute: equal for all members of a
  /// group.
  void group_of_key(std::uint64_t const* key, std::uint64_t* group) const {
    for (int w = 0; w < words_; ++w) group[w] = key[w];
    for (auto const& digit : selected_digits_) {
      std::uint64_t const word = key[digit.word];
      std::uint64_t const upto = digit.span == 0 ? word : word % digit.span;
      group[digit.word] -= digit.stride == 1 ? upto : upto - word % digit.stride;
    }
  }

 private:
  /// Neighbouring movable attributes whose digits are neighbours in both keys: they move as one
  /// digit.
  struct Run {
    int from_word;
    std::uint64_t from_stride;
    std::uint64_t range;  // 0: the leading run of its word, nothing above it to take off
    int to_word;
    std::uint64_t to_stride;
  };
  /// A selected attribute's digit: (key % span) - (key % stride) is what it contributes; span 0:
  /// the leading digit.
  struct Digit {
    int word;
    std::uint64_t stride;
    std::uint64_t span;
  };
  void find_runs(PackedSubject const& subject);
  void list_variants(PackedSubject const& subject);

  int attributes_ = 0;
  int words_ = 1;
  int group_words_ = 1;
  std::vector<std::int32_t> low_;                 // [attributes]
  std::vector<std::vector<std::int32_t>> lists_;  // [attributes] codes; empty: all from low on
  std::vector<std::uint64_t> range_;              // [attributes] how many codes
  std::vector<int> word_;                         // [attributes] word of the attribute's digit
  std::vector<std::uint64_t> stride_;             // [attributes]
  std::vector<int> selected_;                     // attributes under test
  std::vector<Digit> selected_digits_;
  std::vector<Run> runs_;
  std::vector<std::uint64_t> variant_key_;  // [variants][words] what the selected digits contribute
};

inline constexpr int kRowKeyBits =
    62;  // two bits of the first word are left for the kind of record

/// Visits as words: stride words each, a row key with the kind of record in its highest bits, then
/// the finder.
using TakeRecords = std::function<void(std::uint64_t const* records, std::size_t n)>;

/// Counts over everything that was visited before the cut.
/// undefined          inputs whose own output is not finite
/// undefined_similar  inputs that are no IDIs as far as is known, but for an undefined member of
///                    their similar set
struct FindingCounts {
  std::int64_t unique_instances = 0;
  std::int64_t unique_groups = 0;
  std::int64_t unique_generated = 0;
  std::int64_t undefined = 0;
  std::int64_t undefined_similar = 0;
};

/// Collects visits, in memory up to a limit and in sorted temporary files beyond, and hands out the
/// distinct IDIs sorted by attributes, each with its least finder. One add at a time, from any
/// thread.
///
/// Memory: an IDI takes 8 (words + 1) bytes, twice that while it is sorted, and up to 16 words
/// bytes beside it while groups are counted; together they stay within the limit. Inputs that are
/// no IDIs are only counted, unless add() was used: then every input is sorted.
class Findings {
 public:
  /// spill_dir: where temporary files go when memory_limit (bytes) is exceeded; created when first
  /// needed.
  Findings(PackedSubject const& subject, std::string spill_dir, std::uint64_t memory_limit);
  ~Findings();
  Findings(Findings const&) = delete;
  Findings& operator=(Findings const&) = delete;

  /// Takes visits among which inputs may repeat (what did not fit the backend's record).
  void add(Visits const& visits);
  /// Same from what a backend recorded, without visits whose finder is not below `cut`:
  /// what several backends found for one result. finish() needs no cut then.
  void add_from(VisitRecord& from, std::uint64_t cut);
  /// Takes what a backend recorded, each input once; visits whose finder is not below
  /// `cut` do not count. After all add(). Throws Error(kMemory | kDisk).
  void collect(VisitRecord& from, std::uint64_t cut);
  void add_distinct(Visits const& visits, std::uint64_t cut);

  /// Hands out everything so far, what the record holds and what was added: inputs may repeat.
  /// No visits are made meanwhile. Throws Error.
  void save(VisitRecord& from, TakeRecords const& take);
  /// Calls take(key [codec().words()], finder) with every visit so far, otherwise like save().
  using TakeVisit = std::function<void(std::uint64_t const* key, std::uint64_t finder)>;
  void for_each_visit(VisitRecord& from, TakeVisit const& take);
  /// Takes what save() handed out in an earlier session. Before anything else.
  void restore(std::uint64_t const* records, std::size_t count);
  /// Words of such a record.
  std::size_t stride() const;

  /// Sorts and counts; visits whose finder is not below `cut` do not count. Call once, after the
  /// last add.
  void finish(std::uint64_t cut);
  FindingCounts const& counts() const;
  RowCodec const& codec() const;
  /// Calls take(rows [n][attributes], finders [n], n) with the IDIs in canonical order, in batches.
  /// Repeatable after finish.
  using Take =
      std::function<void(std::int32_t const* rows, std::uint64_t const* finders, std::size_t n)>;
  void for_each(Take const& take) const;
  /// Same, with row keys [n][codec().words()] instead of rows.
  using TakeKeys =
      std::function<void(std::uint64_t const* keys, std::uint64_t const* finders, std::size_t n)>;
  void for_each_key(TakeKeys const& take) const;
  /// Calls take(rows [n][attributes], n) with one row of each group that has an IDI, sorted: that
  /// with the least values in the selected attributes. Repeatable after finish.
  using TakeRows = std::function<void(std::int32_t const* rows, std::size_t n)>;
  void for_each_group(TakeRows const& take) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fairlane
