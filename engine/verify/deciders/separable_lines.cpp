#include "engine/verify/deciders/separable_lines.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "kernels/boxes/box_rows.h"

namespace fairlane {

namespace {

double middle(BoxMemory const& memory, int lane, int input) {
  BoxLanes const& b = memory.get();
  return (memory.at(b.low, input, lane) + memory.at(b.high, input, lane)) / 2.0;
}

}  // namespace

SeparableLines SeparableFinder::find(LaneBounds& bounds, int lane, std::span<AxisRange const> box,
                                     OutputLines const& lines) {
  BoxNetwork const& network = bounds.network();
  if (network.layers < 2 || !network.layer[0].straight) return {};
  // What rises less below 0 than above it is a line and a positive part.
  double const bend = 1.0 - network.layer[0].slope;
  if (!(bend > 0.0 && bend <= 1.0) || !pays(bounds, lane, lines, bend)) return {};
  BoxMemory& memory = bounds.memory();
  BoxLanes const& b = memory.get();
  Draft below = draft(bounds, lane, 1.0, b.below, b.below_constant);
  Draft above = draft(bounds, lane, -1.0, b.above, b.above_constant);
  SeparableLines found;
  for (int u = 0; u < network.hidden; ++u) {
    double const in_below = -bend * memory.at(b.below_units, u, lane);
    double const in_above = bend * memory.at(b.above_units, u, lane);
    unit_.low = memory.at(b.sum_low, u, lane);
    unit_.high = memory.at(b.sum_high, u, lane);
    if (!(in_below > 0.0 || in_above > 0.0) || !(unit_.low < 0.0 && unit_.high > 0.0)) continue;
    if (found.parts.empty()) found.parts = part(bounds, lane, box, lines);
    look_at(bounds, lane, u);
    look_at_parts(box, found.parts);
    if (in_below > 0.0) replace_chord(in_below, below);
    if (in_above > 0.0) replace_chord(in_above, above);
  }
  if (below.form.hinges.empty() && above.form.hinges.empty()) return {};
  auto const mean = [&](std::vector<double> const& coefficients, double constant) {
    double sum = constant;
    for (std::size_t k = 0; k < coefficients.size(); ++k)
      sum += coefficients[k] * middle(memory, lane, static_cast<int>(k));
    return sum;
  };
  auto const end = [&](Draft& side) {
    finish(bounds, lane, side);
    return mean(side.form.coefficients, side.form.constant) - side.lost;
  };
  found.gain = end(below) - mean(lines.below, lines.below_constant) + end(above) +
               mean(lines.above, lines.above_constant);
  found.below = std::move(below.form);
  found.above = std::move(above.form);
  return found;
}

bool SeparableFinder::pays(LaneBounds& bounds, int lane, OutputLines const& lines,
                           double bend) const {
  constexpr double kPays = 0.5;  // of the lines' distance at the middle
  BoxMemory& memory = bounds.memory();
  BoxLanes const& b = memory.get();
  double width = lines.above_constant - lines.below_constant;
  for (std::size_t k = 0; k < lines.below.size(); ++k) {
    width += (lines.above[k] - lines.below[k]) * middle(memory, lane, static_cast<int>(k));
  }
  double chords = 0.0;
  for (int u = 0; u < bounds.network().layer[0].outputs; ++u) {
    double const low = memory.at(b.sum_low, u, lane);
    double const high = memory.at(b.sum_high, u, lane);
    double const below = memory.at(b.below_units, u, lane);
    double const above = memory.at(b.above_units, u, lane);
    if (low < 0.0 && high > 0.0)
      chords += (std::max(-below, 0.0) + std::max(above, 0.0)) * -low * high / (high - low);
  }
  return bend * chords > kPays * width;
}

SeparableFinder::Draft SeparableFinder::draft(LaneBounds& bounds, int lane, double sign,
                                              double* coefficients, double* constant) const {
  BoxMemory& memory = bounds.memory();
  Draft side;
  side.form.coefficients.resize(static_cast<std::size_t>(bounds.network().inputs));
  for (std::size_t k = 0; k < side.form.coefficients.size(); ++k)
    side.form.coefficients[k] = sign * memory.at(coefficients, static_cast<int>(k), lane);
  side.form.constant = sign * memory.at(constant, 0, lane);
  side.size = std::abs(side.form.constant);
  return side;
}

AxisParts SeparableFinder::part(LaneBounds& bounds, int lane, std::span<AxisRange const> box,
                                OutputLines const& lines) {
  BoxMemory& memory = bounds.memory();
  BoxLanes const& b = memory.get();
  looseness_.assign(box.size(), 0.0);
  for (std::size_t a = 0; a < box.size(); ++a) {
    for (int const k : domain_.axis_inputs(a)) {
      looseness_[a] += lines.gaps[static_cast<std::size_t>(k)] *
                       (memory.at(b.high, k, lane) - memory.at(b.low, k, lane));
    }
  }
  order_.resize(box.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::ranges::stable_sort(order_, std::greater(), [&](std::size_t a) { return looseness_[a]; });
  AxisParts parts;
  std::vector<double> entries;
  for (std::size_t const a : order_) {
    double const own = box[a].size();
    std::size_t p = 0;
    while (p < parts.size() && entries[p] * own > HingeCounter::kMostEntries) ++p;
    if (p == parts.size()) {
      parts.emplace_back();
      entries.push_back(1.0);
    }
    parts[p].push_back(a);
    entries[p] *= own;
  }
  return parts;
}

void SeparableFinder::look_at(LaneBounds& bounds, int lane, int unit) {
  BoxMemory& memory = bounds.memory();
  BoxLanes const& b = memory.get();
  BoxLayer const& layer = bounds.network().layer[0];
  unit_.slopes = layer.transposed + static_cast<long>(unit) * layer.inputs;
  unit_.bias = layer.bias[unit];
  unit_.size = layer.bias_magnitudes[unit];
  for (int k = 0; k < layer.inputs; ++k) {
    double const reach =
        std::max(std::abs(memory.at(b.low, k, lane)), std::abs(memory.at(b.high, k, lane)));
    unit_.size += layer.magnitudes[static_cast<long>(k) * layer.outputs + unit] * reach;
  }
  unit_.error =
      (layer.inputs * BoxError::kRounding * unit_.size + layer.inputs * BoxError::kSubnormal) *
      (1.0 + BoxError::kSlack);
  unit_.centre = unit_.bias;
  for (int const k : domain_.variant_inputs()) {
    double const w = unit_.slopes[k];
    unit_.centre += w * memory.at(w < 0.0 ? b.low : b.high, k, lane);
  }
}

void SeparableFinder::look_at_parts(std::span<AxisRange const> box, AxisParts const& parts) {
  constexpr double kEven = 1.0 / 3.0;  // variance of what is spread evenly, of its reach squared
  unit_.deviation = 0.0;
  unit_.middles.assign(parts.size(), 0.0);
  unit_.deviations.assign(parts.size(), 0.0);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    double variance = 0.0;
    for (std::size_t const a : parts[p]) {
      auto const added = [&](std::int32_t entry) { return domain_.added(a, entry, unit_.slopes); };
      double least = added(box[a].first);
      double most = least;
      std::int32_t const by = domain_.ordered(a) ? std::max(box[a].size() - 1, 1) : 1;
      for (std::int32_t e = box[a].first + by; e <= box[a].last; e += by) {
        double const sum = added(e);
        least = std::min(least, sum);
        most = std::max(most, sum);
      }
      unit_.middles[p] += (least + most) / 2.0;
      variance += (most - least) * (most - least) / 4.0 * kEven;
    }
    unit_.deviations[p] = std::sqrt(variance);
    unit_.centre += unit_.middles[p];
    unit_.deviation += unit_.deviations[p];
  }
}

void SeparableFinder::replace_chord(double weight, Draft& side) const {
  if (!(unit_.deviation > 0.0)) return;
  double const chord = unit_.high / (unit_.high - unit_.low);
  // The mean positive part of what is spread normally, nearly: at its mean 0.4 of the deviation.
  double const far = unit_.centre / unit_.deviation;
  double const positive = unit_.deviation * (far + std::sqrt(far * far + 0.64)) / 2.0;
  if (!(positive < chord * (unit_.centre - unit_.low))) return;
  HingeForm& form = side.form;
  for (std::size_t k = 0; k < form.coefficients.size(); ++k)
    form.coefficients[k] += weight * chord * unit_.slopes[k];
  form.constant += weight * (chord * (unit_.bias - unit_.low) - unit_.error);
  side.size += weight * (unit_.size + std::abs(unit_.low));
  side.lost += weight * positive;
  form.hinges.push_back({weight, unit_.slopes});
  for (std::size_t p = 0; p < unit_.middles.size(); ++p) {
    double const share = unit_.deviations[p] / unit_.deviation;
    form.shifts.push_back(share * unit_.centre - unit_.middles[p]);
  }
}

void SeparableFinder::finish(LaneBounds& bounds, int lane, Draft& side) const {
  BoxMemory& memory = bounds.memory();
  BoxLanes const& b = memory.get();
  HingeForm& form = side.form;
  double size = side.size;
  for (std::size_t k = 0; k < form.coefficients.size(); ++k) {
    int const input = static_cast<int>(k);
    size += std::abs(form.coefficients[k]) * std::max(std::abs(memory.at(b.low, input, lane)),
                                                      std::abs(memory.at(b.high, input, lane)));
  }
  for (int const input : domain_.variant_inputs()) {
    double& c = form.coefficients[static_cast<std::size_t>(input)];
    form.constant += c * memory.at(c < 0.0 ? b.high : b.low, input, lane);
    c = 0.0;
  }
  form.constant -= BoxError::kSlack * size;
}

}  // namespace fairlane
