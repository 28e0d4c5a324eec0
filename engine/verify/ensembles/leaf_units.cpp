#include "engine/verify/ensembles/leaf_units.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "kernels/boxes/leaf_sums.h"
#include "models/trees/scorer.h"

namespace fairlane {
namespace {

constexpr int kMostBits = 29;   // of a sum in units
constexpr int kLeastBits = 10;  // of them that are not in doubt, or units are of no use

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

/// What a sum of a row is added up from.
/// reach    how far the magnitudes of all terms reach together
/// rounded  the same of every sum on the way, added up: what each addition may round
/// trees    that add to it
struct Summed {
  double reach = 0.0;
  double rounded = 0.0;
  int trees = 0;
};

/// [sums]
std::vector<Summed> sum_up(TreeEnsemble const& trees) {
  auto const width = static_cast<std::size_t>(trees.width);
  std::vector<double> most(trees.roots.size() * width);  // [trees][width] that a leaf adds
  std::vector<double> of_node(trees.feature.size());     // that one below it adds
  for (std::size_t i = 0; i < width; ++i) {
    auto const most_below = [&](std::int32_t at) {
      return at >= 0 ? of_node[static_cast<std::size_t>(at)]
                     : std::abs(trees.leaves[static_cast<std::size_t>(~at) * width + i]);
    };
    for (std::size_t n = of_node.size(); n-- > 0;)  // children come behind their parents
      of_node[n] = std::max(most_below(trees.left[n]), most_below(trees.right[n]));
    for (std::size_t t = 0; t < trees.roots.size(); ++t)
      most[t * width + i] = most_below(trees.roots[t]);
  }
  std::vector<Summed> sums(static_cast<std::size_t>(trees.sums));
  for (std::size_t s = 0; s < sums.size(); ++s) sums[s].reach = std::abs(trees.base[s]);
  for (std::size_t t = 0; t < trees.roots.size(); ++t) {
    for (std::size_t i = 0; i < width; ++i) {
      Summed& sum = sums[static_cast<std::size_t>(trees.first_sum[t]) + i];
      sum.reach += most[t * width + i];
      sum.rounded += sum.reach;
      ++sum.trees;
    }
  }
  return sums;
}

}  // namespace

LeafUnits::LeafUnits(TreeEnsemble const& trees, double threshold) {
  bool const two = trees.sums == 2;
  bool const several = trees.sums > 2;
  if (trees.sums > kMostClassSums ||
      (two && trees.outputs() == 1 && threshold != trees.usual_threshold()))
    return;
  double const cut = trees.sums > 1 ? 0.0 : last_below(trees, threshold) * trees.divisor;
  // Of two sums that are compared, or of one and the cut.
  double reach = 0.0;
  double rounded = 0.0;
  int most_trees = 0;
  for (Summed const& summed : sum_up(trees)) {
    reach = several ? std::max(reach, 2.0 * summed.reach) : reach + summed.reach;
    rounded = several ? std::max(rounded, 2.0 * summed.rounded) : rounded + summed.rounded;
    most_trees = std::max(most_trees, summed.trees);
  }
  reach += std::abs(cut);
  if (!(reach > 0.0 && reach < std::numeric_limits<float>::max())) return;
  double const per_unit = per_unit_ = std::ldexp(1.0, kMostBits - 1 - std::ilogb(reach));
  bool whole = true;
  auto const in_units = [&](double x) {
    double const nearest = std::nearbyint(x * per_unit);
    whole = whole && nearest == x * per_unit;
    return static_cast<std::int32_t>(nearest);
  };
  auto const width = static_cast<std::size_t>(trees.width);
  width_ = several ? trees.width : 1;
  for (std::int32_t const first : trees.first_sum) {
    first_sum_.push_back(several ? first : 0);
    sign_.push_back(two && width == 1 && first == 0 ? -1 : 1);
  }
  if (two) {
    // It is their difference that decides.
    base_.push_back(in_units(trees.base[1] - trees.base[0]));
    for (std::size_t at = 0; at < trees.leaves.size(); at += width)
      units_.push_back(
          in_units(width == 2 ? trees.leaves[at + 1] - trees.leaves[at] : trees.leaves[at]));
  } else {
    for (double const base : trees.base) base_.push_back(in_units(base));
    for (double const leaf : trees.leaves) units_.push_back(in_units(leaf));
  }
  int const sums = several ? trees.sums : 1;
  std::int32_t const in_cut = in_units(cut);
  one_above_ = zero_up_to_ = in_cut;
  int const precision = trees.in_double ? 53 : 24;
  // Whole numbers of so few bits are added and divided by the library without changing a label.
  if (whole && kMostBits + 2 <= precision) {
    sums_ = sums;
    return;
  }
  // A unit's half for each number that is added here; one rounding for each of the library's
  // additions, and some of what it makes of their sums.
  double const added = several ? 2.0 * most_trees + 4.0 : trees.trees() + 4.0;
  double const roundings = 1.125 * (rounded + 4.0 * reach) * std::ldexp(1.0, -precision) * per_unit;
  double const off = 0.5 * added + roundings + 1.0;
  if (!(off < std::ldexp(1.0, kMostBits - kLeastBits))) return;
  auto const doubt = static_cast<std::int32_t>(std::ceil(off));
  one_above_ = in_cut + doubt;
  zero_up_to_ = in_cut - doubt - 1;
  lead_ = doubt + 1;
  sums_ = sums;
}

}  // namespace fairlane
