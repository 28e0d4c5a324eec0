// Bounds of an ensemble of trees over boxes of groups.
//
// A tree's leaf lies between the least and the greatest of those that a box can reach. The scorer
// adds one leaf of each tree in the order of the trees, in float32 or double, and what comes behind
// (a quotient, a rounding) never falls where a sum rises. Rounded addition does not either: the sum
// of the least leaves, added in the same order and precision, is never above the scorer's sum, and
// that of the greatest never below, roundings included. At a single point both are the scorer's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/verify/ensembles/box_trees.h"
#include "kernels/boxes/relaxation.h"

namespace fairlane {

/// One thread's.
class TreeBounds {
 public:
  /// trees  of a divisor above 0; outlives it
  explicit TreeBounds(BoxTrees const& trees);

  /// Bounds the scorer's scores over a box of groups, with some variants.
  void bound(std::span<AxisRange const> box, std::span<int const> variants);
  /// After bound(): [outputs]
  std::vector<Interval> const& scores() const { return scores_; }
  /// Labels that some input of the box may have, a bit each, where a score of one output means
  /// label 1 above `least_upper` and label 0 up to `most_lower`.
  std::uint64_t labels(double least_upper, double most_lower) const;
  /// Whether all scores are finite.
  bool finite() const;
  /// The conditions that tell groups of the box apart, or their variants; in the order in which
  /// trees come to them.
  std::vector<std::int32_t> const& open() const { return open_; }
  /// By how much nearer the bounds would come by halving at one of those, about.
  double weight(std::int32_t condition) const {
    return weights_[static_cast<std::size_t>(condition)];
  }

  /// Whether some node that a box reaches tells two variants apart: where none does, every group
  /// has the same leaves with either.
  bool separates(std::span<AxisRange const> box, int one, int other);
  /// Whether one of open() is of an attribute under test.
  bool tells_variants_apart() const;

 private:
  /// Which sides of a condition the box has, as far as it is known.
  enum class Sides : std::uint8_t { kUnknown, kLeft, kRight, kBoth };

  /// The least and the greatest leaf that a node reaches, to reach [2][width].
  void visit(std::int32_t at, double* reach);
  Sides sides_of(std::int32_t c);
  // As the scorer computes them, in the precision of the library. No value is rounded by itself:
  // g++ 12 forgets a conversion to float32 and back that is one side of a conditional expression.
  double sum(double x, double y) const {
    return ensemble_.in_double ? x + y : static_cast<float>(x) + static_cast<float>(y);
  }
  double quotient(double x, double y) const {
    return ensemble_.in_double ? x / y : static_cast<float>(x) / static_cast<float>(y);
  }

  BoxTrees const& trees_;
  TreeEnsemble const& ensemble_;
  std::span<int const> variants_;
  std::vector<AxisRange> ranges_;  // [axes] on the way through a tree
  std::vector<Sides> sides_;       // [conditions] of the box, of those without a cut
  std::vector<double> weights_;    // [conditions]
  std::vector<std::uint8_t> is_open_;
  std::vector<std::int32_t> open_;
  std::vector<double> reach_;  // [depth][2][width]
  std::vector<Interval> sums_;
  std::vector<Interval> scores_;
};

}  // namespace fairlane
