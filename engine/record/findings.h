// From visited inputs to findings: distinct instances in canonical order, groups, counts,
// signature.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "engine/record/row_codec.h"
#include "kernels/layout/plan.h"
#include "kernels/visits.h"

namespace fairlane {

/// Collects visits, in memory up to a limit and in sorted temporary files beyond, and hands out the
/// distinct IDIs sorted by attributes, each with its least finder. One add at a time, from any
/// thread.
///
/// Memory: an IDI takes 8 (words + 1) bytes, twice that while it is sorted, and up to 16 words
/// bytes beside it while groups are counted; together they stay within the limit. Inputs that are
/// no IDIs are only counted, unless add() was used: then every input is sorted.
class Findings {
 public:
  /// dir           where temporary files go when memory_limit is exceeded; created when needed
  /// memory_limit  bytes
  /// threads       that sort
  /// label_pairs   keep label and pair of an IDI, where the record knows them, not its finder
  struct Options {
    std::string dir;
    std::uint64_t memory_limit = 0;
    int threads = 1;
    bool label_pairs = false;
  };
  Findings(PackedSubject const& subject, Options options);
  ~Findings();
  Findings(Findings const&) = delete;
  Findings& operator=(Findings const&) = delete;

  /// Takes visits among which inputs may repeat (what did not fit the backend's record).
  void add(Visits const& visits);
  /// Same from what a backend recorded, without visits whose finder is not below `cut`:
  /// what several searches found for one result. finish() needs no cut then.
  /// order  what stands for a finder here, so that the finders of all searches have one order
  using Order = std::function<std::uint64_t(std::uint64_t finder)>;
  void add_from(VisitRecord& from, std::uint64_t cut, Order const& order);
  /// Takes what a backend recorded, each input once; visits whose finder is not below
  /// `cut` do not count. After all add(). Throws Error(kMemory | kDisk).
  void collect(VisitRecord& from, std::uint64_t cut);
  void add_distinct(Visits const& visits, std::uint64_t cut);

  /// Hands out everything so far, what the record holds and what was added: inputs may repeat, and
  /// the kind of each stands in the highest bits of its key. No visits are made meanwhile. Throws
  /// Error.
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
  /// Adds inputs that are counted elsewhere, none of which are IDIs. After finish().
  void add_counts(FindingCounts const& others);
  FindingCounts counts() const;
  RowCodec const& codec() const;
  /// Calls take(rows [n][attributes], finders [n], n) with the IDIs in canonical order, in batches.
  /// Repeatable after finish.
  using Take =
      std::function<void(std::int32_t const* rows, std::uint64_t const* finders, std::size_t n)>;
  void for_each(Take const& take) const;
  /// Whether there are label pairs in place of the finders. After collect().
  bool has_label_pairs() const;
  /// Same, with row keys [n][codec().words()] instead of rows; beside [n] a finder or a word of a
  /// LabelPair each.
  using TakeKeys =
      std::function<void(std::uint64_t const* keys, std::uint64_t const* beside, std::size_t n)>;
  void for_each_key(TakeKeys const& take) const;
  /// Calls take(rows [n][attributes], n) with one row of each group that has an IDI, sorted: that
  /// with the least values in the selected attributes. Repeatable after finish.
  using TakeRows = std::function<void(std::int32_t const* rows, std::size_t n)>;
  void for_each_group(TakeRows const& take) const;
  /// Calls take(finders [n], n) with the least finder of each group's IDIs, in batches, in the
  /// order of the groups. Repeatable after finish.
  using TakeFinders = std::function<void(std::uint64_t const* finders, std::size_t n)>;
  void for_each_first_finder(TakeFinders const& take) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fairlane
