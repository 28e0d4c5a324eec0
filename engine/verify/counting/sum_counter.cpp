#include "engine/verify/counting/sum_counter.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "engine/verify/counting/count_rounding.h"

namespace fairlane {

SumCounter::SumCounter(std::size_t bins)
    : kernels_(box_kernels()),
      bins_(bins),
      groups_(bins + 1 + static_cast<std::size_t>(kernels_.lanes)),
      next_(groups_.size()),
      part_(groups_.size()) {}

SumCounter::Filled SumCounter::put_in_bins(SumList const& list, double per_sum,
                                           std::vector<double>& groups) const {
  std::ranges::fill(groups, 0.0);
  Filled filled{bins_ + 1, 0};
  for (std::size_t i = 0; i < list.count; ++i) {
    double const at = (list.sums[i] - list.least) * per_sum;
    if (!(at <= static_cast<double>(bins_))) continue;
    auto const bin = static_cast<std::size_t>(static_cast<std::int64_t>(at));
    groups[bin] += list.groups[i];
    filled = {std::min(filled.first, bin), std::max(filled.end, bin + 1)};
  }
  return filled;
}

double SumCounter::count_short(std::vector<SumList>& lists, double need) {
  // Sums beyond the last bin suffice whatever is still added: only those that do not are kept.
  double const per_sum = static_cast<double>(bins_) / need * (1.0 - kCountSlack);
  std::ranges::sort(lists, {}, &SumList::count);
  Filled filled = put_in_bins(lists.back(), per_sum, groups_);
  for (std::size_t p = 1; p + 1 < lists.size() && filled.first < filled.end; ++p) {
    Filled const added = put_in_bins(lists[p], per_sum, part_);
    std::ranges::fill(next_, 0.0);
    for (std::size_t shift = added.first; shift < added.end; ++shift) {
      if (part_[shift] == 0.0 || filled.first + shift > bins_) continue;
      std::size_t const end = std::min(filled.end, bins_ + 1 - shift);
      kernels_.add(groups_.data() + filled.first, part_[shift], next_.data() + filled.first + shift,
                   static_cast<int>(end - filled.first));
    }
    filled = {filled.first + added.first, std::min(filled.end + added.end, bins_ + 1)};
    std::fill(next_.begin() + static_cast<std::ptrdiff_t>(filled.end), next_.end(), 0.0);
    groups_.swap(next_);
  }
  if (lists.size() == 1) return std::accumulate(groups_.begin(), groups_.end(), 0.0);
  put_in_bins(lists.front(), per_sum, part_);
  std::partial_sum(part_.begin(), part_.begin() + static_cast<std::ptrdiff_t>(bins_ + 1),
                   part_.begin());
  double total = 0.0;
  for (std::size_t i = filled.first; i < filled.end; ++i) total += groups_[i] * part_[bins_ - i];
  return total;
}

}  // namespace fairlane
