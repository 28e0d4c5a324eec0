// The kernels that take the findings out of a record of visits: count, pick, key, and lay them out.
#pragma once

#include "kernels/core/row_keys.h"
#include "kernels/device/record/visit_set.h"
#include "kernels/visits.h"

namespace fairlane {

/// The visits of a record that count: one part's, with finders below the cut.
struct CountedVisits {
  VisitSet set;
  int part = 0;
  int parts = 1;
  std::uint64_t cut = 0;

  FL_HD bool counts(std::uint64_t const* slot) const {
    return slot[0] != 0 && ~slot[1] < cut && (parts == 1 || set.owner(slot, parts) == part);
  }
  static FL_HD VisitKind kind(std::uint64_t const* slot) {
    return visit_kind(visit_state(slot[0]));
  }
  FL_HD bool is_finding(std::uint64_t const* slot) const {
    return counts(slot) && kind(slot) == VisitKind::kIdi;
  }
  /// Calls take(slot) for the slots of strip i, such that neighbouring threads read neighbours.
  template <class Take>
  FL_HD void for_each_slot(std::int64_t i, Take const& take) const {
    auto const end = static_cast<std::int64_t>(set.capacity);
    std::int64_t at = i / kTogether * (kTogether * kStrip) + i % kTogether;
    for (int k = 0; k < kStrip && at < end; ++k, at += kTogether)
      take(set.slots + at * set.slot_words());
  }
  /// Strips that cover the record.
  std::int64_t strips() const {
    constexpr std::int64_t kSlots = kTogether * kStrip;
    return (static_cast<std::int64_t>(set.capacity) + kSlots - 1) / kSlots * kTogether;
  }
  static constexpr std::int64_t kTogether = 32;  // strips that lie interleaved
  static constexpr int kStrip = 64;              // slots of a strip
};

/// Findings by the leading bits of their keys.
inline constexpr int kKeyBucketBits = 12;
inline constexpr int kKeyBuckets = 1 << kKeyBucketBits;

/// Counts every strip.
/// totals   [VisitSet::kCounterWords] FindingCounts in the order of its fields, spread as the
///          record's own counters
/// buckets  [kKeyBuckets] findings by the first word of their key >> shift
struct CountVisits {
  CountedVisits visits;
  RowKeys keys;
  int shift;
  std::uint64_t* totals;
  std::uint64_t* buckets;

  FL_HD void operator()(std::int64_t i) const {
    FindingCounts sum;
    visits.for_each_slot(i, [&](std::uint64_t const* slot) {
      if (!visits.counts(slot)) return;
      VisitKind const kind = CountedVisits::kind(slot);
      sum.count(kind);
      if (kind != VisitKind::kIdi) return;
      if (visits.set.leads_group(slot, [&](auto const* s) { return visits.is_finding(s); }))
        ++sum.unique_groups;
      std::uint64_t word = 0;
      std::uint32_t variant = 0;
      std::uint64_t const* const group = visits.set.group_in(slot, word, variant);
      atomic_count(buckets + (keys.word(group, variant, 0) >> shift), 1);
    });
    if (sum.unique_generated == 0) return;
    std::uint64_t* const to =
        totals + static_cast<std::uint64_t>(i) % VisitSet::kCounters * VisitSet::kCounterStride;
    std::int64_t const counted[] = {sum.unique_instances, sum.unique_groups, sum.unique_generated,
                                    sum.undefined, sum.undefined_similar};
    for (int k = 0; k < kTotals; ++k) {
      if (counted[k] != 0) atomic_count(to + k, static_cast<std::uint64_t>(counted[k]));
    }
  }
  static constexpr int kTotals = 5;
};

/// Words side by side, a column each. column [words][stride]
struct WordColumns {
  std::uint64_t* column = nullptr;
  std::int64_t stride = 0;

  FL_HD std::uint64_t& at(int w, std::int64_t i) const { return column[w * stride + i]; }
};

/// Writes key and finder of the findings of buckets [first, last) in any order.
/// records  [keys.words + 1][..]
/// used     how many there are, 0 at first
struct PickFindings {
  CountedVisits visits;
  RowKeys keys;
  int shift;
  std::uint64_t first;
  std::uint64_t last;
  WordColumns records;
  std::uint64_t* used;

  FL_HD void operator()(std::int64_t i) const {
    auto const for_each = [&](auto const& take) {
      visits.for_each_slot(i, [&](std::uint64_t const* slot) {
        if (!visits.is_finding(slot)) return;
        std::uint64_t word = 0;
        std::uint32_t variant = 0;
        std::uint64_t const* const group = visits.set.group_in(slot, word, variant);
        std::uint64_t const bucket = keys.word(group, variant, 0) >> shift;
        if (first <= bucket && bucket < last) take(group, variant, ~slot[1]);
      });
    };
    // Room is taken once for a strip: one place for all would be a queue.
    std::uint64_t own = 0;
    for_each([&](auto const*, std::uint32_t, std::uint64_t) { ++own; });
    if (own == 0) return;
    auto at = static_cast<std::int64_t>(atomic_count(used, own));
    for_each([&](std::uint64_t const* group, std::uint32_t variant, std::uint64_t finder) {
      for (int w = 0; w < keys.words; ++w) records.at(w, at) = keys.word(group, variant, w);
      records.at(keys.words, at) = finder;
      ++at;
    });
  }
};

/// The words of a column in an order, for sorting.
/// order  [..] numbers of records; fresh: not yet there, then as they are
struct TakeColumn {
  std::uint64_t const* column;
  std::uint64_t* order;
  bool fresh;
  std::uint64_t* to;

  FL_HD void operator()(std::int64_t i) const {
    if (fresh) order[i] = static_cast<std::uint64_t>(i);
    to[i] = column[order[i]];
  }
};

/// Lays records out one behind the other.
/// order  [..] numbers of records, null: as they are
/// to     [..][words]
struct PackRecords {
  WordColumns records;
  int words;
  std::uint64_t const* order;
  std::uint64_t* to;

  FL_HD void operator()(std::int64_t i) const {
    std::int64_t const from = order == nullptr ? i : static_cast<std::int64_t>(order[i]);
    for (int w = 0; w < words; ++w) to[i * words + w] = records.at(w, from);
  }
};

}  // namespace fairlane
