#include "engine/verify/counting/half_space.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/verify/counting/count_rounding.h"

namespace fairlane {
namespace {

constexpr std::size_t kBins = 192;
constexpr std::size_t kMostBins = kBins + 2;  // roundings may lead to one more, and none is short
constexpr double kMostListed = 128.0;         // sums that are exact, of the shortest axes
constexpr std::size_t kAtOnce = 8;            // bins, so that the compiler uses wide registers

/// How many of 0, unit, ..., (entries - 1) * unit are above x: at least so many.
inline double multiples_above(double x, double unit, double entries) {
  double const last_below = std::min(std::max(x / unit * (1.0 + kCountSlack), -1.0), entries - 1.0);
  return entries - static_cast<double>(static_cast<std::int32_t>(last_below + 1.0));
}

}  // namespace

HalfSpaceCounter::HalfSpaceCounter(BoxDomain const& domain)
    : domain_(domain),
      kernels_(box_kernels()),
      groups_(kMostBins + std::max(static_cast<std::size_t>(kernels_.lanes), kAtOnce)),
      next_(groups_.size()) {}

double HalfSpaceCounter::Part::more_than(double x) const {
  if (rises.empty()) return multiples_above(x, unit, entries);
  return static_cast<double>(rises.end() - std::upper_bound(rises.begin(), rises.end(), x));
}

std::size_t HalfSpaceCounter::list_sums() {
  sums_.assign(1, 0.0);
  std::size_t p = 0;
  for (; p + 1 < parts_.size(); ++p) {
    Part const& part = parts_[p];
    std::size_t const before = sums_.size();
    if (static_cast<double>(before) * part.entries > kMostListed) break;
    for (std::int32_t j = 1; j < part.entries; ++j) {  // the first adds 0
      double const rise = part.rise(j);
      for (std::size_t i = 0; i < before; ++i) sums_.push_back(sums_[i] + rise);
    }
  }
  return p;
}

double HalfSpaceCounter::count_short(double need, double bin, std::size_t used) const {
  Part const& last = parts_.back();
  double total = 0.0;
  double const entries = last.entries;
  if (!last.rises.empty()) {
    for (std::size_t i = 0; i < used; ++i)
      if (groups_[i] != 0.0)
        total += groups_[i] * (entries - last.more_than(need - static_cast<double>(i) * bin));
    return total;
  }
  std::array<double, kAtOnce> sums{};
  for (std::size_t i = 0; i < used; i += kAtOnce) {
    for (std::size_t k = 0; k < kAtOnce; ++k) {
      auto const at = static_cast<double>(static_cast<std::int32_t>(i + k));
      sums[k] += groups_[i + k] * (entries - multiples_above(need - at * bin, last.unit, entries));
    }
  }
  for (double const sum : sums) total += sum;
  return total;
}

HalfSpaceCounter::Part HalfSpaceCounter::part_of(std::size_t axis, AxisRange range,
                                                 LinearForm const& form, double sign, double& least,
                                                 double& size) const {
  Part part;
  part.entries = range.size();
  auto const& inputs = domain_.axis_inputs(axis);
  if (double const step = domain_.step(axis); step > 0.0) {
    double const coefficient = sign * form.coefficients[static_cast<std::size_t>(inputs[0])];
    double const first = coefficient * domain_.values(axis, range.first)[0];
    double const last = coefficient * domain_.values(axis, range.last)[0];
    least += std::min(first, last);
    size += std::max(std::abs(first), std::abs(last));
    part.unit = std::abs(coefficient) * step;
    part.span = part.unit * (part.entries - 1);
    return part;
  }
  double most = 0.0;
  for (std::int32_t e = range.first; e <= range.last; ++e) {
    auto const values = domain_.values(axis, e);
    double sum = 0.0;
    double magnitude = 0.0;
    for (std::size_t k = 0; k < values.size(); ++k) {
      double const term = sign * form.coefficients[static_cast<std::size_t>(inputs[k])] * values[k];
      sum += term;
      magnitude += std::abs(term);
    }
    part.rises.push_back(sum);
    most = std::max(most, magnitude);
  }
  std::ranges::sort(part.rises);
  double const from = part.rises.front();
  for (double& rise : part.rises) rise -= from;
  least += from;
  size += most;
  part.span = part.rises.back();
  return part;
}

double HalfSpaceCounter::count(std::span<AxisRange const> box, LinearForm const& form, double sign,
                               double limit) {
  double least = sign * form.constant;
  double size = std::abs(form.constant) + std::abs(limit);
  double factor = 1.0;  // groups for each sum: of the axes that add nothing
  double span = 0.0;
  parts_.clear();
  for (std::size_t a = 0; a < box.size(); ++a) {
    Part part = part_of(a, box[a], form, sign, least, size);
    if (part.span > 0.0) {
      span += part.span;
      parts_.push_back(std::move(part));
    } else {
      factor *= part.entries;
    }
  }
  double const need = limit - least + kCountSlack * size;
  if (need < 0.0) return domain_.groups(box);
  if (!(need <= span)) return 0.0;
  return factor * count_parts(need, span);
}

double HalfSpaceCounter::count_parts(double need, double span) {
  std::ranges::sort(parts_, {}, &Part::entries);
  Part const& last = parts_.back();
  double all = 1.0;
  for (Part const& part : parts_) all *= part.entries;
  double const bin = std::min(span - last.span, need) / static_cast<double>(kBins);
  if (!(bin > 0.0)) {
    // All the span is the last part's, but for roundings.
    return all / last.entries * last.more_than(need);
  }
  // Sums beyond the last bin suffice whatever is still added: only those that do not are kept.
  std::size_t const bins = need / bin < static_cast<double>(kBins)
                               ? static_cast<std::size_t>(need / bin) + 2
                               : kMostBins;
  double const per_rise = (1.0 - kCountSlack) / bin;
  std::size_t const listed = list_sums();
  std::ranges::fill(groups_, 0.0);
  std::size_t used = 0;
  for (double const sum : sums_) {
    auto const at = static_cast<std::size_t>(static_cast<std::int64_t>(sum * per_rise));
    if (at >= bins) continue;
    groups_[at] += 1.0;
    used = std::max(used, at + 1);
  }
  for (std::size_t p = listed; p + 1 < parts_.size(); ++p) {
    Part const& part = parts_[p];
    std::ranges::fill(next_, 0.0);
    auto const shift_of = [&](std::int32_t j) {
      return static_cast<std::size_t>(static_cast<std::int64_t>(part.rise(j) * per_rise));
    };
    std::size_t reach = 0;
    for (std::int32_t j = 0; j < part.entries;) {
      std::size_t const shift = shift_of(j);
      if (shift >= bins) break;
      std::int32_t const first = j++;
      while (j < part.entries && shift_of(j) == shift) ++j;
      std::size_t const kept = std::min(used, bins - shift);
      kernels_.add(groups_.data(), j - first, next_.data() + shift, static_cast<int>(kept));
      reach = std::max(reach, shift + kept);
    }
    used = reach;
    // What whole registers have added beyond the last bin suffices.
    std::fill(next_.begin() + static_cast<std::ptrdiff_t>(bins), next_.end(), 0.0);
    groups_.swap(next_);
  }
  return at_least_without(all, count_short(need, bin, used));
}

}  // namespace fairlane
