#include "engine/verify/counting/hinge_counter.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/verify/counting/count_rounding.h"

namespace fairlane {

HingeCounter::HingeCounter(BoxDomain const& domain)
    : domain_(domain),
      kernels_(box_kernels()),
      groups_(kBins + 1 + static_cast<std::size_t>(kernels_.lanes)),
      next_(groups_.size()),
      part_(groups_.size()) {}

double HingeCounter::above(std::span<AxisRange const> box, AxisParts const& parts,
                           HingeForm const& form, double threshold) {
  double need = threshold - form.constant;
  double size = std::abs(threshold) + std::abs(form.constant);
  double span = 0.0;
  double all = 1.0;
  tables_.resize(parts.size());
  weights_.clear();
  for (PartedHinge const& hinge : form.hinges) weights_.push_back(hinge.weight);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    Table& table = tables_[p];
    size += fill(box, parts[p], p, parts.size(), form, table);
    need -= table.least;
    span += table.most - table.least;
    all *= table.entries;
  }
  need += kCountSlack * size;
  if (need < 0.0) return all;
  if (!(need > kCountSlack * span && need < span)) return 0.0;
  return at_least_without(all, count_short(need));
}

double HingeCounter::fill(std::span<AxisRange const> box, std::span<std::size_t const> axes,
                          std::size_t p, std::size_t parts, HingeForm const& form, Table& table) {
  std::size_t const hinges = form.hinges.size();
  auto const slopes_of = [&](std::size_t f) {
    return f == 0 ? form.coefficients.data() : form.hinges[f - 1].slopes;
  };
  std::size_t const longest =
      *std::ranges::max_element(axes, {}, [&](std::size_t axis) { return box[axis].size(); });
  // The row of no entries yet.
  std::size_t const width = 1 + hinges;
  row_sums_.assign(width, 0.0);
  for (std::size_t h = 0; h < hinges; ++h) row_sums_[1 + h] = form.shifts[h * parts + p];
  table.entries = 1.0;
  for (std::size_t const axis : axes) {
    table.entries *= box[axis].size();
    if (axis == longest) continue;
    next_rows_.clear();
    for (std::int32_t e = box[axis].first; e <= box[axis].last; ++e) {
      std::size_t const from = next_rows_.size();
      next_rows_.insert(next_rows_.end(), row_sums_.begin(), row_sums_.end());
      for (std::size_t f = 0; f < width; ++f) {
        double const add = domain_.added(axis, e, slopes_of(f));
        for (std::size_t at = from + f; at < next_rows_.size(); at += width) next_rows_[at] += add;
      }
    }
    row_sums_.swap(next_rows_);
  }
  AxisRange const range = box[longest];
  std::int32_t const block = (range.size() + kMostEntries - 1) / kMostEntries;
  bool const ends = domain_.step(longest) > 0.0;
  columns_.clear();
  for (std::int32_t first = range.first; first <= range.last; first += block) {
    std::int32_t const last = std::min(first + block - 1, range.last);
    std::int32_t const by = ends ? std::max(last - first, 1) : 1;
    for (std::int32_t e = first; e <= last; e += by) columns_.push_back(e);
  }
  auto const lanes = static_cast<std::size_t>(kernels_.lanes);
  std::size_t const padded = (columns_.size() + lanes - 1) / lanes * lanes;
  column_sums_.assign(width * padded, 0.0);
  for (std::size_t f = 0; f < width; ++f) {
    for (std::size_t c = 0; c < columns_.size(); ++c)
      column_sums_[f * padded + c] = domain_.added(longest, columns_[c], slopes_of(f));
  }
  table.count = row_sums_.size() / width * columns_.size();
  table.sums.resize(table.count + lanes);
  table.block = 1.0;
  kernels_.tabulate(
      {static_cast<int>(row_sums_.size() / width), static_cast<int>(columns_.size()),
       static_cast<int>(hinges), row_sums_.data(), column_sums_.data(), weights_.data()},
      table.sums.data());
  double size = 0.0;
  for (std::size_t f = 0; f < width; ++f) {
    double of_rows = 0.0;
    for (std::size_t at = f; at < row_sums_.size(); at += width)
      of_rows = std::max(of_rows, std::abs(row_sums_[at]));
    double of_columns = 0.0;
    for (std::size_t c = 0; c < padded; ++c)
      of_columns = std::max(of_columns, std::abs(column_sums_[f * padded + c]));
    size += (f == 0 ? 1.0 : weights_[f - 1]) * (of_rows + of_columns);
  }
  if (block > 1) take_blocks(longest, block, table);
  auto const sums = std::span(table.sums).first(table.count);
  auto const [least, most] = std::ranges::minmax(sums);
  table.least = least;
  table.most = most;
  return size;
}

void HingeCounter::take_blocks(std::size_t axis, std::int32_t block, Table& table) {
  // Of values a step apart, a linear form less hinges is least at an end of a block.
  auto const in_block = static_cast<std::size_t>(domain_.step(axis) > 0.0 ? 2 : block);
  std::size_t count = 0;
  for (std::size_t at = 0; at < table.count; at += in_block, ++count) {
    auto const first = table.sums.begin() + static_cast<std::ptrdiff_t>(at);
    std::size_t const here = std::min(in_block, table.count - at);
    table.sums[count] = *std::min_element(first, first + static_cast<std::ptrdiff_t>(here));
  }
  table.count = count;
  table.block = block;
}

HingeCounter::Filled HingeCounter::put_in_bins(Table const& table, double per_sum,
                                               std::vector<double>& groups) const {
  std::ranges::fill(groups, 0.0);
  Filled filled{kBins + 1, 0};
  double const entries = table.block;
  for (std::size_t i = 0; i < table.count; ++i) {
    double const at = (table.sums[i] - table.least) * per_sum;
    if (!(at <= static_cast<double>(kBins))) continue;
    auto const bin = static_cast<std::size_t>(static_cast<std::int64_t>(at));
    groups[bin] += entries;
    filled = {std::min(filled.first, bin), std::max(filled.end, bin + 1)};
  }
  // Only the last block may be shorter.
  double const missing = entries * static_cast<double>(table.count) - table.entries;
  double const at = (table.sums[table.count - 1] - table.least) * per_sum;
  if (missing > 0.0 && at <= static_cast<double>(kBins))
    groups[static_cast<std::size_t>(static_cast<std::int64_t>(at))] -= missing;
  return filled;
}

double HingeCounter::count_short(double need) {
  // Sums beyond the last bin suffice whatever is still added: only those that do not are kept.
  double const per_sum = static_cast<double>(kBins) / need * (1.0 - kCountSlack);
  std::ranges::sort(tables_, {}, &Table::count);
  Filled filled = put_in_bins(tables_.back(), per_sum, groups_);
  for (std::size_t p = 1; p + 1 < tables_.size() && filled.first < filled.end; ++p) {
    Filled const added = put_in_bins(tables_[p], per_sum, part_);
    std::ranges::fill(next_, 0.0);
    for (std::size_t shift = added.first; shift < added.end; ++shift) {
      if (part_[shift] == 0.0 || filled.first + shift > kBins) continue;
      std::size_t const end = std::min(filled.end, kBins + 1 - shift);
      kernels_.add(groups_.data() + filled.first, part_[shift], next_.data() + filled.first + shift,
                   static_cast<int>(end - filled.first));
    }
    filled = {filled.first + added.first, std::min(filled.end + added.end, kBins + 1)};
    std::fill(next_.begin() + static_cast<std::ptrdiff_t>(filled.end), next_.end(), 0.0);
    groups_.swap(next_);
  }
  if (tables_.size() == 1) return std::accumulate(groups_.begin(), groups_.end(), 0.0);
  put_in_bins(tables_.front(), per_sum, part_);
  std::partial_sum(part_.begin(), part_.begin() + kBins + 1, part_.begin());
  double total = 0.0;
  for (std::size_t i = filled.first; i < filled.end; ++i) total += groups_[i] * part_[kBins - i];
  return total;
}

}  // namespace fairlane
