// Bounds of an ensemble of trees over boxes of inputs.
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

#include "kernels/boxes/relaxation.h"
#include "models/trees/trees.h"

namespace fairlane {

/// One thread's.
class TreeBounds {
 public:
  /// trees  valid, of a divisor above 0; outlives it
  explicit TreeBounds(TreeEnsemble const& trees);

  /// Bounds the scorer's scores over a box of inputs.
  void bound(std::span<Interval const> inputs);
  /// After bound(): [outputs]
  std::vector<Interval> const& scores() const { return scores_; }
  /// Labels that some input of the box may have, a bit each, where a score of one output means
  /// label 1 above `least_upper` and label 0 up to `most_lower`.
  std::uint64_t labels(double least_upper, double most_lower) const;
  /// Whether all scores are finite.
  bool finite() const;

  /// Whether some node that a box reaches tells two values apart that an input has beside the box:
  /// where none does, every row has the same leaves with either.
  /// one, other  [inputs]; where they are equal, the box's interval counts
  bool separates(std::span<Interval const> box, std::span<double const> one,
                 std::span<double const> other, std::span<int const> beside);
  /// How much nearer the bounds would come by halving at a feature's conditions, roughly; added to
  /// weights [inputs].
  void weigh(std::span<Interval const> inputs, std::span<double> weights);

 private:
  /// Of the leaves that a node reaches, [width].
  struct Reach {
    std::vector<double> least;
    std::vector<double> most;
  };
  /// A node, all of it in one place.
  struct Node {
    std::int32_t feature;
    float threshold;
    std::int32_t left;
    std::int32_t right;
  };
  /// Calls take(number) for every leaf that a box reaches.
  template <class Take>
  void each_leaf(std::int32_t root, std::span<Interval const> inputs, Take const& take) {
    stack_.assign(1, root);
    while (!stack_.empty()) {
      std::int32_t at = stack_.back();
      stack_.pop_back();
      while (at >= 0) {
        Node const& node = nodes_[static_cast<std::size_t>(at)];
        Interval const& x = inputs[static_cast<std::size_t>(node.feature)];
        auto const threshold = static_cast<double>(node.threshold);
        bool const left = x.low <= threshold;
        if (left && x.high > threshold) stack_.push_back(node.right);
        at = left ? node.left : node.right;
      }
      take(static_cast<std::size_t>(~at));
    }
  }
  Reach weigh_node(std::int32_t at, std::span<Interval const> inputs, std::span<double> weights);
  // As the scorer computes them, in the precision of the library. No value is rounded by itself:
  // g++ 12 forgets a conversion to float32 and back that is one side of a conditional expression.
  double sum(double x, double y) const {
    return trees_.in_double ? x + y : static_cast<float>(x) + static_cast<float>(y);
  }
  double quotient(double x, double y) const {
    return trees_.in_double ? x / y : static_cast<float>(x) / static_cast<float>(y);
  }

  TreeEnsemble const& trees_;
  std::vector<Node> nodes_;
  std::vector<std::int32_t> stack_;
  std::vector<Interval> sums_;
  std::vector<Interval> scores_;
  std::vector<Interval> range_;  // [width] of a tree
};

}  // namespace fairlane
