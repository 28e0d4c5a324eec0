#include "engine/count/walk_tree.h"

#include <algorithm>
#include <bit>

namespace fairlane {
int level_of(std::int64_t heads) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(heads))) - 1;
}

WalkTree::WalkTree(WalkPlan const& plan, SubjectView const& view)
    : plan_(plan), stride_(std::max<std::size_t>(plan.head_lists(), 1), 1) {
  for (std::size_t l = stride_.size() - 1; l-- > 0;)
    stride_[l] = stride_[l + 1] * plan.lists()[l + 1].size();
  for (std::size_t a = 0; a < view.low.size(); ++a) {
    EncodingView const encoding = view.encoding(a);
    first_.push_back(whole_.size());
    kind_.push_back(encoding.kind);
    whole_.resize(whole_.size() + static_cast<std::size_t>(encoding.width));
  }
  for (std::size_t l = 0; l < plan.lists().size(); ++l)
    add_entries(l, 0, plan.lists()[l].size(), whole_);
  for (std::size_t i = 0; i < view.selected.size(); ++i) {
    std::vector<std::int32_t> values(view.values[i].begin(), view.values[i].end());
    std::sort(values.begin(), values.end());
    enclose(static_cast<std::size_t>(view.selected[i]), values, whole_);
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

std::vector<AxisRange> WalkTree::entries(WalkNode const& node) const {
  std::vector<AxisRange> entries;
  for (ValueList const& list : plan_.lists())
    entries.push_back({0, static_cast<std::int32_t>(list.size()) - 1});
  for (std::size_t l = 0; l < narrowed(node); ++l) {
    std::int64_t const digit = node.first / stride_[l] % plan_.lists()[l].size();
    bool const last = static_cast<int>(l) == node.list;
    entries[l].first = static_cast<std::int32_t>(digit);
    entries[l].last = static_cast<std::int32_t>(digit + (last ? node.entries : 1) - 1);
  }
  return entries;
}

void WalkTree::box(WalkNode const& node, std::vector<Interval>& box) const {
  box = whole_;
  auto const ranges = entries(node);
  for (std::size_t l = 0; l < narrowed(node); ++l)
    add_entries(l, ranges[l].first, ranges[l].last + 1, box);
}

void WalkTree::add_entries(std::size_t list, std::int64_t first, std::int64_t last,
                           std::vector<Interval>& box) const {
  auto const& values = plan_.lists()[list];
  std::size_t const width = values.attributes.size();
  std::vector<std::int32_t> codes;
  for (std::size_t i = 0; i < width; ++i) {
    codes.clear();
    auto const a = static_cast<std::size_t>(values.attributes[i]);
    auto const code = [&](std::int64_t entry) {
      return values.values[static_cast<std::size_t>(entry) * width + i];
    };
    if (width == 1 && ends_suffice(a)) {
      codes = {code(first), code(last - 1)};
    } else {
      for (std::int64_t entry = first; entry < last; ++entry) codes.push_back(code(entry));
      std::sort(codes.begin(), codes.end());  // entries ascend by their first values
    }
    enclose(a, codes, box);
  }
}

bool WalkTree::ends_suffice(std::size_t attribute) const {
  return kind_[attribute] == EncodingKind::kIdentity || kind_[attribute] == EncodingKind::kAffine;
}

void WalkTree::enclose(std::size_t attribute, std::vector<std::int32_t> const& codes,
                       std::vector<Interval>& box) const {
  PackedSubject const& subject = plan_.subject();
  int const column = subject.column_of()[attribute];
  std::vector<float> inputs;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (ends_suffice(attribute) && i > 0 && i + 1 < codes.size()) continue;
    inputs.clear();
    subject.append_inputs(column, subject.place_of(column, codes[i]), inputs);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      auto const x = static_cast<double>(inputs[k]);
      Interval& interval = box[first_[attribute] + k];
      interval =
          i == 0 ? Interval{x, x} : Interval{std::min(interval.low, x), std::max(interval.high, x)};
    }
  }
}

}  // namespace fairlane
