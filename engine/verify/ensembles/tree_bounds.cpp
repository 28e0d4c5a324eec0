#include "engine/verify/ensembles/tree_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "models/trees/scorer.h"

namespace fairlane {

TreeBounds::TreeBounds(BoxTrees const& trees)
    : trees_(trees),
      ensemble_(trees.ensemble()),
      sides_(trees.conditions().size()),
      weights_(sides_.size()),
      is_open_(sides_.size()),
      sums_(static_cast<std::size_t>(ensemble_.sums)),
      scores_(static_cast<std::size_t>(ensemble_.outputs())) {
  int depth = 0;
  for (int const of_tree : tree_depths(ensemble_)) depth = std::max(depth, of_tree);
  reach_.resize(static_cast<std::size_t>(depth + 1) * 2 *
                static_cast<std::size_t>(ensemble_.width));
}

void TreeBounds::bound(std::span<AxisRange const> box, std::span<int const> variants) {
  variants_ = variants;
  ranges_.assign(box.begin(), box.end());
  std::ranges::fill(sides_, Sides::kUnknown);
  for (std::int32_t const c : open_) {
    is_open_[static_cast<std::size_t>(c)] = 0;
    weights_[static_cast<std::size_t>(c)] = 0.0;
  }
  open_.clear();
  for (std::size_t s = 0; s < sums_.size(); ++s) sums_[s] = {ensemble_.base[s], ensemble_.base[s]};
  auto const width = static_cast<std::size_t>(ensemble_.width);
  double const* const least = reach_.data();
  double const* const most = least + width;
  for (std::size_t t = 0; t < ensemble_.roots.size(); ++t) {
    visit(ensemble_.roots[t], reach_.data());
    for (std::size_t i = 0; i < width; ++i) {
      Interval& z = sums_[static_cast<std::size_t>(ensemble_.first_sum[t]) + i];
      z = {sum(z.low, least[i]), sum(z.high, most[i])};
    }
  }
  double const divisor = ensemble_.divisor;
  for (Interval& z : sums_) z = {quotient(z.low, divisor), quotient(z.high, divisor)};
  if (scores_.size() > 1) {
    scores_ = sums_;
    return;
  }
  double low[2];
  double high[2];
  for (std::size_t s = 0; s < sums_.size(); ++s) {
    low[s] = sums_[s].low;
    high[s] = sums_[s].high;
  }
  // Of two probabilities p(1) is greatest where p(0) is least.
  if (sums_.size() == 2) std::swap(low[0], high[0]);
  scores_[0] = {static_cast<double>(score_of(ensemble_, {low, sums_.size()})),
                static_cast<double>(score_of(ensemble_, {high, sums_.size()}))};
}

TreeBounds::Sides TreeBounds::sides_of(std::int32_t c) {
  auto const& condition = trees_.condition(c);
  Sides& sides = sides_[static_cast<std::size_t>(c)];
  if (sides != Sides::kUnknown) return sides;
  bool left = false;
  bool right = false;
  auto const take = [&](std::int32_t i) {
    bool const meets = condition.meets[static_cast<std::size_t>(i)] != 0;
    left = left || meets;
    right = right || !meets;
  };
  if (condition.axis == BoxTrees::kVariants) {
    for (int const v : variants_) take(v);
  } else {
    AxisRange const& range = ranges_[static_cast<std::size_t>(condition.axis)];
    for (std::int32_t e = range.first; e <= range.last && !(left && right); ++e) take(e);
  }
  return sides = left && right ? Sides::kBoth : left ? Sides::kLeft : Sides::kRight;
}

void TreeBounds::visit(std::int32_t at, double* reach) {
  auto const width = static_cast<std::size_t>(ensemble_.width);
  while (at >= 0) {
    auto const [c, left, right, axis, cut] = trees_.node(at);
    AxisRange* range = nullptr;
    if (cut != BoxTrees::kNoCut) {
      range = &ranges_[static_cast<std::size_t>(axis)];
      if (range->last < cut || range->first >= cut) {
        at = range->last < cut ? left : right;
        continue;
      }
    } else if (Sides const sides = sides_of(c); sides != Sides::kBoth) {
      at = sides == Sides::kLeft ? left : right;
      continue;
    }
    double* const other = reach + 2 * width;
    if (range == nullptr) {
      visit(left, reach);
      visit(right, other);
    } else {
      std::int32_t const last = std::exchange(range->last, cut - 1);
      visit(left, reach);
      range->last = last;
      std::int32_t const first = std::exchange(range->first, cut);
      visit(right, other);
      range->first = first;
    }
    auto const i = static_cast<std::size_t>(c);
    if (is_open_[i] == 0) open_.push_back(c);
    is_open_[i] = 1;
    for (std::size_t k = 0; k < width; ++k) {
      weights_[i] += std::abs(reach[k] - other[k]) + std::abs(reach[width + k] - other[width + k]);
      reach[k] = std::min(reach[k], other[k]);
      reach[width + k] = std::max(reach[width + k], other[width + k]);
    }
    return;
  }
  double const* const leaf = &ensemble_.leaves[static_cast<std::size_t>(~at) * width];
  for (std::size_t k = 0; k < width; ++k) reach[k] = reach[width + k] = leaf[k];
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

bool TreeBounds::separates(std::span<AxisRange const> box, int one, int other) {
  int const both[] = {one, other};
  bound(box, both);
  return tells_variants_apart();
}

bool TreeBounds::tells_variants_apart() const {
  return std::ranges::any_of(
      open_, [&](std::int32_t c) { return trees_.condition(c).axis == BoxTrees::kVariants; });
}

}  // namespace fairlane
