#include "kernels/layout/walk_plan.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace fairlane {

WalkPlan::WalkPlan(PackedSubject const& subject, std::vector<ValueList> lists, int most_members)
    : subject_(subject), lists_(std::move(lists)) {
  order_lists();
  choose_tail(kMostMembers);
  unit_ = walk_.members / subject.get().variants;
  if (most_members != kMostMembers) choose_tail(most_members);
  lay_out_tail();
  lay_out_subsets();
  walk_.counts_pairs = subject.get().variants <= kMostPairVariants;
  layout_ = count_layout(subject.get(), walk_);
}

void WalkPlan::order_lists() {
  for (ValueList& list : lists_) {
    // Columns in kernel order, so that the last one is where the list's values are complete;
    // entries ascending.
    std::vector<std::size_t> order(list.attributes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    auto const column = [&](std::size_t i) {
      return subject_.column_of()[static_cast<std::size_t>(list.attributes[i])];
    };
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return column(a) < column(b); });
    std::vector<std::vector<std::int32_t>> entries;
    for (std::int64_t r = 0; r < list.size(); ++r) {
      entries.emplace_back();
      for (std::size_t const i : order) {
        entries.back().push_back(list.values[static_cast<std::size_t>(r) * order.size() + i]);
      }
    }
    std::sort(entries.begin(), entries.end());
    ValueList sorted;
    for (std::size_t const i : order) sorted.attributes.push_back(list.attributes[i]);
    for (auto const& entry : entries)
      sorted.values.insert(sorted.values.end(), entry.begin(), entry.end());
    list = std::move(sorted);
  }
  auto const last_column = [&](ValueList const& list) {
    return subject_.column_of()[static_cast<std::size_t>(list.attributes.back())];
  };
  std::sort(lists_.begin(), lists_.end(), [&](ValueList const& a, ValueList const& b) {
    return last_column(a) < last_column(b);
  });
  double inputs = subject_.get().variants;
  for (ValueList const& list : lists_) {
    inputs *= static_cast<double>(list.size());
    last_column_.push_back(last_column(list));
    columns_.emplace_back();
    for (int const a : list.attributes)
      columns_.back().push_back(subject_.column_of()[static_cast<std::size_t>(a)]);
  }
  constexpr double kMostInputs = 0x1p62;
  if (inputs > kMostInputs) {
    throw Error(ExitCode::kUnavailable,
                "the domain has more than 2^62 inputs, too many to be counted; enumerate a part "
                "of it, or use `fairlane estimate`");
  }
}

void WalkPlan::choose_tail(int most_members) {
  auto const& s = subject_.get();
  // Lists move into the tail, the last one first, as long as all they leave behind are whole
  // columns before it.
  std::int64_t members = s.variants;
  std::size_t head = lists_.size();
  while (head > 0) {
    auto const& list = lists_[head - 1];
    bool const single = list.attributes.size() == 1;
    if (!single || members * list.size() > most_members) break;
    members *= list.size();
    --head;
  }
  // The tail begins behind the heads' last column, or at the first selected one if that comes
  // earlier.
  walk_.first = std::min(head == 0 ? 0 : last_column_[head - 1] + 1, s.prefix);
  walk_.members = static_cast<int>(members);
  walk_.factors = static_cast<int>(head);
  walk_.first_input = s.input_of(walk_.first);
  factors_.clear();
  factor_codes_.resize(lists_.size());
  for (std::size_t f = 0; f < head; ++f) {
    auto const& columns = columns_[f];
    auto& codes = factor_codes_[f];
    codes.clear();
    for (std::size_t i = 0; i < lists_[f].values.size(); ++i)
      codes.push_back(subject_.place_of(columns[i % columns.size()], lists_[f].values[i]));
    factors_.push_back(
        {static_cast<int>(columns.size()), columns.data(), lists_[f].size(), codes.data()});
  }
  walk_.factor = factors_.data();
  walk_.heads = 1;
  for (auto const& factor : factors_) walk_.heads *= factor.size;
}

void WalkPlan::lay_out_tail() {
  auto const& s = subject_.get();
  auto const head = static_cast<std::size_t>(walk_.factors);
  // Values of the tail's columns; a column of the heads that lies behind the first selected one
  // stays as the head has it.
  level_values_.resize(static_cast<std::size_t>(s.columns - walk_.first));
  level_codes_.resize(level_values_.size());
  levels_.resize(level_values_.size());
  for (auto& level : levels_) level.size = 1;
  auto const at = [&](int column) { return static_cast<std::size_t>(column - walk_.first); };
  for (std::size_t l = head; l < lists_.size(); ++l) {
    int const column = last_column_[l];
    for (std::int32_t const value : lists_[l].values)
      append_level(column, subject_.place_of(column, value));
  }
  std::vector<int> variant_stride(static_cast<std::size_t>(s.selected));
  for (int i = s.selected - 1; i >= 0; --i) {
    int const values = subject_.selected_values(i);
    variant_stride[static_cast<std::size_t>(i)] =
        i + 1 == s.selected
            ? 1
            : variant_stride[static_cast<std::size_t>(i) + 1] * subject_.selected_values(i + 1);
    for (int k = 0; k < values; ++k) {
      int const variant = k * variant_stride[static_cast<std::size_t>(i)];
      append_level(s.selected_column[i], subject_.variant_place(variant, i));
    }
  }
  int stride = 1;
  for (std::size_t l = levels_.size(); l-- > 0;) {
    auto& level = levels_[l];
    int const column = walk_.first + static_cast<int>(l);
    level.first = s.input_of(column);
    level.width = s.input_of(column + 1) - level.first;
    if (!level_values_[l].empty()) {
      level.size = static_cast<int>(level_values_[l].size()) / level.width;
      level.value = level_values_[l].data();
      level.code = level_codes_[l].data();
    }
    level.stride = stride;
    stride *= level.size;
  }
  walk_.level = levels_.data();
  walk_.groups = walk_.members / s.variants;

  for (int g = 0; g < walk_.groups; ++g) {
    int rest = g;
    int member = 0;
    for (std::size_t l = lists_.size(); l-- > head;) {
      int const size = static_cast<int>(lists_[l].size());
      member += rest % size * levels_[at(last_column_[l])].stride;
      rest /= size;
    }
    group_member_.push_back(member);
  }
  for (int v = 0; v < s.variants; ++v) {
    int member = 0;
    for (int i = 0; i < s.selected; ++i) {
      int const digit =
          v / variant_stride[static_cast<std::size_t>(i)] % subject_.selected_values(i);
      member += digit * levels_[at(s.selected_column[i])].stride;
    }
    variant_member_.push_back(member);
  }
  walk_.group_member = group_member_.data();
  walk_.variant_member = variant_member_.data();
}

void WalkPlan::append_level(int column, std::int32_t code) {
  auto const level = static_cast<std::size_t>(column - walk_.first);
  subject_.append_inputs(column, code, level_values_[level]);
  level_codes_[level].push_back(code);
}

void WalkPlan::lay_out_subsets() {
  auto const& s = subject_.get();
  if (s.selected > kMostSubsetAttributes) return;
  unsigned const all = (1U << s.selected) - 1;
  for (unsigned mask = 1; mask < all; ++mask) {
    subsets_.emplace_back();
    for (int i = 0; i < s.selected; ++i) {
      if ((mask >> i & 1U) != 0) subsets_.back().push_back(i);
    }
  }
  std::stable_sort(subsets_.begin(), subsets_.end(),
                   [](auto const& a, auto const& b) { return a.size() < b.size(); });
  for (auto const& subset : subsets_) {
    // Variants by what the other attributes' values are, in the order in which they first occur.
    std::vector<std::vector<int>> classes;
    std::vector<std::vector<std::int32_t>> others;
    for (int v = 0; v < s.variants; ++v) {
      std::vector<std::int32_t> other;
      for (int i = 0; i < s.selected; ++i) {
        if (std::find(subset.begin(), subset.end(), i) == subset.end())
          other.push_back(subject_.variant_place(v, i));
      }
      auto const known = std::find(others.begin(), others.end(), other) - others.begin();
      if (known == static_cast<std::ptrdiff_t>(others.size())) {
        others.push_back(other);
        classes.emplace_back();
      }
      classes[static_cast<std::size_t>(known)].push_back(v);
    }
    subset_members_.emplace_back();
    for (auto const& members : classes)
      subset_members_.back().insert(subset_members_.back().end(), members.begin(), members.end());
    subset_views_.push_back(
        {static_cast<int>(classes.size()), static_cast<int>(classes.front().size()), nullptr});
  }
  for (std::size_t i = 0; i < subset_views_.size(); ++i)
    subset_views_[i].member = subset_members_[i].data();
  walk_.subsets = static_cast<int>(subset_views_.size());
  walk_.subset = subset_views_.data();
}

std::int64_t WalkPlan::group_of(std::int32_t const* row) const {
  std::int64_t group = 0;
  for (ValueList const& list : lists_) {
    std::size_t const width = list.attributes.size();
    std::vector<std::int32_t> entry;
    for (int const a : list.attributes) entry.push_back(row[a]);
    std::int64_t low = 0;
    for (std::int64_t high = list.size(); low < high;) {
      std::int64_t const middle = low + (high - low) / 2;
      auto const* const here = &list.values[static_cast<std::size_t>(middle) * width];
      if (std::lexicographical_compare(here, here + width, entry.begin(), entry.end())) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (low == list.size() || !std::equal(entry.begin(), entry.end(),
                                          &list.values[static_cast<std::size_t>(low) * width]))
      return -1;
    group = group * list.size() + low;
  }
  return group;
}

void WalkPlan::row(std::int64_t group, std::int32_t* row) const {
  for (std::size_t l = lists_.size(); l-- > 0;) {
    ValueList const& list = lists_[l];
    std::int64_t const digit = group % list.size();
    group /= list.size();
    std::size_t const width = list.attributes.size();
    for (std::size_t c = 0; c < width; ++c)
      row[list.attributes[c]] = list.values[static_cast<std::size_t>(digit) * width + c];
  }
  subject_.set_variant(0, row);
}

}  // namespace fairlane
