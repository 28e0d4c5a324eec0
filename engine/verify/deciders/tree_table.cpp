#include "engine/verify/deciders/tree_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "models/trees/scorer.h"

namespace fairlane {
namespace {

constexpr std::size_t kMostKinds = 4096;   // of a box
constexpr std::size_t kMostSums = 65536;   // of its kinds and variants
constexpr double kMostGroups = 0x1p20;     // of a box that is looked at at all
constexpr int kMostOfAxis = 64;            // kinds; bits of a set
constexpr int kMostBits = 29;              // of a sum in units
constexpr int kLeastBits = 16;

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

TreeTable::TreeTable(BoxDomain const& domain, TreeEnsemble const& trees, VerifyQuery const& query)
    : domain_(domain),
      trees_(trees),
      query_(query),
      kernels_(box_kernels()),
      units_(trees, query.threshold) {
  if (!units_.usable() || query.margin > 0.0 || domain.limited() || domain.relaxed() ||
      !domain.constraints().empty())
    return;
  add_conditions(trees);
  axes_.resize(domain.axes());
  asks_.resize(domain.axes());
  sets_.resize(domain.axes());
  entries_.resize(domain.axes());
}

void TreeTable::add_conditions(TreeEnsemble const& trees) {
  struct Source {
    std::int32_t axis = kNone;
    std::size_t place = 0;  // among the axis's inputs, or the variants'
  };
  std::vector<Source> sources(static_cast<std::size_t>(domain_.inputs()));
  for (std::size_t a = 0; a < domain_.axes(); ++a) {
    auto const& inputs = domain_.axis_inputs(a);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      sources[static_cast<std::size_t>(inputs[i])] = {static_cast<std::int32_t>(a), i};
  }
  auto const& of_variants = domain_.variant_inputs();
  for (std::size_t i = 0; i < of_variants.size(); ++i)
    sources[static_cast<std::size_t>(of_variants[i])] = {kNone, i};
  std::vector<Interval> inputs(sources.size());
  std::map<std::pair<std::int32_t, float>, std::int32_t> known;
  for (std::size_t n = 0; n < trees.feature.size(); ++n) {
    auto const [at, is_new] =
        known.try_emplace({trees.feature[n], trees.threshold[n]}, conditions_.size());
    nodes_.push_back({at->second, trees.left[n], trees.right[n]});
    if (!is_new) continue;
    auto const [axis, place] = sources[static_cast<std::size_t>(trees.feature[n])];
    auto const threshold = static_cast<double>(trees.threshold[n]);
    Condition condition{axis, 0, {}};
    if (axis == kNone) {
      for (int v = 0; v < domain_.variants(); ++v) {
        domain_.enclose_variants({&v, 1}, inputs.data());
        bool const meets = inputs[static_cast<std::size_t>(trees.feature[n])].low <= threshold;
        condition.meets.push_back(meets ? 1 : 0);
      }
    } else {
      auto const a = static_cast<std::size_t>(axis);
      for (std::int32_t e = 0; e < static_cast<std::int32_t>(domain_.axis(a).size()); ++e)
        condition.meets.push_back(domain_.values(a, e)[place] <= threshold ? 1 : 0);
      condition.cut =
          static_cast<std::int32_t>(std::ranges::count(condition.meets, std::uint8_t{1}));
      if (domain_.ordered(a)) condition.meets.clear();
    }
    conditions_.push_back(std::move(condition));
  }
}

bool TreeTable::fill(std::span<AxisRange const> box, std::span<int const> variants) {
  if (conditions_.empty() || domain_.groups(box) > kMostGroups || variants.size() > kMostOfAxis)
    return false;
  box_ = box;
  variants_ = variants;
  set_of_variants_ = low_bits(static_cast<int>(variants.size()));
  ranges_.assign(box.begin(), box.end());
  reached_.assign(conditions_.size(), 0);
  for (auto& asks : asks_) asks.clear();
  for (Axis& axis : axes_) axis.tested = 0;
  for (std::int32_t const root : trees_.roots) reach(root);
  if (!find_kinds(box)) return false;
  std::size_t kinds = 1;
  shared_ = {};
  own_ = {};
  own_.sizes.push_back(static_cast<int>(variants.size()));
  for (std::size_t const a : order_) {
    kinds *= axes_[a].sizes.size();
    for (Leaves* leaves : {&shared_, &own_})
      leaves->sizes.push_back(static_cast<int>(axes_[a].sizes.size()));
  }
  met_.resize(conditions_.size());
  known_.assign(conditions_.size(), 0);
  for (std::size_t a = 0; a < axes_.size(); ++a)
    sets_[a] = low_bits(static_cast<int>(axes_[a].sizes.size()));
  constant_ = units_.base();
  for (std::size_t t = 0; t < trees_.roots.size(); ++t) take_leaves(t, trees_.roots[t]);
  starts_.resize(kinds * variants.size());
  shared_sums_.assign(kinds, constant_);
  own_sums_.assign(kinds * variants.size(), 0);
  auto const add = [&](Leaves const& leaves, std::vector<std::int32_t>& sums) {
    kernels_.add_leaves(
        {static_cast<int>(leaves.sizes.size()), static_cast<int>(leaves.values.size()),
         leaves.sizes.data(), leaves.sets.data(), leaves.values.data()},
        starts_.data(), sums.data());
  };
  add(shared_, shared_sums_);
  add(own_, own_sums_);
  least_.resize(kinds);
  most_.resize(kinds);
  kernels_.span_leaves(shared_sums_.data(), own_sums_.data(), static_cast<int>(variants.size()),
                       static_cast<int>(kinds), least_.data(), most_.data());
  return true;
}

void TreeTable::reach(std::int32_t at) {
  if (at < 0) return;
  Node const& node = nodes_[static_cast<std::size_t>(at)];
  Condition const& condition = conditions_[static_cast<std::size_t>(node.condition)];
  auto const mark = [&] {
    auto const c = static_cast<std::size_t>(node.condition);
    if (reached_[c] == 0 && condition.axis != kNone)
      asks_[static_cast<std::size_t>(condition.axis)].push_back(node.condition);
    reached_[c] = 1;
  };
  if (condition.axis == kNone) {
    mark();
    reach(node.left);
    reach(node.right);
    return;
  }
  AxisRange& range = ranges_[static_cast<std::size_t>(condition.axis)];
  if (!condition.meets.empty()) {
    auto const meets = std::span(condition.meets)
                           .subspan(static_cast<std::size_t>(range.first),
                                    static_cast<std::size_t>(range.size()));
    bool const left = std::ranges::find(meets, std::uint8_t{1}) != meets.end();
    bool const right = std::ranges::find(meets, std::uint8_t{0}) != meets.end();
    if (left && right) {
      mark();
      ++axes_[static_cast<std::size_t>(condition.axis)].tested;
    }
    if (left) reach(node.left);
    if (right) reach(node.right);
    return;
  }
  if (range.last < condition.cut) return reach(node.left);
  if (range.first >= condition.cut) return reach(node.right);
  mark();
  ++axes_[static_cast<std::size_t>(condition.axis)].tested;
  std::int32_t const last = std::exchange(range.last, condition.cut - 1);
  reach(node.left);
  range.last = last;
  std::int32_t const first = std::exchange(range.first, condition.cut);
  reach(node.right);
  range.first = first;
}

bool TreeTable::find_kinds(std::span<AxisRange const> box) {
  order_.clear();
  others_ = 1.0;
  std::size_t kinds = 1;
  for (std::size_t a = 0; a < box.size(); ++a) {
    find_kinds_of(a, box[a]);
    std::size_t const own = axes_[a].sizes.size();
    kinds *= own;
    if (own > kMostOfAxis || kinds > kMostKinds || kinds * variants_.size() > kMostSums)
      return false;
    if (own > 1) {
      order_.push_back(a);
    } else {
      others_ *= axes_[a].sizes[0];
    }
  }
  std::ranges::stable_sort(order_, std::greater(), [&](std::size_t a) { return axes_[a].tested; });
  return true;
}

void TreeTable::find_kinds_of(std::size_t a, AxisRange range) {
  Axis& axis = axes_[a];
  auto const entries = static_cast<std::size_t>(range.size());
  axis.first.assign(1, range.first);
  axis.sizes.clear();
  if (asks_[a].empty()) {
    axis.kind_of.clear();  // nobody asks
    axis.sizes.assign(1, range.size());
    return;
  }
  axis.kind_of.assign(entries, 0);
  auto const begin = axis.kind_of.begin();
  if (domain_.ordered(a)) {
    std::vector<std::uint8_t> is_cut(entries, 0);
    for (std::int32_t const c : asks_[a])
      is_cut[static_cast<std::size_t>(conditions_[static_cast<std::size_t>(c)].cut -
                                      range.first)] = 1;
    for (std::size_t e = 1; e < entries; ++e) {
      if (is_cut[e] != 0) {
        axis.first.push_back(range.first + static_cast<std::int32_t>(e));
        if (axis.first.size() > kMostOfAxis) break;
      }
      axis.kind_of[e] = static_cast<std::uint8_t>(axis.first.size() - 1);
    }
  } else {
    std::map<std::vector<std::uint8_t>, std::uint8_t> known;
    std::vector<std::uint8_t> sides(asks_[a].size());
    axis.first.clear();
    for (std::size_t e = 0; e < entries && axis.first.size() <= kMostOfAxis; ++e) {
      std::int32_t const entry = range.first + static_cast<std::int32_t>(e);
      for (std::size_t i = 0; i < sides.size(); ++i)
        sides[i] = conditions_[static_cast<std::size_t>(asks_[a][i])]
                       .meets[static_cast<std::size_t>(entry)];
      auto const [at, is_new] =
          known.try_emplace(sides, static_cast<std::uint8_t>(axis.first.size()));
      if (is_new) axis.first.push_back(entry);
      axis.kind_of[e] = at->second;
    }
  }
  axis.sizes.assign(axis.first.size(), 0);
  for (auto it = begin; it != axis.kind_of.end(); ++it) ++axis.sizes[*it];
}

std::uint64_t TreeTable::met(Condition const& condition) const {
  std::uint64_t set = 0;
  if (condition.axis == kNone) {
    for (std::size_t i = 0; i < variants_.size(); ++i) {
      if (condition.meets[static_cast<std::size_t>(variants_[i])] != 0) set |= std::uint64_t{1} << i;
    }
    return set;
  }
  auto const a = static_cast<std::size_t>(condition.axis);
  Axis const& axis = axes_[a];
  for (std::size_t k = 0; k < axis.first.size(); ++k) {
    bool const meets = condition.meets.empty()
                           ? axis.first[k] < condition.cut
                           : condition.meets[static_cast<std::size_t>(axis.first[k])] != 0;
    if (meets) set |= std::uint64_t{1} << k;
  }
  return set;
}

void TreeTable::take_leaves(std::size_t tree, std::int32_t at) {
  if (at < 0) {
    std::int32_t const value = units_.of(tree, static_cast<std::size_t>(~at));
    std::uint64_t const all = low_bits(static_cast<int>(variants_.size()));
    Leaves& leaves = set_of_variants_ == all ? shared_ : own_;
    bool const everywhere = set_of_variants_ == all && std::ranges::all_of(order_, [&](auto a) {
                              return sets_[a] == low_bits(static_cast<int>(axes_[a].sizes.size()));
                            });
    if (everywhere) {
      constant_ += value;
      return;
    }
    if (&leaves == &own_) leaves.sets.push_back(set_of_variants_);
    for (std::size_t const a : order_) leaves.sets.push_back(sets_[a]);
    leaves.values.push_back(value);
    return;
  }
  Node const& node = nodes_[static_cast<std::size_t>(at)];
  auto const c = static_cast<std::size_t>(node.condition);
  Condition const& condition = conditions_[c];
  if (known_[c] == 0) met_[c] = met(condition);
  known_[c] = 1;
  std::uint64_t& set = condition.axis == kNone ? set_of_variants_
                                               : sets_[static_cast<std::size_t>(condition.axis)];
  std::uint64_t const before = set;
  if ((before & met_[c]) != 0) {
    set = before & met_[c];
    take_leaves(tree, node.left);
  }
  if ((before & ~met_[c]) != 0) {
    set = before & ~met_[c];
    take_leaves(tree, node.right);
  }
  set = before;
}

TreeTable::Outcome TreeTable::outcome(std::size_t kind) const {
  if (least_[kind] > units_.one_above() || most_[kind] <= units_.zero_up_to())
    return Outcome::kFair;
  auto const sum = [&](std::size_t v) {
    return shared_sums_[kind] + own_sums_[v * least_.size() + kind];
  };
  bool doubt = false;
  for (std::size_t a = 0; a < variants_.size(); ++a) {
    if (sum(a) <= units_.zero_up_to()) continue;
    bool const is_one = sum(a) > units_.one_above();
    for (std::size_t e = 0; e < variants_.size(); ++e) {
      if (a == e || sum(e) > units_.one_above()) continue;
      int const one = variants_[a];
      int const other = variants_[e];
      if (!query_.compares(one, other) && !query_.compares(other, one)) continue;
      if (is_one && sum(e) <= units_.zero_up_to()) return Outcome::kUnfair;
      doubt = true;
    }
  }
  return doubt ? Outcome::kInDoubt : Outcome::kFair;
}

void TreeTable::first_kind() {
  place_.assign(order_.size(), 0);
  groups_ = others_;
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    entries_[a] = axes_[a].first[0];
    if (axes_[a].sizes.size() > 1) groups_ *= axes_[a].sizes[0];
  }
}

void TreeTable::next_kind() {
  for (std::size_t i = order_.size(); i-- > 0;) {
    Axis const& axis = axes_[order_[i]];
    groups_ /= axis.sizes[place_[i]];
    place_[i] = place_[i] + 1 < axis.sizes.size() ? place_[i] + 1 : 0;
    groups_ *= axis.sizes[place_[i]];
    entries_[order_[i]] = axis.first[place_[i]];
    if (place_[i] > 0) return;
  }
}

}  // namespace fairlane
