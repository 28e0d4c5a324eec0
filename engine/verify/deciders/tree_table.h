// Every group of a box of an ensemble of trees, evaluated at once.
//
// Groups that take the same side of every condition that the box reaches are of one kind: they have
// the same leaves. Kinds are a product of axes, too, and a leaf adds its value to all kinds that
// reach it, in whole numbers of a small unit. Where what rounds there, and in the library's own
// sums, may decide a label, it is left in doubt.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/verify/boxes/box_domain.h"
#include "engine/verify/boxes/verify_query.h"
#include "kernels/boxes/box_kernels.h"
#include "models/trees/trees.h"

namespace fairlane {

/// Labels of an ensemble as sums of its leaves: label 1 where `sum` of a row, in units, is above
/// `one_above`, label 0 where it is at most `zero_up_to`; between them is what rounding may decide.
class LeafUnits {
 public:
  /// threshold  of scores, above which the label is 1; ignored where there are several
  LeafUnits(TreeEnsemble const& trees, double threshold);

  /// Whether there are two labels, and units fine enough. Nothing else is to be asked otherwise.
  bool usable() const { return usable_; }
  /// What a tree's leaf adds.
  std::int32_t of(std::size_t tree, std::size_t leaf) const {
    return sign_[tree] < 0 ? -units_[leaf] : units_[leaf];
  }
  std::int32_t base() const { return base_; }
  std::int32_t one_above() const { return one_above_; }
  std::int32_t zero_up_to() const { return zero_up_to_; }

 private:
  bool usable_ = false;
  std::vector<std::int32_t> units_;  // [leaves]
  std::vector<std::int8_t> sign_;    // [trees]
  std::int32_t base_ = 0;
  std::int32_t one_above_ = 0;
  std::int32_t zero_up_to_ = 0;
};

/// One thread's.
class TreeTable {
 public:
  /// What the members of a kind's groups are.
  enum class Outcome : std::uint8_t { kFair, kUnfair, kInDoubt };

  /// All outlive it.
  TreeTable(BoxDomain const& domain, TreeEnsemble const& trees, VerifyQuery const& query);

  /// Evaluates a box, with some variants. Returns false where its kinds are too many, or the
  /// ensemble is none that it knows.
  bool fill(std::span<AxisRange const> box, std::span<int const> variants);
  /// After it, calls take(entries [axes] of a group, how many there are of its kind, outcome) for
  /// every kind until it returns false.
  template <class Take>
  void each_kind(Take const& take) {
    first_kind();
    for (std::size_t i = 0; i < least_.size(); ++i) {
      if (!take(std::span<std::int32_t const>(entries_), groups_, outcome(i))) return;
      next_kind();
    }
  }

 private:
  static constexpr std::int32_t kNone = -1;
  /// Whether an input is at most a threshold.
  /// axis   of the input; kNone: one of the attributes under test
  /// cut    of an axis with ascending entries: that many, the first ones, are
  /// meets  [entries] of another axis, or [variants]
  struct Condition {
    std::int32_t axis = kNone;
    std::int32_t cut = 0;
    std::vector<std::uint8_t> meets;
  };
  struct Node {
    std::int32_t condition;
    std::int32_t left;
    std::int32_t right;
  };
  /// An axis of the box, as far as the box goes.
  /// kind_of   [entries of the box] which one an entry is of; first [kinds] entry of each
  /// sizes     [kinds] entries
  /// tested    nodes that ask of it
  struct Axis {
    std::vector<std::uint8_t> kind_of;
    std::vector<std::int32_t> first;
    std::vector<std::int32_t> sizes;
    std::int32_t tested = 0;
  };

  void add_conditions(TreeEnsemble const& trees);
  /// Marks the conditions that a box reaches.
  void reach(std::int32_t at);
  bool find_kinds(std::span<AxisRange const> box);
  void find_kinds_of(std::size_t axis, AxisRange range);
  /// Which kinds of its axis, or which variants, meet a condition.
  std::uint64_t met(Condition const& condition) const;
  void take_leaves(std::size_t tree, std::int32_t at);
  Outcome outcome(std::size_t kind) const;
  void first_kind();
  void next_kind();

  BoxDomain const& domain_;
  TreeEnsemble const& trees_;
  VerifyQuery const& query_;
  BoxKernels const& kernels_;
  LeafUnits units_;
  std::vector<Condition> conditions_;
  std::vector<Node> nodes_;

  // Of the box that is filled.
  std::span<AxisRange const> box_;
  std::span<int const> variants_;
  std::vector<AxisRange> ranges_;                // [axes] on the way through a tree
  std::vector<std::uint8_t> reached_;            // [conditions]
  std::vector<std::vector<std::int32_t>> asks_;  // [axes] those of them
  std::vector<Axis> axes_;
  std::vector<std::size_t> order_;   // axes of more than one kind, the one most often asked first
  std::vector<std::uint8_t> known_;  // [conditions] whether met_ is
  std::vector<std::uint64_t> met_;   // [conditions] as met() has it
  std::vector<std::uint64_t> sets_;  // [axes] kinds, on the way through a tree, and variants
  std::uint64_t set_of_variants_ = 0;
  std::int32_t constant_ = 0;
  /// Leaves of trees that all variants reach, and of the others, whose first axis is variants.
  struct Leaves {
    std::vector<int> sizes;
    std::vector<std::uint64_t> sets;
    std::vector<std::int32_t> values;
  };
  Leaves shared_;
  Leaves own_;
  std::vector<std::int32_t> starts_;
  std::vector<std::int32_t> shared_sums_;  // [kinds]
  std::vector<std::int32_t> own_sums_;     // [variants][kinds]
  std::vector<std::int32_t> least_;        // [kinds] of all variants
  std::vector<std::int32_t> most_;
  std::vector<std::size_t> place_;     // [order] where each_kind() is
  std::vector<std::int32_t> entries_;  // [axes]
  double groups_ = 0.0;
  double others_ = 1.0;  // entries of axes of one kind
};

}  // namespace fairlane
