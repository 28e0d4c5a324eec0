// Bounds of an ensemble of trees over a box that are sums of a function of each axis.
//
// A tree is nearly such a sum, the more so the fewer of its conditions a box leaves open. Its
// functions are found one after the other, each of them in the middle between the least and the
// greatest that the tree and the other functions leave for it, so that what remains varies little.
// All groups on one side of the sum over all trees, and of what remains of them, are counted.
// Source: Diliberto and Straus, On the approximation of a function of several variables by the sum
// of functions of fewer variables, Pacific Journal of Mathematics 1951.
#pragma once

#include <cstdint>
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

  /// Bounds the ensemble over a box. Returns false where it is none that it knows.
  bool find(BoxKinds const& kinds, TreeBounds const& bounds, std::span<AxisRange const> box);
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

  std::int32_t prune(std::size_t tree, std::int32_t at);
  /// Of the tree's nodes. Returns false where an axis has too many pieces.
  bool find_axes();
  void take_leaves(std::int32_t at);
  /// Brings the function of axis i to the middle.
  void fit(std::size_t i);
  void take_tree(std::int32_t root);
  void add_function(Axis const& axis);
  /// What remains of a tree, at least and at most.
  void take_rest(double least, double most);
  /// Groups that have some of `members`, or all of them.
  struct Asked {
    std::uint64_t members = 0;  // kinds of variants, a bit each
    bool all = false;
  };
  /// Those of a box, and of them those where sign times the sum of the functions lies above
  /// `threshold`, at least.
  struct Counted {
    double groups = 0.0;
    double above = 0.0;
  };
  Counted count_above(double sign, double threshold, Asked asked);
  /// The i-th of lists, which is made anew.
  SumList& begin_list(std::size_t i);
  void list_tied(TiedKinds const& tied, double sign, Asked asked, SumList& list) const;

  BoxTrees const& trees_;
  LeafUnits const& units_;
  VerifyQuery const& query_;
  SumCounter counter_;

  // Of the box.
  BoxKinds const* kinds_ = nullptr;
  std::vector<AxisRange> ranges_;               // [axes] the box, narrower within a tree
  std::vector<std::uint64_t> sets_;             // [1 + axes] variants first; of axes without cuts
  std::vector<std::int32_t> cut_kind_;          // [conditions] with a cut: the kind behind it
  std::vector<std::vector<double>> functions_;  // [1 + axes][kinds] variants first
  double constant_ = 0.0;
  double below_ = 0.0;  // what remains, at least and at most
  double above_ = 0.0;
  double size_ = 0.0;  // of what was added up
  std::vector<double> weights_;
  std::vector<TiedKinds> tied_;
  bool knows_who_exists_ = true;
  std::vector<std::uint8_t> is_tied_;  // [axes]
  std::vector<SumList> lists_;

  // Of a tree.
  std::vector<Node> nodes_;
  std::vector<double> leaves_;
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
