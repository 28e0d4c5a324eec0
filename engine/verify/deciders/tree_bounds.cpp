#include "engine/verify/deciders/tree_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/trees/scorer.h"

namespace fairlane {
TreeBounds::TreeBounds(TreeEnsemble const& trees)
    : trees_(trees),
      sums_(static_cast<std::size_t>(trees.sums)),
      scores_(static_cast<std::size_t>(trees.outputs())),
      range_(static_cast<std::size_t>(trees.width)) {
  for (std::size_t n = 0; n < trees.feature.size(); ++n)
    nodes_.push_back({trees.feature[n], trees.threshold[n], trees.left[n], trees.right[n]});
}

void TreeBounds::bound(std::span<Interval const> inputs) {
  for (std::size_t s = 0; s < sums_.size(); ++s) sums_[s] = {trees_.base[s], trees_.base[s]};
  auto const width = range_.size();
  for (std::size_t t = 0; t < trees_.roots.size(); ++t) {
    constexpr double kNone = std::numeric_limits<double>::infinity();
    std::ranges::fill(range_, Interval{kNone, -kNone});
    each_leaf(trees_.roots[t], inputs, [&](std::size_t number) {
      double const* const leaf = &trees_.leaves[number * width];
      for (std::size_t i = 0; i < width; ++i) {
        range_[i].low = std::min(range_[i].low, leaf[i]);
        range_[i].high = std::max(range_[i].high, leaf[i]);
      }
    });
    for (std::size_t i = 0; i < width; ++i) {
      Interval& z = sums_[static_cast<std::size_t>(trees_.first_sum[t]) + i];
      z = {sum(z.low, range_[i].low), sum(z.high, range_[i].high)};
    }
  }
  double const divisor = trees_.divisor;
  for (Interval& z : sums_) z = {quotient(z.low, divisor), quotient(z.high, divisor)};
  if (scores_.size() > 1) {
    scores_ = sums_;
  } else {
    std::vector<double> low;
    std::vector<double> high;
    for (Interval const& z : sums_) {
      low.push_back(z.low);
      high.push_back(z.high);
    }
    // Of two probabilities p(1) is greatest where p(0) is least.
    if (sums_.size() == 2) std::swap(low[0], high[0]);
    scores_[0] = {static_cast<double>(score_of(trees_, low)),
                  static_cast<double>(score_of(trees_, high))};
  }
}

std::uint64_t TreeBounds::labels(double least_upper, double most_lower) const {
  std::uint64_t labels = 0;
  if (scores_.size() == 1) {
    if (scores_[0].low <= most_lower) labels |= 1;
    if (scores_[0].high > least_upper) labels |= 2;
    return labels;
  }
  for (std::size_t c = 0; c < scores_.size(); ++c) {
    bool beaten = false;
    for (std::size_t d = 0; d < scores_.size(); ++d) {
      // Of equal scores the first class wins.
      beaten = beaten || scores_[d].low > scores_[c].high ||
               (d < c && scores_[d].low == scores_[c].high);
    }
    if (!beaten) labels |= std::uint64_t{1} << c;
  }
  return labels;
}

bool TreeBounds::finite() const {
  return std::ranges::all_of(scores_, [](Interval const& z) {
    constexpr double kMost = std::numeric_limits<float>::max();
    return z.low >= -kMost && z.high <= kMost;
  });
}

bool TreeBounds::separates(std::span<Interval const> box, std::span<double const> one,
                           std::span<double const> other, std::span<int const> beside) {
  for (std::int32_t const root : trees_.roots) {
    stack_.assign(1, root);
    while (!stack_.empty()) {
      std::int32_t const at = stack_.back();
      stack_.pop_back();
      if (at < 0) continue;
      auto const n = static_cast<std::size_t>(at);
      auto const feature = static_cast<std::size_t>(trees_.feature[n]);
      auto const threshold = static_cast<double>(trees_.threshold[n]);
      bool left = box[feature].low <= threshold;
      bool right = box[feature].high > threshold;
      if (std::ranges::find(beside, trees_.feature[n]) != beside.end()) {
        left = one[feature] <= threshold;
        right = !left;
        if ((other[feature] <= threshold) != left) return true;
      }
      if (left) stack_.push_back(trees_.left[n]);
      if (right) stack_.push_back(trees_.right[n]);
    }
  }
  return false;
}

void TreeBounds::weigh(std::span<Interval const> inputs, std::span<double> weights) {
  for (std::int32_t const root : trees_.roots) weigh_node(root, inputs, weights);
}

TreeBounds::Reach TreeBounds::weigh_node(std::int32_t at, std::span<Interval const> inputs,
                                         std::span<double> weights) {
  auto const width = range_.size();
  if (at < 0) {
    double const* const leaf = &trees_.leaves[static_cast<std::size_t>(~at) * width];
    return {{leaf, leaf + width}, {leaf, leaf + width}};
  }
  auto const n = static_cast<std::size_t>(at);
  auto const feature = static_cast<std::size_t>(trees_.feature[n]);
  auto const threshold = static_cast<double>(trees_.threshold[n]);
  if (inputs[feature].high <= threshold) return weigh_node(trees_.left[n], inputs, weights);
  if (inputs[feature].low > threshold) return weigh_node(trees_.right[n], inputs, weights);
  Reach left = weigh_node(trees_.left[n], inputs, weights);
  Reach const right = weigh_node(trees_.right[n], inputs, weights);
  for (std::size_t i = 0; i < width; ++i) {
    weights[feature] +=
        std::abs(left.least[i] - right.least[i]) + std::abs(left.most[i] - right.most[i]);
    left.least[i] = std::min(left.least[i], right.least[i]);
    left.most[i] = std::max(left.most[i], right.most[i]);
  }
  return left;
}

}  // namespace fairlane
