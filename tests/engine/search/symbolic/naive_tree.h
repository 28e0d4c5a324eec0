// A decision tree written as plainly as possible: every split of every attribute is tried by
// counting anew.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "engine/search/symbolic/decision_tree.h"

namespace fairlane::naive {

/// Rows with their classes.
struct Sample {
  std::vector<std::vector<std::int32_t>> rows;
  std::vector<int> labels;
};

/// A split, and its two sides.
struct TreeSplit {
  std::size_t attribute = 0;
  std::int32_t threshold = 0;
  Sample sides[2];  // at most the threshold, above it
};

/// Sum of squared class counts.
inline std::int64_t squares(Sample const& sample) {
  std::map<int, std::int64_t> counts;
  for (int const label : sample.labels) ++counts[label];
  std::int64_t sum = 0;
  for (auto const& [label, count] : counts) sum += count * count;
  return sum;
}

/// The first split, by attribute and threshold, with the least weighted Gini impurity; false for a
/// leaf.
inline bool best_split(Sample const& sample, TreeSplit& best) {
  if (std::set<int>(sample.labels.begin(), sample.labels.end()).size() < 2) return false;
  bool any = false;
  std::int64_t best_num = 0;
  std::int64_t best_den = 1;
  for (std::size_t a = 0; a < sample.rows[0].size(); ++a) {
    std::set<std::int32_t> values;
    for (auto const& row : sample.rows) values.insert(row[a]);
    for (auto low = values.begin(); std::next(low) != values.end(); ++low) {
      TreeSplit split;
      split.attribute = a;
      // Between two neighbouring values, rounded down also below zero.
      std::int64_t const sum = std::int64_t{*low} + *std::next(low);
      split.threshold = static_cast<std::int32_t>((sum - (((sum % 2) + 2) % 2)) / 2);
      for (std::size_t i = 0; i < sample.rows.size(); ++i) {
        Sample& side = split.sides[sample.rows[i][a] > split.threshold ? 1 : 0];
        side.rows.push_back(sample.rows[i]);
        side.labels.push_back(sample.labels[i]);
      }
      // Weighted impurity = 1 - (squares left / left + squares right / right) / n: the sum is
      // largest.
      auto const left = static_cast<std::int64_t>(split.sides[0].rows.size());
      auto const right = static_cast<std::int64_t>(split.sides[1].rows.size());
      std::int64_t const num = squares(split.sides[0]) * right + squares(split.sides[1]) * left;
      std::int64_t const den = left * right;
      if (any && num * best_den <= best_num * den) continue;
      any = true;
      best_num = num;
      best_den = den;
      best = std::move(split);
    }
  }
  return any;
}

/// The row's path in the tree of the sample.
inline std::vector<Predicate> tree_path(Sample sample, std::vector<std::int32_t> const& row) {
  std::vector<Predicate> path;
  TreeSplit split;
  while (best_split(sample, split)) {
    bool const above = row[split.attribute] > split.threshold;
    double const left =
        static_cast<double>(split.sides[0].rows.size()) / static_cast<double>(sample.rows.size());
    path.push_back(
        {static_cast<int>(split.attribute), above, split.threshold, above ? 1.0 - left : left});
    sample = split.sides[above ? 1 : 0];
  }
  return path;
}

}  // namespace fairlane::naive
