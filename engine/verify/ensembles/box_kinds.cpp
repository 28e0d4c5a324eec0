#include "engine/verify/ensembles/box_kinds.h"

#include <algorithm>
#include <map>

#include "kernels/core/bits.h"

namespace fairlane {

BoxKinds::BoxKinds(BoxTrees const& trees)
    : trees_(trees), rules_(existence_rules(trees.domain())), axes_(trees.domain().axes()) {}

void BoxKinds::find(TreeBounds const& bounds, std::span<AxisRange const> box,
                    std::span<int const> variants) {
  for (Axis& axis : axes_) {
    axis.first.clear();
    axis.sizes.clear();
    axis.open.clear();
  }
  of_variants_.clear();
  for (std::int32_t const c : bounds.open()) {
    std::int32_t const axis = trees_.condition(c).axis;
    (axis == BoxTrees::kVariants ? of_variants_ : axes_[static_cast<std::size_t>(axis)].open)
        .push_back(c);
  }
  open_rules_.clear();
  for (ExistenceRule const& rule : rules_)
    if (rule.is_open(box, variants)) open_rules_.push_back(&rule);
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    Axis& axis = axes_[a];
    AxisRange const range = box[a];
    bool const is_one =
        axis.open.empty() && std::ranges::none_of(open_rules_, [a](ExistenceRule const* rule) {
          return rule->speaks_of(a);
        });
    if (is_one) {
      axis.first.push_back(range.first);
      axis.sizes.push_back(range.size());
      continue;
    }
    if (trees_.domain().ordered(a)) {
      find_between_cuts(a, range);
      continue;
    }
    auto const entry = [&](std::size_t i) { return range.first + static_cast<std::int32_t>(i); };
    auto const meets = [&](std::int32_t c, std::size_t i) {
      return trees_.condition(c).meets[static_cast<std::size_t>(entry(i))] != 0;
    };
    auto const added = [&](ExistenceRule const& rule, std::size_t i) {
      return rule.added(a, entry(i));
    };
    find_by_sides(static_cast<std::size_t>(range.size()), axis.open, meets, added,
                  [&](std::size_t kind, std::size_t i) {
                    if (kind == axis.first.size()) {
                      axis.first.push_back(entry(i));
                      axis.sizes.push_back(0);
                    }
                    ++axis.sizes[kind];
                  });
  }
  variants_.clear();
  auto const meets = [&](std::int32_t c, std::size_t i) {
    return trees_.condition(c).meets[static_cast<std::size_t>(variants[i])] != 0;
  };
  auto const added = [&](ExistenceRule const& rule, std::size_t i) {
    return rule.added_by(variants[i]);
  };
  find_by_sides(variants.size(), of_variants_, meets, added, [&](std::size_t kind, std::size_t i) {
    if (kind == variants_.size()) variants_.emplace_back();
    variants_[kind].push_back(variants[i]);
  });
}

void BoxKinds::find_between_cuts(std::size_t a, AxisRange range) {
  Axis& axis = axes_[a];
  axis.first.push_back(range.first);
  for (std::int32_t const c : axis.open) axis.first.push_back(trees_.condition(c).cut);
  for (ExistenceRule const* rule : open_rules_)
    rule->each_start(a, range, [&](std::int32_t e) { axis.first.push_back(e); });
  std::ranges::sort(axis.first);
  axis.first.erase(std::unique(axis.first.begin(), axis.first.end()), axis.first.end());
  for (std::size_t k = 0; k < axis.first.size(); ++k) {
    std::int32_t const next = k + 1 < axis.first.size() ? axis.first[k + 1] : range.last + 1;
    axis.sizes.push_back(next - axis.first[k]);
  }
}

template <class Meets, class Added, class Add>
void BoxKinds::find_by_sides(std::size_t count, std::vector<std::int32_t> const& open,
                             Meets const& meets, Added const& added, Add const& add) const {
  std::map<std::vector<std::int64_t>, std::size_t> known;
  std::vector<std::int64_t> sides(open.size() + open_rules_.size());
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < open.size(); ++k) sides[k] = meets(open[k], i) ? 1 : 0;
    for (std::size_t r = 0; r < open_rules_.size(); ++r)
      sides[open.size() + r] = added(*open_rules_[r], i);
    add(known.try_emplace(sides, known.size()).first->second, i);
  }
}

double BoxKinds::groups() const {
  double product = 1.0;
  for (Axis const& axis : axes_) product *= static_cast<double>(axis.kinds());
  return product;
}

bool BoxKinds::meets(std::int32_t c, std::size_t kind) const {
  auto const& condition = trees_.condition(c);
  if (condition.axis == BoxTrees::kVariants)
    return condition.meets[static_cast<std::size_t>(variants_[kind].front())] != 0;
  std::int32_t const entry = axes_[static_cast<std::size_t>(condition.axis)].first[kind];
  return condition.meets.empty() ? entry < condition.cut
                                 : condition.meets[static_cast<std::size_t>(entry)] != 0;
}

std::uint64_t BoxKinds::set_of(std::int32_t c) const {
  std::int32_t const axis = trees_.condition(c).axis;
  std::size_t const kinds = axis == BoxTrees::kVariants
                                ? variants_.size()
                                : axes_[static_cast<std::size_t>(axis)].kinds();
  std::uint64_t set = 0;
  for (std::size_t k = 0; k < kinds; ++k)
    if (meets(c, k)) set |= std::uint64_t{1} << k;
  return set;
}

std::uint64_t BoxKinds::allowed(ExistenceRule const& rule, std::int64_t sum) const {
  std::uint64_t const all = low_bits(static_cast<int>(variants_.size()));
  if (!rule.speaks_of_variants()) return rule.allows(sum) ? all : 0;
  std::uint64_t allowed = 0;
  for (std::size_t v = 0; v < variants_.size(); ++v)
    if (rule.allows(sum + rule.added_by(variants_[v].front()))) allowed |= std::uint64_t{1} << v;
  return allowed;
}

std::uint64_t BoxKinds::members(std::span<std::int32_t const> entries) const {
  std::uint64_t members = low_bits(static_cast<int>(variants_.size()));
  for (ExistenceRule const* rule : open_rules_) {
    std::int64_t sum = rule->constant;
    for (std::size_t a = 0; a < entries.size(); ++a) sum += rule->added(a, entries[a]);
    members &= allowed(*rule, sum);
  }
  return members;
}

std::size_t BoxKinds::kind_of(std::size_t a, std::int32_t entry) const {
  Axis const& axis = axes_[a];
  if (trees_.domain().ordered(a)) {
    auto const behind = std::ranges::upper_bound(axis.first, entry);
    return static_cast<std::size_t>(behind - axis.first.begin()) - 1;
  }
  for (std::size_t kind = 0; kind < axis.kinds(); ++kind) {
    bool const same_sides = std::ranges::all_of(axis.open, [&](std::int32_t c) {
      return meets(c, kind) == (trees_.condition(c).meets[static_cast<std::size_t>(entry)] != 0);
    });
    bool const same_sums = std::ranges::all_of(open_rules_, [&](ExistenceRule const* rule) {
      return rule->added(a, axis.first[kind]) == rule->added(a, entry);
    });
    if (same_sides && same_sums) return kind;
  }
  return 0;  // not an entry of the box
}

}  // namespace fairlane
