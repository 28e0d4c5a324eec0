#include "engine/verify/ensembles/additive_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "engine/verify/counting/count_rounding.h"
#include "kernels/core/bits.h"

namespace fairlane {
namespace {

constexpr std::size_t kBins = 1024;
constexpr std::size_t kMostPieces = 64;  // bits of a set
constexpr int kSweeps = 2;               // more of them gain little
constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// Where an axis stands among arrays of axes behind variants.
std::size_t place_of(std::int32_t axis) { return static_cast<std::size_t>(axis + 1); }

}  // namespace

AdditiveBounds::AdditiveBounds(BoxTrees const& trees, LeafUnits const& units,
                               VerifyQuery const& query)
    : trees_(trees),
      units_(units),
      query_(query),
      counter_(kBins),
      sets_(trees.domain().axes() + 1),
      cut_kind_(trees.conditions().size()),
      functions_(trees.domain().axes() + 1),
      axis_of_(trees.domain().axes() + 1, -1),
      met_(trees.conditions().size()) {}

bool AdditiveBounds::find(BoxKinds const& kinds, TreeBounds const& bounds,
                          std::span<AxisRange const> box) {
  if (!units_.usable() || query_.margin > 0.0 || trees_.domain().relaxed()) return false;
  kinds_ = &kinds;
  ranges_.assign(box.begin(), box.end());
  auto const begin = [&](std::size_t place, std::size_t count) {
    functions_[place].assign(count, 0.0);
    sets_[place] = count <= kMostPieces ? low_bits(static_cast<int>(count)) : 0;
    return count <= kMostPieces;
  };
  if (!begin(0, kinds.variants().size())) return false;
  for (std::size_t a = 0; a < box.size(); ++a) {
    bool const few = begin(a + 1, kinds.axes()[a].kinds());
    if (!few && !trees_.domain().ordered(a)) return false;
  }
  for (std::int32_t const c : bounds.open()) {
    auto const& condition = trees_.condition(c);
    if (!condition.meets.empty()) continue;
    auto const& first = kinds.axes()[static_cast<std::size_t>(condition.axis)].first;
    cut_kind_[static_cast<std::size_t>(c)] =
        static_cast<std::int32_t>(std::ranges::lower_bound(first, condition.cut) - first.begin());
  }
  constant_ = units_.base();
  below_ = above_ = 0.0;
  size_ = std::abs(constant_) + std::abs(static_cast<double>(units_.one_above()));
  weights_.assign(box.size(), 0.0);
  knows_who_exists_ = find_tied_kinds(kinds, tied_);
  if (!knows_who_exists_) tied_.clear();
  is_tied_.assign(box.size(), 0);
  for (TiedKinds const& tied : tied_)
    for (std::size_t const a : tied.axes) is_tied_[a] = 1;
  auto const& roots = trees_.ensemble().roots;
  for (std::size_t t = 0; t < roots.size(); ++t) {
    nodes_.clear();
    leaves_.clear();
    std::int32_t const root = prune(t, roots[t]);
    if (root < 0) {
      constant_ += leaves_.front();
      size_ += std::abs(leaves_.front());
      continue;
    }
    if (find_axes()) {
      take_tree(root);
    } else {
      auto const [least, most] = std::ranges::minmax(leaves_);
      take_rest(least, most);
    }
  }
  return true;
}

std::int32_t AdditiveBounds::prune(std::size_t tree, std::int32_t at) {
  while (at >= 0) {
    auto const [c, left, right, axis, cut] = trees_.node(at);
    Node node{c, 0, 0};
    if (cut != BoxTrees::kNoCut) {
      AxisRange& range = ranges_[static_cast<std::size_t>(axis)];
      if (range.last < cut || range.first >= cut) {
        at = range.last < cut ? left : right;
        continue;
      }
      std::int32_t const last = std::exchange(range.last, cut - 1);
      node.met = prune(tree, left);
      range.last = last;
      std::int32_t const first = std::exchange(range.first, cut);
      node.not_met = prune(tree, right);
      range.first = first;
    } else {
      std::uint64_t& set = sets_[place_of(axis)];
      std::uint64_t const before = set;
      std::uint64_t const met = kinds_->set_of(c);
      if ((before & met) == 0 || (before & ~met) == 0) {
        at = (before & ~met) == 0 ? left : right;
        continue;
      }
      set = before & met;
      node.met = prune(tree, left);
      set = before & ~met;
      node.not_met = prune(tree, right);
      set = before;
    }
    nodes_.push_back(node);
    return static_cast<std::int32_t>(nodes_.size()) - 1;
  }
  leaves_.push_back(units_.of(tree, static_cast<std::size_t>(~at)));
  return ~(static_cast<std::int32_t>(leaves_.size()) - 1);
}

bool AdditiveBounds::find_axes() {
  for (std::size_t i = 0; i < axis_count_; ++i) axis_of_[place_of(axes_[i].axis)] = -1;
  axis_count_ = 0;
  for (Node const& node : nodes_) {
    std::int32_t const axis = trees_.condition(node.condition).axis;
    std::int32_t& of = axis_of_[place_of(axis)];
    if (of < 0) {
      of = static_cast<std::int32_t>(axis_count_++);
      if (axes_.size() < axis_count_) axes_.emplace_back();
      axes_[static_cast<std::size_t>(of)].axis = axis;
      axes_[static_cast<std::size_t>(of)].cuts.clear();
    }
    if (trees_.condition(node.condition).meets.empty())
      axes_[static_cast<std::size_t>(of)].cuts.push_back(
          cut_kind_[static_cast<std::size_t>(node.condition)]);
  }
  for (std::size_t i = 0; i < axis_count_; ++i) {
    Axis& axis = axes_[i];
    std::ranges::sort(axis.cuts);
    axis.cuts.erase(std::unique(axis.cuts.begin(), axis.cuts.end()), axis.cuts.end());
    std::size_t const pieces =
        axis.cuts.empty() ? functions_[place_of(axis.axis)].size() : axis.cuts.size() + 1;
    if (pieces > kMostPieces) return false;
    axis.values.assign(pieces, 0.0);
  }
  for (Node const& node : nodes_) {
    auto const c = static_cast<std::size_t>(node.condition);
    auto const& condition = trees_.condition(node.condition);
    auto const& cuts = axes_[static_cast<std::size_t>(axis_of_[place_of(condition.axis)])].cuts;
    if (condition.meets.empty()) {
      auto const at = std::ranges::lower_bound(cuts, cut_kind_[c]) - cuts.begin();
      met_[c] = low_bits(static_cast<int>(at) + 1);
    } else {
      met_[c] = kinds_->set_of(node.condition);
    }
  }
  return true;
}

void AdditiveBounds::take_leaves(std::int32_t at) {
  if (at < 0) {
    leaf_sets_.insert(leaf_sets_.end(), way_.begin(), way_.end());
    leaf_values_.push_back(leaves_[static_cast<std::size_t>(~at)]);
    return;
  }
  Node const node = nodes_[static_cast<std::size_t>(at)];
  std::int32_t const axis = trees_.condition(node.condition).axis;
  std::uint64_t& set = way_[static_cast<std::size_t>(axis_of_[place_of(axis)])];
  std::uint64_t const before = set;
  std::uint64_t const met = met_[static_cast<std::size_t>(node.condition)];
  set = before & met;
  take_leaves(node.met);
  set = before & ~met;
  take_leaves(node.not_met);
  set = before;
}

void AdditiveBounds::fit(std::size_t i) {
  Axis& axis = axes_[i];
  double least[kMostPieces];
  double most[kMostPieces];
  std::fill_n(least, axis.values.size(), kInfinite);
  std::fill_n(most, axis.values.size(), -kInfinite);
  for (std::size_t leaf = 0; leaf < leaf_values_.size(); ++leaf) {
    std::size_t const at = leaf * axis_count_ + i;
    double const low = leaf_values_[leaf] - (high_sum_[leaf] - high_[at]);
    double const high = leaf_values_[leaf] - (low_sum_[leaf] - low_[at]);
    each_bit(leaf_sets_[at], [&](std::size_t p) {
      least[p] = std::min(least[p], low);
      most[p] = std::max(most[p], high);
    });
  }
  for (std::size_t p = 0; p < axis.values.size(); ++p) axis.values[p] = (least[p] + most[p]) / 2.0;
  for (std::size_t leaf = 0; leaf < leaf_values_.size(); ++leaf) {
    std::size_t const at = leaf * axis_count_ + i;
    double low = kInfinite;
    double high = -kInfinite;
    each_bit(leaf_sets_[at], [&](std::size_t p) {
      low = std::min(low, axis.values[p]);
      high = std::max(high, axis.values[p]);
    });
    low_sum_[leaf] += low - low_[at];
    high_sum_[leaf] += high - high_[at];
    low_[at] = low;
    high_[at] = high;
  }
}

void AdditiveBounds::take_tree(std::int32_t root) {
  way_.clear();
  for (std::size_t i = 0; i < axis_count_; ++i)
    way_.push_back(low_bits(static_cast<int>(axes_[i].values.size())));
  leaf_sets_.clear();
  leaf_values_.clear();
  take_leaves(root);
  low_.assign(leaf_sets_.size(), 0.0);
  high_.assign(leaf_sets_.size(), 0.0);
  low_sum_.assign(leaf_values_.size(), 0.0);
  high_sum_.assign(leaf_values_.size(), 0.0);
  for (int sweep = 0; sweep < kSweeps; ++sweep)
    for (std::size_t i = 0; i < axis_count_; ++i) fit(i);
  double least = kInfinite;
  double most = -kInfinite;
  for (std::size_t leaf = 0; leaf < leaf_values_.size(); ++leaf) {
    // Added up anew: what was moved about has rounded.
    double low = 0.0;
    double high = 0.0;
    for (std::size_t i = 0; i < axis_count_; ++i) {
      low += low_[leaf * axis_count_ + i];
      high += high_[leaf * axis_count_ + i];
    }
    least = std::min(least, leaf_values_[leaf] - high);
    most = std::max(most, leaf_values_[leaf] - low);
  }
  take_rest(least, most);
  for (std::size_t i = 0; i < axis_count_; ++i) add_function(axes_[i]);
}

void AdditiveBounds::take_rest(double least, double most) {
  below_ += least;
  above_ += most;
  size_ += std::abs(least) + std::abs(most);
  for (std::size_t i = 0; i < axis_count_; ++i) {
    if (axes_[i].axis == BoxTrees::kVariants) continue;
    weights_[static_cast<std::size_t>(axes_[i].axis)] +=
        (most - least) / static_cast<double>(axis_count_);
  }
}

void AdditiveBounds::add_function(Axis const& axis) {
  auto& to = functions_[place_of(axis.axis)];
  double largest = 0.0;
  for (double const value : axis.values) largest = std::max(largest, std::abs(value));
  size_ += largest;
  if (axis.cuts.empty()) {
    for (std::size_t k = 0; k < to.size(); ++k) to[k] += axis.values[k];
    return;
  }
  std::size_t first = 0;
  for (std::size_t p = 0; p < axis.values.size(); ++p) {
    std::size_t const end =
        p < axis.cuts.size() ? static_cast<std::size_t>(axis.cuts[p]) : to.size();
    for (std::size_t k = first; k < end; ++k) to[k] += axis.values[p];
    first = end;
  }
}

SumList& AdditiveBounds::begin_list(std::size_t i) {
  if (lists_.size() <= i) lists_.resize(i + 1);
  SumList& list = lists_[i];
  list.sums.clear();
  list.groups.clear();
  return list;
}

void AdditiveBounds::list_tied(TiedKinds const& tied, double sign, Asked asked,
                               SumList& list) const {
  std::size_t const width = tied.axes.size();
  for (std::size_t i = 0; i < tied.groups.size(); ++i) {
    std::uint64_t const there = tied.members[i] & asked.members;
    if (asked.all ? there != asked.members : there == 0) continue;
    double sum = 0.0;
    for (std::size_t k = 0; k < width; ++k)
      sum += functions_[tied.axes[k] + 1][static_cast<std::size_t>(tied.kinds[i * width + k])];
    list.sums.push_back(sign * sum);
    list.groups.push_back(tied.groups[i]);
  }
}

AdditiveBounds::Counted AdditiveBounds::count_above(double sign, double threshold, Asked asked) {
  double need = threshold + 4.0 * kCountSlack * size_;
  double span = 0.0;
  double same = 1.0;  // groups that differ in nothing
  double all = 1.0;
  std::size_t count = 0;
  auto const end_list = [&](SumList& list) {
    list.count = list.sums.size();
    double const groups = std::accumulate(list.groups.begin(), list.groups.end(), 0.0);
    all *= groups;
    if (list.count == 0) return;
    auto const [least, most] = std::ranges::minmax(list.sums);
    list.least = least;
    list.most = most;
    need -= least;
    span += most - least;
    if (list.count == 1) {
      same *= groups;
    } else {
      ++count;
    }
  };
  for (std::size_t a = 0; a < kinds_->axes().size(); ++a) {
    if (is_tied_[a] != 0) continue;
    auto const& kinds = kinds_->axes()[a];
    SumList& list = begin_list(count);
    for (double const value : functions_[a + 1]) list.sums.push_back(sign * value);
    list.groups.assign(kinds.sizes.begin(), kinds.sizes.end());
    end_list(list);
  }
  for (TiedKinds const& tied : tied_) {
    SumList& list = begin_list(count);
    list_tied(tied, sign, asked, list);
    end_list(list);
  }
  if (all == 0.0) return {};
  if (need < 0.0) return {all, all};
  if (count == 0 || !(need > kCountSlack * span && need < span)) return {all, 0.0};
  lists_.resize(count);
  return {all, at_least_without(all, same * counter_.count_short(lists_, need))};
}

double AdditiveBounds::count_fair() {
  Asked const any{low_bits(static_cast<int>(kinds_->variants().size())), false};
  auto const [least, most] = std::ranges::minmax(functions_[0]);
  return count_above(1.0, units_.one_above() - constant_ - below_ - least, any).above +
         count_above(-1.0, constant_ + above_ + most - units_.zero_up_to(), any).above;
}

AdditiveBounds::Unfair AdditiveBounds::count_unfair() {
  auto const& of_variants = functions_[0];
  auto const [least, most] = std::ranges::minmax_element(of_variants);
  auto const lower_kind = static_cast<std::size_t>(least - of_variants.begin());
  auto const upper_kind = static_cast<std::size_t>(most - of_variants.begin());
  Unfair unfair;
  for (int const one : kinds_->variants()[upper_kind]) {
    for (int const other : kinds_->variants()[lower_kind]) {
      if (one != other && query_.compares(one, other)) unfair.pair = {one, other};
    }
  }
  if (unfair.pair.upper < 0) return unfair;
  Asked const both{std::uint64_t{1} << lower_kind | std::uint64_t{1} << upper_kind, true};
  Counted const upper = count_above(1.0, units_.one_above() - constant_ - below_ - *most, both);
  Counted const lower = count_above(-1.0, constant_ + above_ + *least - units_.zero_up_to(), both);
  unfair.groups = std::max(upper.above + lower.above - upper.groups, 0.0);
  return unfair;
}

}  // namespace fairlane
