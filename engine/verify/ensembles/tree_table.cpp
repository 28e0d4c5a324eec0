#include "engine/verify/ensembles/tree_table.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "kernels/core/labels.h"

namespace fairlane {
namespace {

constexpr double kMostKinds = 0x1p16;    // of a box
constexpr double kMostSums = 0x1p18;     // of its kinds, with each kind of variants
constexpr std::size_t kMostOfAxis = 64;  // kinds; bits of a set

std::uint64_t all_of(std::size_t kinds) { return low_bits(static_cast<int>(kinds)); }

}  // namespace

TreeTable::TreeTable(BoxTrees const& trees, LeafUnits const& units, VerifyQuery const& query,
                     RowDescriber& rows)
    : trees_(trees),
      query_(query),
      kernels_(box_kernels()),
      units_(units),
      scorer_(rows),
      met_(trees.conditions().size()),
      sets_(trees.domain().axes()) {}

bool TreeTable::is_small() const {
  if (!units_.usable() || query_.margin > 0.0 || trees_.domain().relaxed()) return false;
  std::size_t const variants = kinds_->variants().size();
  double const kinds = kinds_->groups();
  if (variants > kMostOfAxis || kinds > kMostKinds ||
      kinds * static_cast<double>(variants) > kMostSums)
    return false;
  return std::ranges::all_of(kinds_->axes(),
                             [](auto const& axis) { return axis.kinds() <= kMostOfAxis; });
}

void TreeTable::choose_sums(std::uint64_t possible) {
  sums_.clear();
  for (int sum = 0; sum < units_.sums(); ++sum)
    if (units_.sums() == 1 || (possible >> sum & 1U) != 0) sums_.push_back(sum);
  shared_.resize(std::max(shared_.size(), sums_.size()));
  own_.resize(shared_.size());
}

bool TreeTable::fill(BoxKinds const& kinds, std::uint64_t possible) {
  kinds_ = &kinds;
  choose_sums(possible);
  if (!is_small()) return false;
  order_.clear();
  for (std::size_t a = 0; a < kinds.axes().size(); ++a) {
    if (kinds.axes()[a].kinds() > 1) order_.push_back(a);
    sets_[a] = all_of(kinds.axes()[a].kinds());
  }
  set_of_variants_ = all_of(kinds.variants().size());
  is_known_.assign(met_.size(), 0);
  leaf_sets_.clear();
  leaf_values_.clear();
  auto const& roots = trees_.ensemble().roots;
  for (std::size_t t = 0; t < roots.size(); ++t) take_leaves(t, roots[t]);
  sort_axes();
  for (std::size_t c = 0; c < sums_.size(); ++c) {
    put_leaves(c);
    add_up(shared_[c]);
    add_up(own_[c]);
  }
  places_ = shared_.front().sums.size();
  if (units_.sums() > 1) {
    rank_sums();
  } else {
    span_sums();
  }
  find_members();
  compare_variants();
  return true;
}

void TreeTable::span_sums() {
  least_.resize(places_);
  most_.resize(places_);
  kernels_.span_leaves(shared_[0].sums.data(), own_[0].sums.data(),
                       static_cast<int>(kinds_->variants().size()), static_cast<int>(places_),
                       least_.data(), most_.data());
}

void TreeTable::rank_sums() {
  std::vector<std::uint32_t> bits;
  std::vector<std::int32_t const*> shared;
  std::vector<std::int32_t const*> own;
  for (std::size_t c = 0; c < sums_.size(); ++c) {
    bits.push_back(std::uint32_t{1} << sums_[c]);
    shared.push_back(shared_[c].sums.data());
    own.push_back(own_[c].sums.data());
  }
  std::size_t const variants = kinds_->variants().size();
  labels_.resize(variants * places_);
  kernels_.rank_leaves(
      {static_cast<int>(sums_.size()), static_cast<int>(variants), static_cast<int>(places_),
       bits.data(), shared.data(), own.data(), units_.lead()},
      labels_.data());
  all_labels_.assign(labels_.begin(), labels_.begin() + static_cast<std::ptrdiff_t>(places_));
  for (std::size_t i = places_; i < labels_.size(); i += places_)
    for (std::size_t kind = 0; kind < places_; ++kind) all_labels_[kind] |= labels_[i + kind];
}

void TreeTable::find_members() {
  members_.clear();
  auto const& rules = kinds_->open_rules();
  if (rules.empty()) return;
  std::uint64_t const all = all_of(kinds_->variants().size());
  std::size_t spoken_of = 0;  // axes of the order up to the last that a rule speaks of
  for (std::size_t i = 0; i < order_.size(); ++i) {
    if (std::ranges::any_of(rules, [&](auto const* rule) { return rule->speaks_of(order_[i]); }))
      spoken_of = i + 1;
  }
  members_.resize(places_);
  rows_.begin(*kinds_, order_);
  for (std::size_t first = 0; first < places_; first += rows_.size(), rows_.next()) {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      std::size_t const kind = first + i;
      bool const alike = i > 0 && rows_.first_changed(i) >= spoken_of;
      members_[kind] = alike ? members_[kind - 1] : kinds_->members(rows_.entries(i));
      if (members_[kind] != all) find_labels(kind);
    }
  }
}

void TreeTable::find_labels(std::size_t kind) {
  if (units_.sums() > 1) {
    all_labels_[kind] = 0;
    each_bit(members(kind), [&](std::size_t v) { all_labels_[kind] |= labels(kind, v); });
    return;
  }
  least_[kind] = std::numeric_limits<std::int32_t>::max();
  most_[kind] = std::numeric_limits<std::int32_t>::min();
  each_bit(members(kind), [&](std::size_t v) {
    least_[kind] = std::min(least_[kind], sum(kind, v));
    most_[kind] = std::max(most_[kind], sum(kind, v));
  });
}

void TreeTable::settle() {
  rows_.begin(*kinds_, order_);
  for (std::size_t kind = 0; kind < places_; ++kind) {
    if (is_one_bit(all_labels(kind))) continue;
    add_doubts(kind);
    if (doubts_.size() >= kDescribedAtOnce) ask_scorer();
  }
  ask_scorer();
}

void TreeTable::add_doubts(std::size_t kind) {
  BoxDomain const& domain = trees_.domain();
  each_bit(members(kind), [&](std::size_t v) {
    if (is_one_bit(labels(kind, v))) return;
    doubts_.push_back({kind, v});
    doubted_rows_.resize(doubts_.size() * domain.attributes());
    domain.row(rows_.entries_of(kind), kinds_->variants()[v].front(),
               &doubted_rows_[(doubts_.size() - 1) * domain.attributes()]);
  });
}

void TreeTable::ask_scorer() {
  auto const outputs = static_cast<std::size_t>(trees_.ensemble().outputs());
  logits_.resize(doubts_.size() * outputs);
  if (!doubts_.empty()) scorer_.logits(doubted_rows_.data(), doubts_.size(), logits_.data());
  for (std::size_t i = 0; i < doubts_.size(); ++i) {
    float const* const z = &logits_[i * outputs];
    auto const threshold = static_cast<float>(query_.threshold);
    set_label(doubts_[i].kind, doubts_[i].variants,
              label_of<ScalarPack>(z, trees_.ensemble().outputs(), 1, threshold));
    find_labels(doubts_[i].kind);
  }
  doubts_.clear();
  doubted_rows_.clear();
}

void TreeTable::set_label(std::size_t kind, std::size_t variants, int label) {
  if (units_.sums() > 1) {
    labels_[variants * places_ + kind] = std::uint32_t{1} << label;
    return;
  }
  // The nearest sum that is not in doubt.
  std::int32_t const certain = label == 1 ? units_.one_above() + 1 : units_.zero_up_to();
  own_[0].sums[variants * places_ + kind] += certain - sum(kind, variants);
}

void TreeTable::take_leaves(std::size_t tree, std::int32_t at) {
  if (at < 0) {
    leaf_sets_.push_back(set_of_variants_);
    for (std::size_t const a : order_) leaf_sets_.push_back(sets_[a]);
    for (int const sum : sums_)
      leaf_values_.push_back(units_.of(tree, static_cast<std::size_t>(~at), sum));
    return;
  }
  auto const [c, left, right, axis, cut] = trees_.node(at);
  std::uint64_t& met = met_[static_cast<std::size_t>(c)];
  std::uint8_t& is_known = is_known_[static_cast<std::size_t>(c)];
  // A condition that is not open has one side, whichever kind is asked.
  if (is_known == 0) met = kinds_->set_of(c);
  is_known = 1;
  std::uint64_t& set =
      axis == BoxTrees::kVariants ? set_of_variants_ : sets_[static_cast<std::size_t>(axis)];
  std::uint64_t const before = set;
  if ((before & met) != 0) {
    set = before & met;
    take_leaves(tree, left);
  }
  if ((before & ~met) != 0) {
    set = before & ~met;
    take_leaves(tree, right);
  }
  set = before;
}

void TreeTable::sort_axes() {
  // A leaf costs the places of its axes up to the last that it does not take whole.
  std::size_t const width = 1 + order_.size();
  std::vector<double> asked(order_.size());
  std::vector<double> shares(order_.size());
  double all = 0.0;
  std::size_t const leaves = leaf_sets_.size() / width;
  for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
    std::uint64_t const* const set = leaf_sets_.data() + leaf * width + 1;
    double share = 1.0;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      std::size_t const kinds = axis(i).kinds();
      shares[i] = 1.0;
      if (set[i] == all_of(kinds)) continue;
      shares[i] = static_cast<double>(pop_count(set[i])) / static_cast<double>(kinds);
      share *= shares[i];
    }
    all += share;
    for (std::size_t i = 0; i < order_.size(); ++i) asked[i] += shares[i] < 1.0 ? share : 0.0;
  }
  std::vector<std::size_t> by(order_.size());
  std::iota(by.begin(), by.end(), std::size_t{0});
  std::ranges::stable_sort(by, std::greater(), [&](std::size_t i) {
    double const share = asked[i] / all;
    return share + (1.0 - share) / static_cast<double>(axis(i).kinds());
  });
  std::vector<std::uint64_t> sorted(order_.size());
  for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
    std::uint64_t* const set = leaf_sets_.data() + leaf * width + 1;
    for (std::size_t i = 0; i < by.size(); ++i) sorted[i] = set[by[i]];
    std::ranges::copy(sorted, set);
  }
  std::vector<std::size_t> order;
  for (std::size_t const i : by) order.push_back(order_[i]);
  order_ = std::move(order);
}

void TreeTable::begin(std::vector<int> sizes, Table& table) const {
  table.sizes = std::move(sizes);
  table.levels.resize(table.sizes.size());
  for (std::size_t a = 0; a < table.sizes.size(); ++a)
    table.levels[a].begin(std::span(table.sizes).first(a + 1));
  table.constant = 0;
}

void TreeTable::put(std::span<std::uint64_t const> set, std::int32_t value, Table& table) {
  std::size_t axes = set.size();
  while (axes > 0 && set[axes - 1] == low_bits(table.sizes[axes - 1])) --axes;
  if (axes == 0) {
    table.constant += value;
    return;
  }
  table.levels[axes - 1].put(set.first(axes), value);
}

void TreeTable::put_leaves(std::size_t c) {
  std::vector<int> sizes = {static_cast<int>(kinds_->variants().size())};
  for (std::size_t i = 0; i < order_.size(); ++i)
    sizes.push_back(static_cast<int>(axis(i).kinds()));
  begin(sizes, own_[c]);
  begin({sizes.begin() + 1, sizes.end()}, shared_[c]);
  shared_[c].constant = units_.base(sums_[c]);
  std::size_t const width = sizes.size();
  for (std::size_t leaf = 0; leaf * width < leaf_sets_.size(); ++leaf) {
    std::int32_t const value = leaf_values_[leaf * sums_.size() + c];
    if (value == 0) continue;  // a leaf of other classes
    auto const set = std::span<std::uint64_t const>(leaf_sets_).subspan(leaf * width, width);
    if (set[0] == low_bits(sizes[0])) {
      put(set.subspan(1), value, shared_[c]);
    } else {
      put(set, value, own_[c]);
    }
  }
}

void TreeTable::add_up(Table& table) {
  table.sums.assign(1, table.constant);
  for (std::size_t a = 0; a < table.sizes.size(); ++a) {
    before_.swap(table.sums);
    table.sums.resize(before_.size() * static_cast<std::size_t>(table.sizes[a]));
    kernels_.spread_leaves(before_.data(), static_cast<int>(before_.size()), table.sizes[a],
                           table.sums.data());
    scratch_.resize(4 * table.sums.size());
    kernels_.add_leaves(table.levels[a].view(), scratch_.data(), table.sums.data());
  }
}

void TreeTable::compare_variants() {
  auto const& variants = kinds_->variants();
  compared_.assign(variants.size() * variants.size(), 0);
  for (std::size_t a = 0; a < variants.size(); ++a) {
    for (std::size_t e = a + 1; e < variants.size(); ++e) {
      bool const any = std::ranges::any_of(variants[a], [&](int one) {
        return std::ranges::any_of(variants[e], [&](int other) {
          return query_.compares(one, other) || query_.compares(other, one);
        });
      });
      compared_[a * variants.size() + e] = compared_[e * variants.size() + a] = any ? 1 : 0;
    }
  }
}

TreeTable::Outcome TreeTable::outcome(std::size_t kind) const {
  std::size_t const variants = kinds_->variants().size();
  std::uint64_t const there = members(kind);
  bool doubt = false;
  for (std::uint64_t left = there; left != 0; left &= left - 1) {
    auto const a = static_cast<std::size_t>(lowest_bit(left));
    std::uint32_t const own = labels(kind, a);
    for (std::uint64_t others = left & (left - 1); others != 0; others &= others - 1) {
      auto const e = static_cast<std::size_t>(lowest_bit(others));
      std::uint32_t const other = labels(kind, e);
      if (compared_[a * variants + e] == 0 || (own == other && is_one_bit(own))) continue;
      if ((own & other) == 0) return Outcome::kUnfair;
      doubt = true;
    }
  }
  return doubt ? Outcome::kInDoubt : Outcome::kFair;
}

}  // namespace fairlane
