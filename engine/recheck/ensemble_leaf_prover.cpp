#include "engine/recheck/ensemble_leaf_prover.h"

#include <algorithm>
#include <cmath>

#include "models/trees/scorer.h"

namespace fairlane {
namespace {

/// Calls take(leaf) for every leaf that a box reaches from a node.
template <class Take>
void each_leaf(TreeEnsemble const& trees, std::int32_t at, CheckedRange const& inputs,
               Take const& take) {
  if (at < 0) return take(static_cast<std::size_t>(~at));
  auto const n = static_cast<std::size_t>(at);
  auto const k = static_cast<std::size_t>(trees.feature[n]);
  if (inputs.low[k] <= static_cast<double>(trees.threshold[n]))
    each_leaf(trees, trees.left[n], inputs, take);
  if (inputs.high[k] > static_cast<double>(trees.threshold[n]))
    each_leaf(trees, trees.right[n], inputs, take);
}

}  // namespace

EnsembleLeafProver::EnsembleLeafProver(BoxDomain const& domain, TreeEnsemble const& trees,
                                       VerifyQuery const& query, ContractLabel& label, int effort,
                                       double few)
    : domain_(domain),
      trees_(trees),
      query_(query),
      effort_(effort),
      inputs_(domain),
      neighbours_(domain),
      groups_(
          domain, neighbours_, query, [&label](std::int32_t const* row) { return label(row); },
          few) {}

LeafOutcome EnsembleLeafProver::prove(GroupBox const& box, std::span<int const> variants, int,
                                      int) {
  std::vector<GroupBox> open = {box};
  for (int looks = 0; !open.empty(); ++looks) {
    if (is_stopped() || looks == effort_) return LeafOutcome::kUnproven;
    GroupBox part = std::move(open.back());
    open.pop_back();
    if (!domain_.keep_limits(part)) continue;
    std::vector<int> const there = existing(neighbours_.beside(part), variants);
    if (is_fair(part, there)) continue;
    if (groups_.are_few(part)) {
      if (!groups_.are_fair(part, there, existence())) return LeafOutcome::kRefuted;
      continue;
    }
    std::size_t const axis = widest_axis(part, inputs_.enclose(part, there));
    AxisRange const whole = part[axis];
    std::int32_t const middle = whole.first + (whole.last - whole.first) / 2;
    part[axis] = {whole.first, middle};
    open.push_back(part);
    part[axis] = {middle + 1, whole.last};
    open.push_back(std::move(part));
  }
  return LeafOutcome::kProven;
}

EnsembleLeafProver::Scores EnsembleLeafProver::bound(CheckedRange const& inputs) const {
  auto const sums = static_cast<std::size_t>(trees_.sums);
  auto const width = static_cast<std::size_t>(trees_.width);
  Scores bounds{trees_.base, trees_.base};
  std::vector<double> sizes(sums);
  for (std::size_t s = 0; s < sums; ++s) sizes[s] = std::abs(trees_.base[s]);
  for (std::size_t t = 0; t < trees_.roots.size(); ++t) {
    std::vector<double> least(width, HUGE_VAL);
    std::vector<double> most(width, -HUGE_VAL);
    each_leaf(trees_, trees_.roots[t], inputs, [&](std::size_t leaf) {
      for (std::size_t i = 0; i < width; ++i) {
        least[i] = std::min(least[i], trees_.leaves[leaf * width + i]);
        most[i] = std::max(most[i], trees_.leaves[leaf * width + i]);
      }
    });
    for (std::size_t i = 0; i < width; ++i) {
      std::size_t const s = static_cast<std::size_t>(trees_.first_sum[t]) + i;
      bounds.low[s] += least[i];
      bounds.high[s] += most[i];
      sizes[s] += std::max(std::abs(least[i]), std::abs(most[i]));
    }
  }
  double const unit = trees_.in_double ? 0x1p-53 : 0x1p-24;
  double const pad = 1.125 * (static_cast<double>(trees_.trees()) + 4.0) * (unit + 0x1p-53);
  constexpr double kTiny = 0x1p-120;
  for (std::size_t s = 0; s < sums; ++s) {
    bounds.low[s] = (bounds.low[s] - pad * sizes[s]) / trees_.divisor - kTiny;
    bounds.high[s] = (bounds.high[s] + pad * sizes[s]) / trees_.divisor + kTiny;
  }
  return bounds;
}

std::vector<bool> EnsembleLeafProver::labels(CheckedRange const& inputs) const {
  Scores bounds = bound(inputs);
  if (trees_.outputs() == 1) {
    // Of two probabilities p(1) is the score, which p(0) holds down.
    if (trees_.sums == 2) std::swap(bounds.low[0], bounds.high[0]);
    return {static_cast<double>(score_of(trees_, bounds.low)) <= query_.most_lower(),
            static_cast<double>(score_of(trees_, bounds.high)) > query_.least_upper()};
  }
  std::vector<bool> labels;
  double const least = *std::ranges::max_element(bounds.low);
  for (double const high : bounds.high) labels.push_back(high >= least);
  return labels;
}

bool EnsembleLeafProver::parts(std::int32_t at, CheckedRange const& inputs, int one,
                               int other) const {
  if (at < 0) return false;
  auto const n = static_cast<std::size_t>(at);
  auto const threshold = static_cast<double>(trees_.threshold[n]);
  auto const& of_variants = domain_.variant_inputs();
  auto const found = std::ranges::find(of_variants, trees_.feature[n]);
  auto const k = static_cast<std::size_t>(trees_.feature[n]);
  bool left = inputs.low[k] <= threshold;
  bool right = inputs.high[k] > threshold;
  if (found != of_variants.end()) {
    auto const i = static_cast<std::size_t>(found - of_variants.begin());
    left = inputs_.of_variant(one, i) <= threshold;
    right = !left;
    if (left != (inputs_.of_variant(other, i) <= threshold)) return true;
  }
  return (left && parts(trees_.left[n], inputs, one, other)) ||
         (right && parts(trees_.right[n], inputs, one, other));
}

bool EnsembleLeafProver::is_fair(GroupBox const& box, std::span<int const> variants) const {
  auto const labels_of = [&](GroupBox const& groups) {
    std::vector<std::vector<bool>> of_variants;
    for (int const v : variants) {
      int const only[] = {v};
      of_variants.push_back(labels(inputs_.enclose(groups, only)));
    }
    return of_variants;
  };
  auto const own = labels_of(box);
  auto const beside = neighbours_.relaxed() ? labels_of(neighbours_.beside(box)) : own;
  auto const may_differ = [&](std::size_t a, std::size_t e) {
    std::size_t both = 0;
    for (std::size_t c = 0; c < own[a].size(); ++c) both += own[a][c] || beside[e][c] ? 1 : 0;
    if (both == 1) return false;
    // Where two groups are compared, nodes may part these as well.
    if (query_.margin > 0.0 || neighbours_.relaxed()) return true;
    CheckedRange const inputs = inputs_.enclose(box, variants);
    return std::ranges::any_of(trees_.roots, [&](std::int32_t const root) {
      return parts(root, inputs, variants[a], variants[e]);
    });
  };
  for (std::size_t a = 0; a < variants.size(); ++a) {
    for (std::size_t e = 0; e < variants.size(); ++e) {
      bool const compared =
          query_.compares(variants[a], variants[e]) || query_.compares(variants[e], variants[a]);
      if (compared && may_differ(a, e)) return false;
    }
  }
  return true;
}

std::size_t EnsembleLeafProver::widest_axis(GroupBox const& box, CheckedRange const& inputs) const {
  // By how far a tree's leaves lie apart, shared among the conditions that the box leaves open.
  std::vector<double> weights(inputs.low.size());
  std::vector<std::int32_t> open;
  for (std::int32_t const root : trees_.roots) {
    double least = HUGE_VAL;
    double most = -HUGE_VAL;
    each_leaf(trees_, root, inputs, [&](std::size_t leaf) {
      double const value = trees_.leaves[leaf * static_cast<std::size_t>(trees_.width)];
      least = std::min(least, value);
      most = std::max(most, value);
    });
    open.assign(1, root);
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (open[i] < 0) continue;
      auto const n = static_cast<std::size_t>(open[i]);
      auto const k = static_cast<std::size_t>(trees_.feature[n]);
      bool const left = inputs.low[k] <= static_cast<double>(trees_.threshold[n]);
      bool const right = inputs.high[k] > static_cast<double>(trees_.threshold[n]);
      if (left) open.push_back(trees_.left[n]);
      if (right) open.push_back(trees_.right[n]);
      if (left && right) weights[k] += (most - least) / static_cast<double>(i + 1);
    }
  }
  std::size_t widest = box.size();
  double most = -1.0;
  for (std::size_t a = 0; a < box.size(); ++a) {
    if (box[a].size() < 2) continue;
    double weight = 0.0;
    for (int const k : domain_.axis_inputs(a)) weight += weights[static_cast<std::size_t>(k)];
    if (weight > most) {
      most = weight;
      widest = a;
    }
  }
  return widest;
}

}  // namespace fairlane
