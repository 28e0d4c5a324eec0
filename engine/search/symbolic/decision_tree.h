// Decision trees over integer attributes: CART with Gini impurity, unpruned, exact and
// deterministic.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fairlane {

/// Rows to fit a tree on.
/// rows    [count][attributes] integer codes
/// labels  [count] class of each row
struct LabelledRows {
  std::int32_t const* rows = nullptr;
  std::uint8_t const* labels = nullptr;
  std::int64_t count = 0;
  int attributes = 0;
};

/// More rows than these would overflow the impurity's integers.
inline constexpr std::int64_t kMostTreeRows = std::int64_t{1} << 21;

/// One step of a path from the root: what its rows have in common, and which share of the node's
/// rows has it.
struct Predicate {
  int attribute = 0;
  bool above = false;  // value > threshold; otherwise value <= threshold
  std::int32_t threshold = 0;
  double confidence = 0.0;

  bool operator==(Predicate const&) const = default;
};

/// A binary tree whose leaves hold one class, or rows that no attribute tells apart.
///
/// A node takes the split with the least weighted Gini impurity, of equals the first by attribute,
/// then by threshold; it splits whenever it can, also where the impurity stays as it is. A
/// threshold is the midpoint of two neighbouring values of the node's rows, rounded down: for
/// integers that is the same as the midpoint itself.
/// Source: Breiman et al., "Classification and Regression Trees", 1984; the stopping rule is
/// scikit-learn's default.
class DecisionTree {
 public:
  /// Throws Error(kBug) for more than kMostTreeRows rows.
  explicit DecisionTree(LabelledRows const& sample);

  int leaves() const { return leaves_; }
  /// Leaf of a row, 0 .. leaves() - 1.
  int leaf(std::int32_t const* row) const;
  /// Predicates from the root to the row's leaf.
  std::vector<Predicate> path(std::int32_t const* row) const;

 private:
  struct Node {
    int attribute = -1;  // -1: a leaf
    std::int32_t threshold = 0;
    int left = 0;  // node of value <= threshold; of a leaf its number
    int right = 0;
    double left_share = 0.0;
  };

  std::vector<Node> nodes_;
  int leaves_ = 0;
};

/// DecisionTree(sample).path(row), without growing the rest of the tree.
std::vector<Predicate> tree_path(LabelledRows const& sample, std::int32_t const* row);

}  // namespace fairlane
