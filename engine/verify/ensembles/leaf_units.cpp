#include "engine/verify/ensembles/leaf_units.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "models/trees/scorer.h"

namespace fairlane {
namespace {

constexpr int kMostBits = 29;   // of a sum in units
constexpr int kLeastBits = 16;  // of them that are not in doubt, or units are of no use

/// The greatest quotient of a sum whose score is not above a threshold.
double last_below(TreeEnsemble const& trees, double threshold) {
  if (threshold == trees.usual_threshold()) return trees.decision_threshold;
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

/// How far the magnitudes of all sums of a row reach together.
double reach_of_sums(TreeEnsemble const& trees) {
  auto const width = static_cast<std::size_t>(trees.width);
  std::vector<double> of_node(trees.feature.size());  // the most that a leaf below it adds
  auto const most_below = [&](std::int32_t at) {
    if (at >= 0) return of_node[static_cast<std::size_t>(at)];
    double size = 0.0;
    for (std::size_t i = 0; i < width; ++i)
      size += std::abs(trees.leaves[static_cast<std::size_t>(~at) * width + i]);
    return size;
  };
  for (std::size_t n = of_node.size(); n-- > 0;)  // children come behind their parents
    of_node[n] = std::max(most_below(trees.left[n]), most_below(trees.right[n]));
  double reach = 0.0;
  for (double const base : trees.base) reach += std::abs(base);
  for (std::int32_t const root : trees.roots) reach += most_below(root);
  return reach;
}

}  // namespace

LeafUnits::LeafUnits(TreeEnsemble const& trees, double threshold) {
  bool const two = trees.sums == 2;
  if (trees.sums > 2 || (two && trees.outputs() == 1 && threshold != trees.usual_threshold()))
    return;
  // Of two sums it is their difference that decides.
  double const base = two ? trees.base[1] - trees.base[0] : trees.base[0];
  double const cut = two ? 0.0 : last_below(trees, threshold) * trees.divisor;
  double const reach = reach_of_sums(trees) + std::abs(cut);
  if (!(reach > 0.0 && reach < std::numeric_limits<float>::max())) return;
  double const per_unit = per_unit_ = std::ldexp(1.0, kMostBits - 1 - std::ilogb(reach));
  bool whole = true;
  auto const in_units = [&](double x) {
    double const rounded = std::nearbyint(x * per_unit);
    whole = whole && rounded == x * per_unit;
    return static_cast<std::int32_t>(rounded);
  };
  for (std::int32_t const first : trees.first_sum)
    sign_.push_back(two && trees.width == 1 && first == 0 ? -1 : 1);
  auto const width = static_cast<std::size_t>(trees.width);
  for (std::size_t at = 0; at < trees.leaves.size(); at += width)
    units_.push_back(
        in_units(width == 2 ? trees.leaves[at + 1] - trees.leaves[at] : trees.leaves[at]));
  base_ = in_units(base);
  std::int32_t const in_cut = in_units(cut);
  int const precision = trees.in_double ? 53 : 24;
  // Whole numbers of so few bits are added and divided by the library without changing a label.
  if (whole && kMostBits + 2 <= precision) {
    one_above_ = zero_up_to_ = in_cut;
    usable_ = true;
    return;
  }
  // A unit's half for each number here; of the library's additions, and of what it makes of their
  // sum, one rounding each.
  double const terms = static_cast<double>(trees.trees()) + 4.0;
  double const roundings = 1.125 * terms * std::ldexp(1.0, -precision) * reach * per_unit;
  double const off = 0.5 * terms + roundings + 1.0;
  if (!(off < std::ldexp(1.0, kMostBits - kLeastBits))) return;
  auto const doubt = static_cast<std::int32_t>(std::ceil(off));
  one_above_ = in_cut + doubt;
  zero_up_to_ = in_cut - doubt - 1;
  usable_ = true;
}

}  // namespace fairlane
