#include "engine/walk_tree.h"

#include <algorithm>
#include <bit>

namespace fairlane {
namespace {

/// A code as the kernels see it.
double as_float(std::int32_t value) { return static_cast<double>(static_cast<float>(value)); }

}  // namespace

int level_of(std::int64_t heads) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(heads))) - 1;
}

WalkTree::WalkTree(WalkPlan const& plan, SubjectView const& view)
    : plan_(plan),
      stride_(std::max<std::size_t>(plan.head_lists(), 1), 1),
      whole_(view.low.size()) {
  for (std::size_t l = stride_.size() - 1; l-- > 0;)
    stride_[l] = stride_[l + 1] * plan.lists()[l + 1].size();
  for (std::size_t l = 0; l < plan.lists().size(); ++l)
    add_entries(l, 0, plan.lists()[l].size(), whole_);
  for (std::size_t i = 0; i < view.selected.size(); ++i) {
    auto const [low, high] = std::minmax_element(view.values[i].begin(), view.values[i].end());
    whole_[static_cast<std::size_t>(view.selected[i])] = {as_float(*low), as_float(*high)};
  }
}

WalkNode WalkTree::root() const {
  return {0, 0, plan_.head_lists() == 0 ? 1 : plan_.lists().front().size()};
}

bool WalkTree::split(WalkNode const& node, WalkNode& low, WalkNode& high) const {
  WalkNode whole = node;
  while (whole.entries == 1) {
    auto const next = static_cast<std::size_t>(whole.list) + 1;
    if (next == stride_.size()) return false;
    whole = {whole.list + 1, whole.first, plan_.lists()[next].size()};
  }
  low = high = whole;
  low.entries = whole.entries / 2;
  high.entries = whole.entries - low.entries;
  high.first += heads(low);
  return true;
}

void WalkTree::box(WalkNode const& node, std::vector<Interval>& box) const {
  box = whole_;
  auto const narrowed = std::min(static_cast<std::size_t>(node.list) + 1, plan_.head_lists());
  for (std::size_t l = 0; l < narrowed; ++l) {
    std::int64_t const digit = node.first / stride_[l] % plan_.lists()[l].size();
    bool const last = static_cast<int>(l) == node.list;
    add_entries(l, digit, digit + (last ? node.entries : 1), box);
  }
}

void WalkTree::add_entries(std::size_t list, std::int64_t first, std::int64_t last,
                           std::vector<Interval>& box) const {
  auto const& values = plan_.lists()[list];
  std::size_t const width = values.attributes.size();
  for (std::size_t i = 0; i < width; ++i) {
    auto const at = [&](std::int64_t entry) {
      return values.values[static_cast<std::size_t>(entry) * width + i];
    };
    auto low = at(first);
    auto high = at(last - 1);
    if (width > 1) {  // entries are in ascending order, but only of their first values
      for (std::int64_t entry = first; entry < last; ++entry) {
        low = std::min(low, at(entry));
        high = std::max(high, at(entry));
      }
    }
    box[static_cast<std::size_t>(values.attributes[i])] = {as_float(low), as_float(high)};
  }
}

}  // namespace fairlane
