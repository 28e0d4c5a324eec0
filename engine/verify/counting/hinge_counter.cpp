#include "engine/verify/counting/hinge_counter.h"

#include <algorithm>
#include <cmath>

#include "engine/verify/counting/count_rounding.h"

namespace fairlane {

namespace {

constexpr std::size_t kHingeBins = 256;

}  // namespace

HingeCounter::HingeCounter(BoxDomain const& domain)
    : domain_(domain), kernels_(box_kernels()), counter_(kHingeBins) {}

double HingeCounter::above(std::span<AxisRange const> box, AxisParts const& parts,
                           HingeForm const& form, double threshold) {
  double need = threshold - form.constant;
  double size = std::abs(threshold) + std::abs(form.constant);
  double span = 0.0;
  double all = 1.0;
  lists_.resize(parts.size());
  weights_.clear();
  for (PartedHinge const& hinge : form.hinges) weights_.push_back(hinge.weight);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    SumList& list = lists_[p];
    size += fill(box, parts[p], p, parts.size(), form, list);
    need -= list.least;
    span += list.most - list.least;
    for (std::size_t const axis : parts[p]) all *= box[axis].size();
  }
  need += kCountSlack * size;
  if (need < 0.0) return all;
  if (!(need > kCountSlack * span && need < span)) return 0.0;
  return at_least_without(all, counter_.count_short(lists_, need));
}

double HingeCounter::fill(std::span<AxisRange const> box, std::span<std::size_t const> axes,
                          std::size_t p, std::size_t parts, HingeForm const& form, SumList& list) {
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
  for (std::size_t const axis : axes) {
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
  list.count = row_sums_.size() / width * columns_.size();
  list.sums.resize(list.count + lanes);
  kernels_.tabulate(
      {static_cast<int>(row_sums_.size() / width), static_cast<int>(columns_.size()),
       static_cast<int>(hinges), row_sums_.data(), column_sums_.data(), weights_.data()},
      list.sums.data());
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
  list.groups.assign(list.count, 1.0);
  if (block > 1) take_blocks(longest, range.size(), block, list);
  auto const sums = std::span(list.sums).first(list.count);
  auto const [least, most] = std::ranges::minmax(sums);
  list.least = least;
  list.most = most;
  return size;
}

void HingeCounter::take_blocks(std::size_t axis, std::int32_t entries, std::int32_t block,
                               SumList& list) {
  // Of values a step apart, a linear form less hinges is least at an end of a block.
  auto const in_block = static_cast<std::size_t>(domain_.step(axis) > 0.0 ? 2 : block);
  std::size_t count = 0;
  for (std::size_t at = 0; at < list.count; at += in_block, ++count) {
    auto const first = list.sums.begin() + static_cast<std::ptrdiff_t>(at);
    std::size_t const here = std::min(in_block, list.count - at);
    list.sums[count] = *std::min_element(first, first + static_cast<std::ptrdiff_t>(here));
  }
  list.count = count;
  list.groups.assign(count, block);
  // Only the last block may be shorter.
  list.groups[count - 1] = entries - block * (static_cast<std::int32_t>(count) - 1);
}

}  // namespace fairlane
