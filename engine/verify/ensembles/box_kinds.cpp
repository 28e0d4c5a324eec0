#include "engine/verify/ensembles/box_kinds.h"

#include <algorithm>
#include <map>

namespace fairlane {

BoxKinds::BoxKinds(BoxTrees const& trees) : trees_(trees), axes_(trees.domain().axes()) {}

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
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    Axis& axis = axes_[a];
    AxisRange const range = box[a];
    if (axis.open.empty()) {
      axis.first.push_back(range.first);
      axis.sizes.push_back(range.size());
    } else if (trees_.domain().ordered(a)) {
      find_between_cuts(range, axis);
    } else {
      auto const meets = [&](std::int32_t c, std::size_t i) {
        return trees_.condition(c).meets[static_cast<std::size_t>(range.first) + i] != 0;
      };
      find_by_sides(static_cast<std::size_t>(range.size()), axis.open, meets,
                    [&](std::size_t kind, std::size_t i) {
                      if (kind == axis.first.size()) {
                        axis.first.push_back(range.first + static_cast<std::int32_t>(i));
                        axis.sizes.push_back(0);
                      }
                      ++axis.sizes[kind];
                    });
    }
  }
  variants_.clear();
  auto const meets = [&](std::int32_t c, std::size_t i) {
    return trees_.condition(c).meets[static_cast<std::size_t>(variants[i])] != 0;
  };
  find_by_sides(variants.size(), of_variants_, meets, [&](std::size_t kind, std::size_t i) {
    if (kind == variants_.size()) variants_.emplace_back();
    variants_[kind].push_back(variants[i]);
  });
}

void BoxKinds::find_between_cuts(AxisRange range, Axis& axis) {
  axis.first.push_back(range.first);
  for (std::int32_t const c : axis.open) axis.first.push_back(trees_.condition(c).cut);
  std::ranges::sort(axis.first);
  axis.first.erase(std::unique(axis.first.begin(), axis.first.end()), axis.first.end());
  for (std::size_t k = 0; k < axis.first.size(); ++k) {
    std::int32_t const next = k + 1 < axis.first.size() ? axis.first[k + 1] : range.last + 1;
    axis.sizes.push_back(next - axis.first[k]);
  }
}

template <class Meets, class Add>
void BoxKinds::find_by_sides(std::size_t count, std::vector<std::int32_t> const& open,
                             Meets const& meets, Add const& add) {
  std::map<std::vector<std::uint8_t>, std::size_t> known;
  std::vector<std::uint8_t> sides(open.size());
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < open.size(); ++k) sides[k] = meets(open[k], i) ? 1 : 0;
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

std::size_t BoxKinds::kind_of(std::size_t a, std::int32_t entry) const {
  Axis const& axis = axes_[a];
  if (trees_.domain().ordered(a)) {
    auto const behind = std::ranges::upper_bound(axis.first, entry);
    return static_cast<std::size_t>(behind - axis.first.begin()) - 1;
  }
  for (std::size_t kind = 0; kind < axis.kinds(); ++kind) {
    bool const same = std::ranges::all_of(axis.open, [&](std::int32_t c) {
      return meets(c, kind) == (trees_.condition(c).meets[static_cast<std::size_t>(entry)] != 0);
    });
    if (same) return kind;
  }
  return 0;  // not an entry of the box
}

}  // namespace fairlane
