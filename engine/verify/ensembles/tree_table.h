// Every group of a box of an ensemble of trees, evaluated at once, a kind of groups after another.
//
// Kinds are a product of axes. A leaf adds its value to all kinds that reach it, in units whose
// sums do not round, a table for each sum; of what is in doubt by them the scorer is asked.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/verify/boxes/verify_query.h"
#include "engine/verify/ensembles/box_kinds.h"
#include "engine/verify/ensembles/kind_rows.h"
#include "engine/verify/ensembles/leaf_units.h"
#include "kernels/boxes/box_kernels.h"
#include "kernels/boxes/leaf_list.h"
#include "kernels/core/bits.h"
#include "kernels/row_describer.h"

namespace fairlane {

/// One thread's.
class TreeTable {
 public:
  /// What is known of the groups of a kind. Those that are fair need no name.
  enum class Outcome : std::uint8_t { kFair, kUnfair, kInDoubt };

  /// All outlive it. rows: of the same ensemble
  TreeTable(BoxTrees const& trees, LeafUnits const& units, VerifyQuery const& query,
            RowDescriber& rows);

  static constexpr std::uint64_t kAnyLabel = ~std::uint64_t{0};

  /// Evaluates the groups of a box. Returns false where their kinds are too many, or the ensemble
  /// is none that it knows.
  /// possible  labels that groups may have, a bit each: of more than two, sums of others are left
  ///           out
  bool fill(BoxKinds const& kinds, std::uint64_t possible = kAnyLabel);
  /// After it, asks the scorer for every label that is in doubt: then none is.
  void settle();
  /// After it, calls pass(how many groups there are of a kind, their label, who exists) for kinds
  /// whose members have one label, and take(entries [axes] of a group, how many there are, number
  /// of the kind) for the others, until it returns false. Where nobody exists it calls neither.
  template <class Pass, class Take>
  void each_kind(Pass const& pass, Take const& take) {
    rows_.begin(*kinds_, order_);
    for (std::size_t first = 0; first < places_; first += rows_.size(), rows_.next()) {
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        std::size_t const kind = first + i;
        std::uint64_t const there = members(kind);
        if (there == 0) continue;
        if (std::uint32_t const all = all_labels(kind); is_one_bit(all)) {
          pass(rows_.groups(i), std::countr_zero(all), there);
        } else if (!take(rows_.entries(i), rows_.groups(i), kind)) {
          return;
        }
      }
    }
  }
  /// The same with take(entries, how many groups, outcome) for kinds whose groups are not fair.
  template <class Take>
  void each_open(Take const& take) {
    auto const pass = [](double, int, std::uint64_t) {};
    each_kind(pass, [&](std::span<std::int32_t const> entries, double groups, std::size_t kind) {
      Outcome const what = outcome(kind);
      return what == Outcome::kFair || take(entries, groups, what);
    });
  }
  /// Kinds of variants with which a kind's groups have members, a bit each.
  std::uint64_t members(std::size_t kind) const {
    return members_.empty() ? low_bits(static_cast<int>(kinds_->variants().size()))
                            : members_[kind];
  }
  /// Labels that a kind's members with a kind of variants may have, a bit each.
  std::uint32_t labels(std::size_t kind, std::size_t variants) const {
    return units_.sums() > 1 ? labels_[variants * places_ + kind] : labels_of(sum(kind, variants));
  }
  /// The least and the greatest sum of a kind's members, in units, where there are two labels.
  std::int32_t least(std::size_t kind) const { return least_[kind]; }
  std::int32_t most(std::size_t kind) const { return most_[kind]; }
  /// A sum of those with a kind of variants; of all classes one each, where any label is possible.
  std::int32_t sum(std::size_t kind, std::size_t variants, std::size_t c = 0) const {
    return shared_[c].sums[kind] + own_[c].sums[variants * places_ + kind];
  }

 private:
  /// A table of places, axis after axis.
  /// levels  [axes] leaves that add to it once all axes up to this one are there
  /// sums    [places]
  struct Table {
    std::vector<int> sizes;
    std::vector<LeafList> levels;
    std::int32_t constant = 0;
    std::vector<std::int32_t> sums;
  };

  bool is_small() const;
  void choose_sums(std::uint64_t possible);
  void take_leaves(std::size_t tree, std::int32_t at);
  /// Brings axes that few leaves ask of to the end.
  void sort_axes();
  void put_leaves(std::size_t c);
  void begin(std::vector<int> sizes, Table& table) const;
  /// set  [axes of the table]
  static void put(std::span<std::uint64_t const> set, std::int32_t value, Table& table);
  void add_up(Table& table);
  void compare_variants();
  /// Of two labels: from the sums, the least and the greatest.
  void span_sums();
  /// Of more: from the sums, the labels.
  void rank_sums();
  /// Who exists, and what has been found of all members for those.
  void find_members();
  /// From the members of a kind that exist.
  void find_labels(std::size_t kind);
  void add_doubts(std::size_t kind);
  void ask_scorer();
  void set_label(std::size_t kind, std::size_t variants, int label);
  std::uint32_t labels_of(std::int32_t sum) const {
    return sum > units_.one_above() ? 2U : sum <= units_.zero_up_to() ? 1U : 3U;
  }
  /// Labels that a kind's members may have.
  std::uint32_t all_labels(std::size_t kind) const {
    return units_.sums() > 1 ? all_labels_[kind] : labels_of(least_[kind]) | labels_of(most_[kind]);
  }
  Outcome outcome(std::size_t kind) const;
  BoxKinds::Axis const& axis(std::size_t i) const { return kinds_->axes()[order_[i]]; }

  BoxTrees const& trees_;
  VerifyQuery const& query_;
  BoxKernels const& kernels_;
  LeafUnits const& units_;
  RowDescriber& scorer_;

  // Of the box.
  BoxKinds const* kinds_ = nullptr;
  std::vector<std::size_t> order_;         // axes of more than one kind
  std::vector<std::uint8_t> is_known_;     // [conditions] whether its set is
  std::vector<std::uint64_t> met_;         // [conditions] BoxKinds::set_of() each
  std::vector<std::uint64_t> sets_;        // [axes] kinds, on the way through a tree
  std::uint64_t set_of_variants_ = 0;      // likewise
  std::vector<std::uint64_t> leaf_sets_;   // [leaves][1 + order_] variants first
  std::vector<std::int32_t> leaf_values_;  // [leaves][sums]
  std::vector<int> sums_;                  // those that tables are made of
  std::vector<Table> shared_;              // [sums] of leaves that all variants reach
  std::vector<Table> own_;                 // [sums] of the others, its first axis variants
  std::size_t places_ = 0;                 // kinds
  std::vector<std::int32_t> scratch_;
  std::vector<std::int32_t> before_;    // sums of one axis less
  std::vector<std::uint64_t> members_;  // [kinds] empty: everybody exists
  std::vector<std::int32_t> least_;     // [kinds] of those who exist
  std::vector<std::int32_t> most_;
  std::vector<std::uint32_t> labels_;      // [kinds of variants][kinds]
  std::vector<std::uint32_t> all_labels_;  // [kinds] of those who exist
  KindRows rows_;
  /// A member whose label is in doubt.
  struct Doubt {
    std::size_t kind;
    std::size_t variants;
  };
  std::vector<Doubt> doubts_;
  std::vector<std::int32_t> doubted_rows_;  // [doubts][attributes]
  std::vector<float> logits_;               // [doubts][outputs]
  std::vector<std::uint8_t> compared_;      // [kinds of variants][kinds of variants]
};

}  // namespace fairlane
