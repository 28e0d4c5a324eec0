// Bounds of an ensemble of trees over a box that are sums of a function of each axis.
//
// A tree is nearly such a sum, the more so the fewer of its conditions a box leaves open. Its
// functions are found one after the other, each of them in the middle between the least and the
// greatest that the tree and the other functions leave for it, so that what remains varies little.
// All groups on one side of the sum over all trees, and of what remains of them, are counted. Of
// more than two labels that a box may have, a group has one where its sum is certain to be above
// each of the others'; those that may miss one of these are subtracted, whatever they share.
// Source: Diliberto and Straus, On the approximation of a function of several variables by the sum
// of functions of fewer variables, Pacific Journal of Mathematics 1951.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/verify/boxes/verify_query.h"
#include "engine/verify/counting/sum_counter.h"
#include "engine/verify/ensembles/box_kinds.h"
#include "engine/verify/ensembles/leaf_units.h"
#include "engine/verify/ensembles/tied_kinds.h"

namespace fairlane {

/// One thread's.
class AdditiveBounds {
 public:
  /// All outlive it.
  AdditiveBounds(BoxTrees const& trees, LeafUnits const& units, VerifyQuery const& query);

  /// Bounds the ensemble over a box. Returns false where it is none that it knows, or too many
  /// labels are possible.
  /// possible  labels that groups may have, a bit each
  bool find(BoxKinds const& kinds, TreeBounds const& bounds, std::span<AxisRange const> box,
            std::uint64_t possible);
  /// After it: whether counts are of the groups that exist, instead of all.
  bool knows_who_exists() const { return knows_who_exists_; }
  /// Groups of the box that have members all of which have the same label, at least; where that is
  /// not known, members that do not exist count as others do.
  double count_fair();
  /// Two members, and how many groups have them with different labels, at least.
  struct Unfair {
    VariantPair pair;
    double groups = 0.0;
  };
  Unfair count_unfair();
  /// How much of what remains halving an axis may take away, about. [axes]
  std::vector<double> const& weights() const { return weights_; }

 private:
  /// A tree as far as a box reaches it: nodes both of whose sides it has.
  struct Node {
    std::int32_t condition;
    std::int32_t met;  // a node, or leaf ~i
    std::int32_t not_met;
  };
  /// Pieces of an axis that a tree tells apart, at most 64, and its function.
  /// cuts    [pieces - 1] kinds with which the next piece begins; empty: pieces are kinds
  /// values  [pieces]
  struct Axis {
    std::int32_t axis = 0;
    std::vector<std::int32_t> cuts;
    std::vector<double> values;
  };

  /// What a sum of an ensemble is bounded by, or the difference of two.
  /// more, less    sums of the ensemble that it has, and that are taken from it; -1: none
  /// functions     [1 + axes][kinds] variants first
  /// below, above  what remains, at least and at most
  /// size          of what was added up
  struct Sum {
    int more = -1;
    int less = -1;
    std::vector<std::vector<double>> functions;
    double constant = 0.0;
    double below = 0.0;
    double above = 0.0;
    double size = 0.0;
  };

  /// Returns false where too few or too many labels, or kinds of an axis, are there.
  bool begin_sums(std::span<AxisRange const> box, std::uint64_t possible);
  void choose_sums();
  bool adds_to(std::size_t tree, Sum const& sum) const;
  void take_tree(std::size_t tree);
  std::int32_t prune(std::size_t tree, std::int32_t at);
  /// Of the tree's nodes. Returns false where an axis has too many pieces.
  bool find_axes();
  void take_leaves(std::int32_t at);
  /// Brings the function of axis i to the middle.
  void fit(std::size_t i);
  void fit_tree(std::int32_t root, Sum& sum);
  static void add_function(Axis const& axis, Sum& sum);
  /// What remains of a tree, at least and at most.
  void take_rest(double least, double most, Sum& sum);
  /// Groups that have some of `members`, or all of them.
  struct Asked {
    std::uint64_t members = 0;  // kinds of variants, a bit each
    bool all = false;
  };
  /// Those of a box, and of them those where the sum of the difference's functions lies above
  /// `threshold`, at least.
  struct Counted {
    double groups = 0.0;
    double above = 0.0;
  };
  Counted count_above(double threshold, Asked asked);
  /// Difference of the sums of two of `labels_`.
  void subtract(std::size_t one, std::size_t other);
  /// What it has to be above for the first label to beat the second.
  double least_lead(std::size_t one, std::size_t other) const;
  /// Of the groups that are asked for those where a label beats all others, with every kind of
  /// variants or with one, at least.
  Counted count_label(std::size_t label, Asked asked, std::optional<std::size_t> variants);
  /// Two variants of two kinds that are compared, if any are.
  VariantPair compared(std::size_t one, std::size_t other) const;
  /// The i-th of lists, which is made anew.
  SumList& begin_list(std::size_t i);
  void list_tied(TiedKinds const& tied, Asked asked, SumList& list) const;

  BoxTrees const& trees_;
  LeafUnits const& units_;
  VerifyQuery const& query_;
  SumCounter counter_;

  // Of the box.
  BoxKinds const* kinds_ = nullptr;
  std::vector<AxisRange> ranges_;       // [axes] the box, narrower within a tree
  std::vector<std::uint64_t> sets_;     // [1 + axes] variants first; of axes without cuts
  std::vector<std::int32_t> cut_kind_;  // [conditions] with a cut: the kind behind it
  std::vector<int> labels_;             // that its groups may have
  std::vector<Sum> sums_;               // [labels_] of two the first is nothing
  Sum difference_;                      // of two labels
  std::vector<double> weights_;
  std::vector<TiedKinds> tied_;
  bool knows_who_exists_ = true;
  std::vector<std::uint8_t> is_tied_;  // [axes]
  std::vector<SumList> lists_;

  // Of a tree.
  std::vector<Node> nodes_;
  std::vector<std::size_t> leaves_;  // of the ensemble
  std::vector<double> values_;       // [leaves] what they add to a sum
  std::vector<Axis> axes_;
  std::size_t axis_count_ = 0;
  std::vector<std::int32_t> axis_of_;     // [1 + axes] among axes_; -1: none
  std::vector<std::uint64_t> met_;        // [conditions] pieces
  std::vector<std::uint64_t> way_;        // [axes of the tree] pieces, on the way
  std::vector<std::uint64_t> leaf_sets_;  // [leaves][axes of the tree]
  std::vector<double> leaf_values_;
  std::vector<double> low_;      // [leaves][axes] least of a function in a leaf, and
  std::vector<double> high_;     // the greatest
  std::vector<double> low_sum_;  // [leaves]
  std::vector<double> high_sum_;
};

}  // namespace fairlane
