#include "engine/count/group_counts.h"

#include <algorithm>

#include "kernels/core/bits.h"

namespace fairlane {

GroupCounts::GroupCounts(WalkPlan const& plan)
    : counters(static_cast<std::size_t>(plan.counters().size())) {
  for (auto const& list : plan.lists())
    list_groups.emplace_back(static_cast<std::size_t>(list.size()));
}

void GroupCounts::add(GroupCounts const& other) {
  groups += other.groups;
  skipped += other.skipped;
  for (std::size_t i = 0; i < counters.size(); ++i) counters[i] += other.counters[i];
  for (std::size_t l = 0; l < list_groups.size(); ++l) {
    for (std::size_t i = 0; i < list_groups[l].size(); ++i)
      list_groups[l][i] += other.list_groups[l][i];
  }
}

void GroupCounts::add_uniform(CountLayout const& layout, std::int64_t uniform_groups, int label) {
  groups += uniform_groups;
  skipped += uniform_groups;
  if (label == 0) return;
  for (int v = 0; v < layout.variants; ++v)
    counters[static_cast<std::size_t>(layout.positive(v))] +=
        static_cast<std::uint64_t>(uniform_groups);
}

FeasibleCounts::FeasibleCounts(GroupCounts const& counts, CountLayout const& layout,
                               bool is_constrained)
    : groups(counts.groups), inputs(counts.groups * layout.variants) {
  std::int64_t without_output = 0;
  for (int v = 0; v < layout.variants; ++v) {
    std::int64_t const missing = counts.at(layout.undefined(v));
    without_output += missing;
    members.push_back(counts.groups - (is_constrained ? missing : 0));
    undefined_members.push_back(is_constrained ? 0 : missing);
  }
  std::int64_t const unknown = counts.at(CountLayout::kUnknown);
  if (is_constrained) {
    groups -= infeasible_groups = unknown;
    inputs -= infeasible = without_output;
  } else {
    undefined_groups = unknown;
    undefined = without_output;
  }
}

GroupCounter::GroupCounter(Walker& walker, std::optional<Walker::Look> look)
    : walker_(walker), look_(look), walk_(walker.plan().get()) {}

void GroupCounter::count(std::int64_t first, std::int64_t count, GroupCounts& counts,
                         Take const& take) {
  auto const words = static_cast<std::size_t>(head_words(count));
  mixed_.resize(static_cast<std::size_t>(walk_.groups) * words);
  head_count_.assign(static_cast<std::size_t>(count), 0);
  if (look_) {
    counts.skipped +=
        walker_.count_open(first, count, *look_, mixed_.data(), counts.counters.data());
  } else {
    walker_.count(first, count, mixed_.data(), counts.counters.data());
  }
  counts.groups += count * walk_.groups;

  auto const& lists = walker_.plan().lists();
  std::size_t const heads = walker_.plan().head_lists();
  for (int group = 0; group < walk_.groups; ++group) {
    std::uint64_t const* const row = &mixed_[static_cast<std::size_t>(group) * words];
    std::uint64_t in_group = 0;
    for (std::size_t w = 0; w < words; ++w) {
      in_group += pop_count(row[w]);
      for (std::uint64_t rest = row[w]; rest != 0; rest &= rest - 1) {
        auto const head = w * kHeadsPerWord + static_cast<std::size_t>(lowest_bit(rest));
        ++head_count_[head];
        if (take) take((first + static_cast<std::int64_t>(head)) * walk_.groups + group);
      }
    }
    auto rest = static_cast<std::size_t>(group);
    for (std::size_t l = lists.size(); l-- > heads;) {
      auto& values = counts.list_groups[l];
      values[rest % values.size()] += in_group;
      rest /= values.size();
    }
  }
  count_lists(first, count, counts);
}

void GroupCounter::count_lists(std::int64_t first, std::int64_t count, GroupCounts& counts) {
  std::size_t const heads = walker_.plan().head_lists();
  if (heads == 0) return;
  // The last list's entry changes from head to head, the others' only after each round of it.
  auto& last = counts.list_groups[heads - 1];
  auto const size = static_cast<std::int64_t>(last.size());
  for (std::int64_t at = 0; at < count;) {
    std::int64_t const digit = (first + at) % size;
    std::int64_t const end = std::min(count, at + size - digit);
    std::uint64_t sum = 0;
    for (std::int64_t i = at; i < end; ++i) {
      std::uint64_t const n = head_count_[static_cast<std::size_t>(i)];
      last[static_cast<std::size_t>(digit + i - at)] += n;
      sum += n;
    }
    std::int64_t rest = (first + at) / size;
    if (sum > 0) {
      for (std::size_t l = heads - 1; l-- > 0;) {
        auto& values = counts.list_groups[l];
        auto const values_size = static_cast<std::int64_t>(values.size());
        values[static_cast<std::size_t>(rest % values_size)] += sum;
        rest /= values_size;
      }
    }
    at = end;
  }
}

}  // namespace fairlane
