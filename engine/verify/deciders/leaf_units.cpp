#include "engine/verify/deciders/leaf_units.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "models/trees/scorer.h"

namespace fairlane {
namespace {

constexpr int kMostBits = 29;   // of a sum in units
constexpr int kLeastBits = 16;  // of what is not in doubt

/// The greatest quotient of a sum whose score is not above a threshold.
double last_below(TreeEnsemble const& trees, double threshold) {
  double const usual = trees.kind == ScoreKind::kProbabilities ? 0.5 : 0.0;
  if (threshold == usual) return trees.decision_threshold;
  auto const is_above = [&](double x) {
    return static_cast<double>(score_of(trees, std::span(&x, 1))) > threshold;
  };
  double low = -std::numeric_limits<float>::max();
  double high = std::numeric_limits<float>::max();
  if (is_above(low) || !is_above(high)) return std::numeric_limits<double>::quiet_NaN();
  for (;;) {
    double const middle = low / 2.0 + high / 2.0;
    if (!(middle > low && middle < high)) return low;
    (is_above(middle) ? high : low) = middle;
  }
}

}  // namespace

LeafUnits::LeafUnits(TreeEnsemble const& trees, double threshold) {
  bool const two = trees.sums == 2;
  bool const usual = threshold == (trees.kind == ScoreKind::kProbabilities ? 0.5 : 0.0);
  if (trees.sums > 2 || (two && trees.outputs() == 1 && !usual)) return;
  // Of two sums it is their difference that decides.
  auto const leaves = trees.leaves.size() / static_cast<std::size_t>(trees.width);
  std::vector<double> values(leaves);
  for (std::size_t i = 0; i < leaves; ++i) {
    values[i] = trees.width == 2 ? trees.leaves[2 * i + 1] - trees.leaves[2 * i] : trees.leaves[i];
  }
  double const base = two ? trees.base[1] - trees.base[0] : trees.base[0];
  double const cut = two ? 0.0 : last_below(trees, threshold) * trees.divisor;
  double size = 0.0;  // of all sums together, at most
  for (double const b : trees.base) size += std::abs(b);
  std::vector<std::int32_t> stack;
  for (std::size_t t = 0; t < trees.roots.size(); ++t) {
    sign_.push_back(trees.width == 1 && two && trees.first_sum[t] == 0 ? -1 : 1);
    double most = 0.0;
    stack.assign(1, trees.roots[t]);
    while (!stack.empty()) {
      std::int32_t const at = stack.back();
      stack.pop_back();
      if (at >= 0) {
        stack.push_back(trees.left[static_cast<std::size_t>(at)]);
        stack.push_back(trees.right[static_cast<std::size_t>(at)]);
        continue;
      }
      auto const first = static_cast<std::size_t>(~at) * static_cast<std::size_t>(trees.width);
      double of_leaf = 0.0;
      for (std::size_t i = 0; i < static_cast<std::size_t>(trees.width); ++i)
        of_leaf += std::abs(trees.leaves[first + i]);
      most = std::max(most, of_leaf);
    }
    size += most;
  }
  double const reach = size + std::abs(cut);
  if (!(reach > 0.0 && reach < std::numeric_limits<float>::max())) return;
  int const bits = kMostBits - 1 - std::ilogb(reach);
  double const per_unit = std::ldexp(1.0, bits);
  bool whole = true;
  auto const in_units = [&](double x) {
    double const rounded = std::nearbyint(x * per_unit);
    whole = whole && rounded == x * per_unit;
    return static_cast<std::int32_t>(rounded);
  };
  for (double const value : values) units_.push_back(in_units(value));
  base_ = in_units(base);
  std::int32_t const in_cut = in_units(cut);
  // Sums of whole numbers are exact in the library, too, where its precision has the bits.
  int const precision = trees.in_double ? 53 : 24;
  if (whole && kMostBits + 2 <= precision) {
    one_above_ = zero_up_to_ = in_cut;
    usable_ = true;
    return;
  }
  double const unit = std::ldexp(1.0, -precision);
  double const terms = static_cast<double>(trees.trees()) + 4.0;
  double const off = 0.5 * terms + 1.125 * terms * unit * reach * per_unit + 1.0;
  if (!(off < std::ldexp(1.0, kMostBits - kLeastBits))) return;
  auto const doubt = static_cast<std::int32_t>(std::ceil(off));
  one_above_ = in_cut + doubt;
  zero_up_to_ = in_cut - doubt - 1;
  usable_ = true;
}

}  // namespace fairlane
