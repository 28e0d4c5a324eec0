// Visited inputs: who met each of them first, how they are handed over, and the record that a
// backend keeps of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "kernels/core/philox.h"
#include "kernels/core/row_keys.h"
#include "kernels/core/visit_flags.h"

namespace fairlane {

/// When and by whom an input was first visited, ordered by (phase, seed, iteration).
struct Finder {
  static constexpr int kIterationBits = 31;

  static constexpr std::uint64_t pack(Phase phase, std::uint32_t seed, std::uint32_t iteration) {
    return (static_cast<std::uint64_t>(phase) << 63) |
           (static_cast<std::uint64_t>(seed) << kIterationBits) | iteration;
  }
  static constexpr Phase phase(std::uint64_t finder) {
    return (finder >> 63) != 0 ? Phase::kLocal : Phase::kGlobal;
  }
  static constexpr std::uint32_t seed(std::uint64_t finder) {
    return static_cast<std::uint32_t>((finder >> kIterationBits) & 0xFFFFFFFFU);
  }
  static constexpr std::uint32_t iteration(std::uint64_t finder) {
    return static_cast<std::uint32_t>(finder & ((1ULL << kIterationBits) - 1));
  }
};

/// Finder of an instance that no search found, but a walk over all: before any search's.
inline constexpr std::uint64_t kFoundByWalk = Finder::pack(Phase::kGlobal, 0, 0);

/// Visited inputs in bulk.
/// group    [count][words] key of the non-protected values (KeyLayout)
/// variant  [count] protected combination
/// finder   [count] packed Finder, the least of all visits that this backend recorded in one place
/// state    [count] kVisitHit, kVisitUndefined, kVisitUncertain, or 0
struct Visits {
  std::size_t count = 0;
  int words = 1;
  std::uint64_t const* group = nullptr;
  std::uint32_t const* variant = nullptr;
  std::uint64_t const* finder = nullptr;
  std::uint8_t const* state = nullptr;
};
inline constexpr std::uint8_t kVisitHit = 1;        // an IDI
inline constexpr std::uint8_t kVisitUndefined = 2;  // its own output is not finite
inline constexpr std::uint8_t kVisitUncertain = 4;  // no IDI, but a similar input is undefined

/// State of a visit from a record's flags, which may have other bits beside.
FL_HD std::uint8_t visit_state(std::uint64_t flags) {
  if ((flags & (kHitFlag | kUndefinedFlag)) == 0)
    return (flags & kIrregularFlag) != 0 ? kVisitUncertain : std::uint8_t{0};
  return static_cast<std::uint8_t>(((flags & kHitFlag) != 0 ? kVisitHit : 0) |
                                   ((flags & kUndefinedFlag) != 0 ? kVisitUndefined : 0));
}

/// What an input counts as. IDIs come first where records sort by it.
enum class VisitKind : std::uint8_t { kIdi, kMiss, kUndefined, kUncertain };

/// Kind of a visit with that state. kUncertain: no IDI, unless by an undefined member of its
/// similar set
FL_HD VisitKind visit_kind(std::uint8_t state) {
  if ((state & kVisitUndefined) != 0) return VisitKind::kUndefined;
  if ((state & kVisitHit) != 0) return VisitKind::kIdi;
  return (state & kVisitUncertain) != 0 ? VisitKind::kUncertain : VisitKind::kMiss;
}

/// Label and pair of an IDI in one word.
/// variant     of the first member in product order that has another label
struct LabelPair {
  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};
  static constexpr int kLabelBits = 16;

  std::uint32_t variant = 0;
  std::uint32_t label = 0;
  std::uint32_t pair_label = 0;

  static LabelPair of_word(std::uint64_t word) {
    constexpr std::uint32_t kMask = (1U << kLabelBits) - 1;
    return {static_cast<std::uint32_t>(word >> (2 * kLabelBits)),
            static_cast<std::uint32_t>(word >> kLabelBits) & kMask,
            static_cast<std::uint32_t>(word) & kMask};
  }
  std::uint64_t word() const {
    return (static_cast<std::uint64_t>(variant) << (2 * kLabelBits)) |
           (static_cast<std::uint64_t>(label) << kLabelBits) | pair_label;
  }
};

/// Counts over everything that was visited before a cut.
/// undefined          inputs whose own output is not finite
/// undefined_similar  inputs that are no IDIs as far as is known, but for an undefined member of
///                    their similar set
/// infeasible         inputs that constraints exclude, which are none of the others
struct FindingCounts {
  std::int64_t unique_instances = 0;
  std::int64_t unique_groups = 0;
  std::int64_t unique_generated = 0;
  std::int64_t undefined = 0;
  std::int64_t undefined_similar = 0;
  std::int64_t infeasible = 0;

  bool operator==(FindingCounts const&) const = default;
  /// So many more inputs; their groups are counted elsewhere.
  FL_HD void count(VisitKind kind, std::int64_t inputs = 1) {
    unique_generated += inputs;
    unique_instances += kind == VisitKind::kIdi ? inputs : 0;
    undefined += kind == VisitKind::kUndefined ? inputs : 0;
    undefined_similar += kind == VisitKind::kUncertain ? inputs : 0;
  }
  void add(FindingCounts const& other) {
    unique_instances += other.unique_instances;
    unique_groups += other.unique_groups;
    unique_generated += other.unique_generated;
    undefined += other.undefined;
    undefined_similar += other.undefined_similar;
    infeasible += other.infeasible;
  }
  /// The same where inputs are undefined only because constraints exclude them.
  FindingCounts of_feasible() const {
    FindingCounts counts = *this;
    counts.infeasible += undefined;
    counts.unique_generated -= undefined;
    counts.undefined = 0;
    counts.undefined_similar = 0;
    return counts;
  }
};

using VisitSink = std::function<void(Visits const&)>;
/// Visits as words: a row key [words] and the finder each, or what else was asked for.
using TakeRecords = std::function<void(std::uint64_t const* records, std::size_t n)>;

/// Which IDIs a record of visits hands out, and how.
/// keys         how row keys are made
/// cut          visits whose finder is not below it do not count
/// label_pairs  the word beside a key is a LabelPair, or LabelPair::kUnknown, not the finder; for
///              records that know them
struct FindingQuery {
  RowKeys keys;
  std::uint64_t cut = 0;
  bool label_pairs = false;
};
/// Groups of a count that nobody has counted.
inline constexpr std::int64_t kUncounted = -1;

/// The record of the inputs that a backend's blocks have visited, each with its least finder.
class VisitRecord {
 public:
  virtual ~VisitRecord() = default;
  /// Distinct inputs recorded so far (approximate while blocks run) and memory of the record in
  /// bytes.
  virtual std::uint64_t visited() const = 0;
  /// IDIs among them.
  virtual std::uint64_t instances() const = 0;
  virtual std::uint64_t table_bytes() const = 0;
  /// Whether visits went to the overflow sink: the table then misses some.
  virtual bool overflowed() const = 0;
  /// Hands out everything recorded; inputs may occur twice when the table overflowed its memory
  /// limit.
  virtual void collect(VisitSink const& sink) = 0;
  /// Whether collect_findings can hand out label pairs.
  virtual bool knows_label_pairs() const { return false; }
  /// Hands out IDIs, each once, in any order, and counts everything; unique_groups may be
  /// kUncounted. Nothing, where inputs may occur twice, where the record has no such way, or where
  /// memory is short: collect() serves then.
  virtual std::optional<FindingCounts> collect_findings(FindingQuery const&, TakeRecords const&) {
    return std::nullopt;
  }
  /// Makes room for about that many inputs in all, between phases.
  virtual void reserve(double inputs) = 0;
};

}  // namespace fairlane
