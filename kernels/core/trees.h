// An ensemble of decision trees, evaluated for many lanes at once with one bit a lane.
//
// Every node asks `feature <= threshold`. The inputs are integers of small ranges, so that the
// nodes of all trees ask few different questions: the answers are computed once for a block of
// lanes, one bit each. A tree then is walked once for the block: a node sends on the lanes that
// answer yes and those that answer no, and a branch without lanes is skipped. Similar inputs share
// their way, which makes the neighbours that a search asks for cheap. Each lane adds up its leaves
// in the order of the trees, so that its sums do not depend on the lanes beside it.
#pragma once

#include <span>

#include "kernels/core/bits.h"

namespace fairlane {

inline constexpr int kTreeWords = 4;  // of a block, measured: 2 to 8 are about the same
inline constexpr int kTreeLanes = 64 * kTreeWords;  // lanes of a block

/// A set of a block's lanes, one bit each.
struct LaneSet {
  std::uint64_t words[kTreeWords];
};

/// A lane goes to `left` when it meets `condition`, otherwise to `right`; a child below 0 is leaf
/// ~child.
struct TreeNode {
  std::int32_t condition;
  std::int32_t left;
  std::int32_t right;
};

/// A branch that waits for its turn, and the lanes in it.
struct TreeBranch {
  std::int32_t child;
  LaneSet lanes;
};

/// An ensemble. Real is the type in which the library that trained it adds up: float or double.
/// roots        [trees] a child as in TreeNode
/// first_sum    [trees] a tree's leaves add to the sums first_sum .. first_sum + width - 1 of a
///              lane
/// nodes        a child's index is greater than its parent's
/// leaves       [leaves][width]
template <class Real>
struct TreesView {
  int sums = 0;
  int width = 0;
  std::span<std::int32_t const> roots;
  std::span<std::int32_t const> first_sum;
  std::span<TreeNode const> nodes;
  std::span<Real const> leaves;
};

/// The lanes of a block that meet each condition of one feature, from the rank of each lane: how
/// many of the feature's thresholds lie below its value.
/// ranks       [kTreeLanes]
/// thresholds  of the feature, ascending
/// conditions  [thresholds] out: lanes with value <= threshold
FL_HD void meet_conditions(std::int32_t const* ranks, int thresholds, LaneSet* conditions) {
  for (int k = 0; k < thresholds; ++k) conditions[k] = {};
  for (int lane = 0; lane < kTreeLanes; ++lane) {
    if (ranks[lane] < thresholds) conditions[ranks[lane]].words[lane / 64] |= 1ULL << (lane % 64);
  }
  for (int k = 1; k < thresholds; ++k) {
    for (int w = 0; w < kTreeWords; ++w) conditions[k].words[w] |= conditions[k - 1].words[w];
  }
}

/// Adds a leaf's values to the sums of its lanes.
template <class Real>
FL_HD void add_leaf(Real const* values, int width, LaneSet const& lanes, int stride, Real* sums) {
  for (int w = 0; w < kTreeWords; ++w) {
    for (std::uint64_t rest = lanes.words[w]; rest != 0; rest &= rest - 1) {
      Real* const sum = sums + static_cast<long>(64 * w + lowest_bit(rest)) * stride;
      for (int i = 0; i < width; ++i) sum[i] += values[i];
    }
  }
}

/// Adds one tree to the sums of a block.
/// conditions  lanes that meet each condition of the ensemble
/// lanes       those of the block that are in use
/// stack       [depth of the tree] scratch
/// sums        [kTreeLanes][trees.sums] in, out
template <class Real>
FL_HD void add_tree(TreesView<Real> const& trees, int tree, LaneSet const* conditions,
                    LaneSet lanes, TreeBranch* stack, Real* sums) {
  Real* const first = sums + trees.first_sum[static_cast<std::size_t>(tree)];
  std::int32_t at = trees.roots[static_cast<std::size_t>(tree)];
  TreeNode const* const nodes = trees.nodes.data();
  int waiting = 0;
  while (true) {
    if (at < 0) {
      add_leaf(trees.leaves.data() + static_cast<long>(~at) * trees.width, trees.width, lanes,
               trees.sums, first);
      if (waiting == 0) return;
      --waiting;
      at = stack[waiting].child;
      lanes = stack[waiting].lanes;
      continue;
    }
    TreeNode const node = nodes[at];
    LaneSet const& met = conditions[node.condition];
    LaneSet left;
    LaneSet right;
    std::uint64_t any_left = 0;
    std::uint64_t any_right = 0;
    for (int w = 0; w < kTreeWords; ++w) {
      left.words[w] = lanes.words[w] & met.words[w];
      right.words[w] = lanes.words[w] ^ left.words[w];
      any_left |= left.words[w];
      any_right |= right.words[w];
    }
    if (any_left != 0 && any_right != 0) {
      stack[waiting].child = node.right;
      stack[waiting].lanes = right;
      ++waiting;
      lanes = left;
    }
    at = any_left != 0 ? node.left : node.right;
  }
}

}  // namespace fairlane
