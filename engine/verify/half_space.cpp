#include "engine/verify/half_space.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace fairlane {
namespace {

constexpr int kBins = 512;
constexpr double kSlack = 0x1p-40;  // more than sums of contributions are rounded by

/// What the entries of one axis contribute, from the least on: [entries]
std::vector<double> contributions(BoxDomain const& domain, std::size_t axis, AxisRange range,
                                  LinearForm const& form, double sign, double& least,
                                  double& size) {
  std::vector<double> rises;
  auto const& inputs = domain.axis_inputs(axis);
  double most = 0.0;
  for (std::int32_t e = range.first; e <= range.last; ++e) {
    auto const values = domain.values(axis, e);
    double sum = 0.0;
    for (std::size_t k = 0; k < values.size(); ++k) {
      double const term = form.coefficients[static_cast<std::size_t>(inputs[k])] * values[k];
      sum += sign * term;
      most = std::max(most, std::abs(term) * static_cast<double>(values.size()));
    }
    rises.push_back(sum);
  }
  size += most;
  double const from = *std::min_element(rises.begin(), rises.end());
  for (double& rise : rises) rise -= from;
  least += from;
  return rises;
}

/// Groups whose sign * form lies above a limit.
double count(BoxDomain const& domain, std::span<AxisRange const> box, LinearForm const& form,
             double sign, double limit) {
  double least = sign * form.constant;
  double size = std::abs(form.constant) + std::abs(limit);
  std::vector<std::vector<double>> axes;
  for (std::size_t a = 0; a < box.size(); ++a)
    axes.push_back(contributions(domain, a, box[a], form, sign, least, size));
  double const need = limit - least + kSlack * size;  // of the contributions together
  if (axes.empty()) return need < 0.0 ? 1.0 : 0.0;
  std::ranges::sort(axes, {}, &std::vector<double>::size);
  std::vector<double> last = std::move(axes.back());
  axes.pop_back();
  std::ranges::sort(last);
  double range = 0.0;
  for (auto const& axis : axes) range += *std::max_element(axis.begin(), axis.end());
  double const bin = range / kBins;
  std::vector<double> groups(kBins + 1, 0.0);  // by the bin of the sum so far
  std::vector<double> next(kBins + 1);
  groups[0] = 1.0;
  std::size_t used = 1;
  for (auto const& axis : axes) {
    std::ranges::fill(next, 0.0);
    std::size_t reach = 0;
    for (double const rise : axis) {
      auto const by = bin > 0.0 ? static_cast<std::size_t>(rise / bin * (1.0 - kSlack)) : 0;
      for (std::size_t i = 0; i < used; ++i) next[i + by] += groups[i];
      reach = std::max(reach, by);
    }
    used += reach;
    groups.swap(next);
  }
  double total = 0.0;
  for (std::size_t i = 0; i < used; ++i) {
    if (groups[i] == 0.0) continue;
    auto const above =
        std::upper_bound(last.begin(), last.end(), need - static_cast<double>(i) * bin);
    total += groups[i] * static_cast<double>(last.end() - above);
  }
  return total;
}

}  // namespace

double count_above(BoxDomain const& domain, std::span<AxisRange const> box, LinearForm const& form,
                   double threshold) {
  return count(domain, box, form, 1.0, threshold);
}

double count_not_above(BoxDomain const& domain, std::span<AxisRange const> box,
                       LinearForm const& form, double threshold) {
  return count(domain, box, form, -1.0, -threshold);
}

}  // namespace fairlane
