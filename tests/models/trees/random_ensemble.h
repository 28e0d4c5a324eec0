// Random ensembles of trees for tests.
#pragma once

#include <cstdint>
#include <random>

#include "models/trees/trees.h"

namespace fairlane {

/// A leaf, or a node with two subtrees: a child as in TreeEnsemble.
inline std::int32_t grow(TreeEnsemble& trees, std::mt19937& random, int depth, int chance_of_leaf) {
  auto const below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  if (depth == 0 || below(100) < chance_of_leaf) {
    auto const leaf = static_cast<std::int32_t>(trees.leaves.size()) / trees.width;
    for (int i = 0; i < trees.width; ++i) trees.leaves.push_back((below(2001) - 1000) / 700.0);
    return ~leaf;
  }
  auto const node = trees.feature.size();
  trees.feature.push_back(below(trees.inputs));
  trees.threshold.push_back(static_cast<float>(below(21) - 8) * 0.5F +
                            (below(4) == 0 ? 9000.0F : 0.0F));
  trees.left.push_back(0);
  trees.right.push_back(0);
  std::int32_t const left = grow(trees, random, depth - 1, chance_of_leaf);
  std::int32_t const right = below(10) == 0 ? left : grow(trees, random, depth - 1, chance_of_leaf);
  trees.left[node] = left;
  trees.right[node] = right;
  return static_cast<std::int32_t>(node);
}

/// inputs, sums  of it; 0: drawn. most_depth: of its trees
inline TreeEnsemble random_ensemble(std::mt19937& random, bool in_double, int inputs = 0,
                                    int sums = 0, int most_depth = 8) {
  auto const below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  TreeEnsemble trees;
  trees.source = "random";
  trees.inputs = inputs > 0 ? inputs : 1 + below(5);
  trees.in_double = in_double;
  trees.sums = sums > 0 ? sums : 1 + below(4);
  trees.width = below(2) == 0 ? 1 : trees.sums;
  for (int i = 0; i < trees.sums; ++i) trees.base.push_back(0.1 * below(5));
  trees.divisor = 1 + below(3);
  int const count = 1 + below(8);
  for (int i = 0; i < count; ++i) {
    std::int32_t const root = grow(trees, random, below(most_depth + 1), below(30));
    trees.roots.push_back(root);
    trees.first_sum.push_back(below(trees.sums - trees.width + 1));
  }
  return trees;
}

}  // namespace fairlane
