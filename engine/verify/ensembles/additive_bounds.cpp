#include "engine/verify/ensembles/additive_bounds.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "engine/verify/counting/count_rounding.h"
#include "kernels/core/bits.h"

namespace fairlane {
namespace {

constexpr std::size_t kBins = 1024;
constexpr std::size_t kMostPieces = 64;  // bits of a set
constexpr int kSweeps = 2;               // more of them gain little
constexpr int kMostLabels = 4;           // each two of which are compared
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
      axis_of_(trees.domain().axes() + 1, -1),
      met_(trees.conditions().size()) {}

bool AdditiveBounds::begin_sums(std::span<AxisRange const> box, std::uint64_t possible) {
  labels_.clear();
  int const labels = std::max(units_.sums(), 2);
  for (int label = 0; label < labels; ++label)
    if ((possible >> label & 1U) != 0) labels_.push_back(label);
  if (labels_.size() < 2 || labels_.size() > kMostLabels) return false;
  choose_sums();
  std::size_t const places = box.size() + 1;
  for (Sum& sum : sums_) {
    sum.functions.resize(places);
    sum.constant = (sum.more >= 0 ? units_.base(sum.more) : 0.0) -
                   (sum.less >= 0 ? units_.base(sum.less) : 0.0);
    sum.below = sum.above = 0.0;
    sum.size = std::abs(sum.constant);
  }
  for (std::size_t place = 0; place < places; ++place) {
    std::size_t const count =
        place == 0 ? kinds_->variants().size() : kinds_->axes()[place - 1].kinds();
    bool const few = count <= kMostPieces;
    if (!few && (place == 0 || !trees_.domain().ordered(place - 1))) return false;
    sets_[place] = few ? low_bits(static_cast<int>(count)) : 0;
    for (Sum& sum : sums_) sum.functions[place].assign(count, 0.0);
  }
  return true;
}

void AdditiveBounds::choose_sums() {
  sums_.resize(labels_.size());
  bool const two = labels_.size() == 2;
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    Sum& sum = sums_[i];
    sum.more = sum.less = -1;
    if (two && i == 0) continue;
    // Of two labels what remains of the difference is less than what remains of both.
    bool const is_one_sum = units_.sums() == 1;
    sum.more = is_one_sum ? 0 : labels_[i];
    if (two && !is_one_sum) sum.less = labels_[0];
  }
}

bool AdditiveBounds::adds_to(std::size_t tree, Sum const& sum) const {
  return (sum.more >= 0 && units_.adds_to(tree, sum.more)) ||
         (sum.less >= 0 && units_.adds_to(tree, sum.less));
}

bool AdditiveBounds::find(BoxKinds const& kinds, TreeBounds const& bounds,
                          std::span<AxisRange const> box, std::uint64_t possible) {
  if (!units_.usable() || query_.margin > 0.0 || trees_.domain().relaxed()) return false;
  kinds_ = &kinds;
  if (!begin_sums(box, possible)) return false;
  ranges_.assign(box.begin(), box.end());
  for (std::int32_t const c : bounds.open()) {
    auto const& condition = trees_.condition(c);
    if (!condition.meets.empty()) continue;
    auto const& first = kinds.axes()[static_cast<std::size_t>(condition.axis)].first;
    cut_kind_[static_cast<std::size_t>(c)] =
        static_cast<std::int32_t>(std::ranges::lower_bound(first, condition.cut) - first.begin());
  }
  weights_.assign(box.size(), 0.0);
  knows_who_exists_ = find_tied_kinds(kinds, tied_);
  if (!knows_who_exists_) tied_.clear();
  is_tied_.assign(box.size(), 0);
  for (TiedKinds const& tied : tied_)
    for (std::size_t const a : tied.axes) is_tied_[a] = 1;
  for (std::size_t t = 0; t < trees_.ensemble().roots.size(); ++t) take_tree(t);
  return true;
}

void AdditiveBounds::take_tree(std::size_t tree) {
  auto const adds = [&](Sum const& sum) { return adds_to(tree, sum); };
  if (std::ranges::none_of(sums_, adds)) return;
  nodes_.clear();
  leaves_.clear();
  std::int32_t const root = prune(tree, trees_.ensemble().roots[tree]);
  bool const has_axes = root >= 0 && find_axes();
  for (Sum& sum : sums_) {
    if (!adds(sum)) continue;
    values_.clear();
    for (std::size_t const leaf : leaves_) {
      double const less = sum.less >= 0 ? units_.of(tree, leaf, sum.less) : 0.0;
      values_.push_back(units_.of(tree, leaf, sum.more) - less);
    }
    if (root < 0) {
      sum.constant += values_.front();
      sum.size += std::abs(values_.front());
    } else if (has_axes) {
      fit_tree(root, sum);
    } else {
      auto const [least, most] = std::ranges::minmax(values_);
      take_rest(least, most, sum);
    }
  }
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
  leaves_.push_back(static_cast<std::size_t>(~at));
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
        axis.cuts.empty() ? sums_[0].functions[place_of(axis.axis)].size() : axis.cuts.size() + 1;
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
    leaf_values_.push_back(values_[static_cast<std::size_t>(~at)]);
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

void AdditiveBounds::fit_tree(std::int32_t root, Sum& sum) {
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
  take_rest(least, most, sum);
  for (std::size_t i = 0; i < axis_count_; ++i) add_function(axes_[i], sum);
}

void AdditiveBounds::take_rest(double least, double most, Sum& sum) {
  sum.below += least;
  sum.above += most;
  sum.size += std::abs(least) + std::abs(most);
  for (std::size_t i = 0; i < axis_count_; ++i) {
    if (axes_[i].axis == BoxTrees::kVariants) continue;
    weights_[static_cast<std::size_t>(axes_[i].axis)] +=
        (most - least) / static_cast<double>(axis_count_);
  }
}

void AdditiveBounds::add_function(Axis const& axis, Sum& sum) {
  auto& to = sum.functions[place_of(axis.axis)];
  double largest = 0.0;
  for (double const value : axis.values) largest = std::max(largest, std::abs(value));
  sum.size += largest;
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

void AdditiveBounds::list_tied(TiedKinds const& tied, Asked asked, SumList& list) const {
  std::size_t const width = tied.axes.size();
  for (std::size_t i = 0; i < tied.groups.size(); ++i) {
    std::uint64_t const there = tied.members[i] & asked.members;
    if (asked.all ? there != asked.members : there == 0) continue;
    double sum = 0.0;
    for (std::size_t k = 0; k < width; ++k)
      sum += difference_
                 .functions[tied.axes[k] + 1][static_cast<std::size_t>(tied.kinds[i * width + k])];
    list.sums.push_back(sum);
    list.groups.push_back(tied.groups[i]);
  }
}

AdditiveBounds::Counted AdditiveBounds::count_above(double threshold, Asked asked) {
  double need = threshold + 4.0 * kCountSlack * difference_.size;
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
    auto const& values = difference_.functions[a + 1];
    list.sums.assign(values.begin(), values.end());
    list.groups.assign(kinds.sizes.begin(), kinds.sizes.end());
    end_list(list);
  }
  for (TiedKinds const& tied : tied_) {
    SumList& list = begin_list(count);
    list_tied(tied, asked, list);
    end_list(list);
  }
  if (all == 0.0) return {};
  if (need < 0.0) return {all, all};
  if (count == 0 || !(need > kCountSlack * span && need < span)) return {all, 0.0};
  lists_.resize(count);
  return {all, at_least_without(all, same * counter_.count_short(lists_, need))};
}

void AdditiveBounds::subtract(std::size_t one, std::size_t other) {
  Sum const& more = sums_[one];
  Sum const& less = sums_[other];
  Sum& to = difference_;
  to.constant = more.constant - less.constant;
  to.below = more.below - less.above;
  to.above = more.above - less.below;
  to.size =
      more.size + less.size + std::abs(static_cast<double>(units_.one_above())) + units_.lead();
  to.functions.resize(more.functions.size());
  for (std::size_t place = 0; place < to.functions.size(); ++place) {
    auto& values = to.functions[place];
    values.resize(more.functions[place].size());
    std::ranges::transform(more.functions[place], less.functions[place], values.begin(),
                           std::minus());
  }
}

double AdditiveBounds::least_lead(std::size_t one, std::size_t other) const {
  if (units_.sums() == 1) return one == 1 ? units_.one_above() : -units_.zero_up_to();
  // Sums are whole numbers; of equal ones the first label's is the greatest.
  if (units_.lead() > 0) return units_.lead() - 1;
  return one < other ? -1.0 : 0.0;
}

AdditiveBounds::Counted AdditiveBounds::count_label(std::size_t label, Asked asked,
                                                    std::optional<std::size_t> variants) {
  Counted all{std::numeric_limits<double>::infinity(), 0.0};
  double missed = 0.0;
  for (std::size_t other = 0; other < labels_.size() && missed < all.groups; ++other) {
    if (other == label) continue;
    subtract(label, other);
    auto const& of_variants = difference_.functions[0];
    double const least = variants ? of_variants[*variants] : std::ranges::min(of_variants);
    Counted const counted = count_above(
        least_lead(label, other) - difference_.constant - difference_.below - least, asked);
    all.groups = counted.groups;
    missed += counted.groups - counted.above;
  }
  all.above = std::max(all.groups - missed, 0.0);
  return all;
}

double AdditiveBounds::count_fair() {
  Asked const any{low_bits(static_cast<int>(kinds_->variants().size())), false};
  double groups = 0.0;
  for (std::size_t label = 0; label < labels_.size(); ++label)
    groups += count_label(label, any, std::nullopt).above;
  return groups;
}

VariantPair AdditiveBounds::compared(std::size_t one, std::size_t other) const {
  VariantPair pair;
  for (int const upper : kinds_->variants()[one]) {
    for (int const lower : kinds_->variants()[other])
      if (upper != lower && query_.compares(upper, lower)) pair = {upper, lower};
  }
  return pair;
}

AdditiveBounds::Unfair AdditiveBounds::count_unfair() {
  Unfair most;
  std::map<std::uint64_t, double> found;  // by the kinds of variants, a bit each
  for (std::size_t lower = 0; lower < labels_.size(); ++lower) {
    for (std::size_t upper = lower + 1; upper < labels_.size(); ++upper) {
      subtract(upper, lower);
      auto const& of_variants = difference_.functions[0];
      auto const [low, high] = std::ranges::minmax_element(of_variants);
      auto const lower_kind = static_cast<std::size_t>(low - of_variants.begin());
      auto const upper_kind = static_cast<std::size_t>(high - of_variants.begin());
      VariantPair const pair = compared(upper_kind, lower_kind);
      if (pair.upper < 0) continue;
      Asked const both{std::uint64_t{1} << lower_kind | std::uint64_t{1} << upper_kind, true};
      Counted const above = count_label(upper, both, upper_kind);
      if (above.above == 0.0) continue;
      Counted const below = count_label(lower, both, lower_kind);
      // Groups with other labels are others, whichever of the two members has which.
      double& groups = found[both.members];
      groups += std::max(above.above + below.above - above.groups, 0.0);
      if (groups > most.groups) most = {pair, groups};
    }
  }
  return most;
}

}  // namespace fairlane
