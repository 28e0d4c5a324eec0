#include "engine/recheck/checked_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fairlane {
namespace {

constexpr double kUnit = 0x1p-53;         // of double
constexpr double kFloatUnit = 0x1p-24;    // of float32
constexpr double kFloatTiny = 0x1p-148;   // more than its underflow
constexpr double kFloatLargest = 1.0e38;  // sums below cannot overflow on the way
constexpr double kSmall = 0x1p-500;       // more than doubles' own underflow
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double reach_of(double low, double high) { return std::max(std::abs(low), std::abs(high)); }

/// A float32 activation of two straight pieces, without its rounding.
double activated(double slope, double z) { return z < 0.0 ? slope * z : z; }

/// By how much float32 may round it.
double rounding_of(double slope, double low) {
  if (slope == 0.0 || slope == 1.0 || low >= 0.0) return 0.0;
  return 2.0 * kFloatUnit * slope * -low + kFloatTiny;
}

}  // namespace

bool CheckedNetwork::takes(DenseLayer const& layer) {
  return layer.activation == Activation::kRelu || layer.activation == Activation::kLinear ||
         (layer.activation == Activation::kLeakyRelu && layer.alpha >= 0.0F) ||
         is_smooth(layer.activation);
}

CheckedNetwork::CheckedNetwork(Network const& network) : network_(network) {
  for (DenseLayer const& from : network.layers) {
    Layer layer;
    layer.inputs = static_cast<std::size_t>(from.inputs);
    layer.outputs = static_cast<std::size_t>(from.outputs);
    layer.weights.resize(layer.inputs * layer.outputs);
    for (std::size_t o = 0; o < layer.outputs; ++o) {
      for (std::size_t k = 0; k < layer.inputs; ++k) {
        layer.weights[o * layer.inputs + k] =
            static_cast<double>(from.weights[k * layer.outputs + o]);
      }
      layer.bias.push_back(static_cast<double>(from.bias[o]));
      layer.bias_magnitudes.push_back(std::abs(layer.bias.back()));
    }
    for (double const w : layer.weights) layer.magnitudes.push_back(std::abs(w));
    layer.slope = from.activation == Activation::kLinear      ? 1.0
                  : from.activation == Activation::kLeakyRelu ? static_cast<double>(from.alpha)
                                                              : 0.0;
    if (is_smooth(from.activation)) {
      layer.activation = from.activation;
      layer.alpha = static_cast<double>(from.alpha);
    }
    kept_.emplace_back(layer.outputs);
    layers_.push_back(std::move(layer));
  }
  compare(0, network.outputs() > 1 ? 1 : 0);
}

void CheckedNetwork::compare(int first, int second) {
  if (network_.outputs() == 1) return;
  DenseLayer const& from = network_.layers.back();
  Layer& layer = layers_.back();
  layer.outputs = 1;
  auto const classes = static_cast<std::size_t>(from.outputs);
  auto const take = [&](float const* row, double& value, double& magnitude) {
    auto const more = static_cast<double>(row[second]);
    auto const less = static_cast<double>(row[first]);
    value = more - less;
    magnitude = std::abs(more) + std::abs(less);
  };
  layer.weights.resize(layer.inputs);
  layer.magnitudes.resize(layer.inputs);
  layer.bias.resize(1);
  layer.bias_magnitudes.resize(1);
  for (std::size_t k = 0; k < layer.inputs; ++k)
    take(&from.weights[k * classes], layer.weights[k], layer.magnitudes[k]);
  take(from.bias.data(), layer.bias[0], layer.bias_magnitudes[0]);
}

CheckedBox CheckedNetwork::box_of(CheckedRange inputs) const {
  CheckedBox box;
  box.inputs = std::move(inputs);
  for (Layer const& layer : layers_) {
    box.sums.push_back({std::vector<double>(layer.outputs, -kInfinity),
                        std::vector<double>(layer.outputs, kInfinity)});
    box.errors.emplace_back(layer.outputs, 0.0);
  }
  return box;
}

CheckedRange CheckedNetwork::entering(CheckedBox const& box, std::size_t layer) const {
  if (layer == 0) return box.inputs;
  double const slope = layers_[layer - 1].slope;
  CheckedRange range = box.sums[layer - 1];
  if (Layer const& before = layers_[layer - 1]; is_smooth(before.activation)) {
    for (std::size_t k = 0; k < range.low.size(); ++k) {
      SmoothEnclosure const& ends = smooth(layer - 1, k, range.low[k], range.high[k]);
      range.low[k] = ends.least;
      range.high[k] = ends.most;
    }
    return range;
  }
  for (std::size_t k = 0; k < range.low.size(); ++k) {
    double const pad = rounding_of(slope, range.low[k]);
    range.low[k] = activated(slope, range.low[k]) - pad;
    range.high[k] = activated(slope, range.high[k]) + pad;
  }
  return range;
}

SmoothEnclosure const& CheckedNetwork::smooth(std::size_t layer, std::size_t unit, double low,
                                              double high) const {
  KeptEnclosure& kept = kept_[layer][unit];
  if (kept.low != low || kept.high != high) {
    kept = {low, high,
            smooth_enclosure(layers_[layer].activation, layers_[layer].alpha, low, high)};
  }
  return kept.lines;
}

CheckedNetwork::Enclosure CheckedNetwork::enclose(std::size_t l, std::size_t unit, double low,
                                                  double high) const {
  Layer const& layer = layers_[l];
  if (is_smooth(layer.activation)) {
    SmoothEnclosure const& lines = smooth(l, unit, low, high);
    return {lines.slope, lines.below, lines.slope, lines.above};
  }
  double const slope = layer.slope;
  double const pad = rounding_of(slope, low);
  if (low >= 0.0) return {1.0, 0.0, 1.0, 0.0};
  if (high <= 0.0) return {slope, -pad, slope, pad};
  double const at_low = slope * low;
  double const reach = std::max({-low, high, -at_low});
  // The chord, moved until both ends are on its one side.
  double const chord = (high - at_low) / (high - low);
  double const left = at_low - chord * low;
  double const right = high - chord * high;
  double const slack = 8.0 * kUnit * (1.0 + std::abs(chord)) * reach + kSmall + pad;
  double const near = high > -low ? 1.0 : slope;
  if (slope <= 1.0) return {near, -pad, chord, std::max(left, right) + slack};
  return {chord, std::min(left, right) - slack, near, pad};
}

CheckedLine CheckedNetwork::above(CheckedBox const& box, std::size_t l,
                                  std::vector<double> combination) const {
  CheckedLine line;
  double size = 0.0;  // of what the constant is added up from
  double terms = 0.0;
  double pad = 0.0;
  auto const add = [&](double x) {
    line.constant += x;
    size += std::abs(x);
    terms += 1.0;
  };
  while (true) {
    Layer const& layer = layers_[l];
    std::vector<double> slopes(layer.inputs, 0.0);
    std::vector<double> sizes(layer.inputs, 0.0);
    for (std::size_t o = 0; o < layer.outputs; ++o) {
      double const c = combination[o];
      if (c == 0.0) continue;
      double const* const w = &layer.weights[o * layer.inputs];
      double const* const m = &layer.magnitudes[o * layer.inputs];
      double const magnitude = std::abs(c);
      for (std::size_t k = 0; k < layer.inputs; ++k) {
        slopes[k] += c * w[k];
        sizes[k] += magnitude * m[k];
      }
      add(c * layer.bias[o]);
      add(magnitude * box.errors[l][o]);
      pad += 4.0 * kUnit * magnitude * layer.bias_magnitudes[o];
    }
    CheckedRange const range = entering(box, l);
    double const roundings = (2.0 * static_cast<double>(layer.outputs) + 4.0) * kUnit;
    for (std::size_t k = 0; k < layer.inputs; ++k)
      pad += roundings * sizes[k] * reach_of(range.low[k], range.high[k]);
    if (l == 0) {
      line.slopes = std::move(slopes);
      line.constant += 2.0 * (pad + (terms + 8.0) * kUnit * size) + kSmall;
      return line;
    }
    --l;
    combination.resize(layers_[l].outputs);
    for (std::size_t k = 0; k < combination.size(); ++k) {
      double const low = box.sums[l].low[k];
      double const high = box.sums[l].high[k];
      Enclosure const lines = enclose(l, k, low, high);
      double const slope = slopes[k] > 0.0 ? lines.above_slope : lines.below_slope;
      combination[k] = slopes[k] * slope;
      if (slopes[k] != 0.0)
        add(slopes[k] * (slopes[k] > 0.0 ? lines.above_offset : lines.below_offset));
      pad += 2.0 * kUnit * std::abs(combination[k]) * reach_of(low, high);
    }
  }
}

void CheckedNetwork::bound(CheckedBox& box) const {
  for (std::size_t l = 0; l < layers_.size() && box.possible && box.finite; ++l) {
    Layer const& layer = layers_[l];
    CheckedRange const range = entering(box, l);
    auto const n = static_cast<double>(layer.inputs);
    CheckedRange& sums = box.sums[l];
    for (std::size_t o = 0; o < layer.outputs; ++o) {
      double const* const w = &layer.weights[o * layer.inputs];
      double const* const m = &layer.magnitudes[o * layer.inputs];
      double low = layer.bias[o];
      double high = layer.bias[o];
      double size = layer.bias_magnitudes[o];
      for (std::size_t k = 0; k < layer.inputs; ++k) {
        low += w[k] * (w[k] > 0.0 ? range.low[k] : range.high[k]);
        high += w[k] * (w[k] > 0.0 ? range.high[k] : range.low[k]);
        size += m[k] * reach_of(range.low[k], range.high[k]);
      }
      if (!(size < kFloatLargest)) {
        box.finite = false;
        return;
      }
      box.errors[l][o] = n * kFloatUnit * (1.0 + 0x1p-4) * size + n * kFloatTiny;
      double const pad = box.errors[l][o] + (n + 4.0) * 2.0 * kUnit * size;
      sums.low[o] = std::max(sums.low[o], low - pad);
      sums.high[o] = std::min(sums.high[o], high + pad);
    }
    if (l > 0) {
      for (std::size_t o = 0; o < layer.outputs; ++o) {
        bool const open = is_smooth(layer.activation) ||
                          (sums.low[o] < 0.0 && sums.high[o] > 0.0 && layer.slope != 1.0);
        if (!open && l + 1 < layers_.size()) continue;
        std::vector<double> one(layer.outputs, 0.0);
        one[o] = 1.0;
        sums.high[o] = std::min(sums.high[o], most_of(above(box, l, one), box.inputs));
        one[o] = -1.0;
        sums.low[o] = std::max(sums.low[o], -most_of(above(box, l, one), box.inputs));
      }
    }
    for (std::size_t o = 0; o < layer.outputs; ++o)
      box.possible = box.possible && sums.low[o] <= sums.high[o];
  }
}

CheckedLine CheckedNetwork::line(CheckedBox const& box, bool from_above) const {
  CheckedLine line = above(box, layers_.size() - 1, {from_above ? 1.0 : -1.0});
  if (from_above) return line;
  for (double& slope : line.slopes) slope = -slope;
  line.constant = -line.constant;
  return line;
}

void CheckedNetwork::narrow(CheckedBox& box) const {
  for (std::size_t l = layers_.size(); l-- > 0 && box.possible;) {
    Layer const& layer = layers_[l];
    CheckedRange range = entering(box, l);
    for (std::size_t o = 0; o < layer.outputs; ++o) {
      double const* const w = &layer.weights[o * layer.inputs];
      double low = layer.bias[o];
      double high = layer.bias[o];
      double size = layer.bias_magnitudes[o];
      for (std::size_t k = 0; k < layer.inputs; ++k) {
        low += w[k] * (w[k] > 0.0 ? range.low[k] : range.high[k]);
        high += w[k] * (w[k] > 0.0 ? range.high[k] : range.low[k]);
        size += layer.magnitudes[o * layer.inputs + k] * reach_of(range.low[k], range.high[k]);
      }
      // What a sum may miss of its ends, with all errors; no input may cost more than that.
      double const pad =
          box.errors[l][o] + (static_cast<double>(layer.inputs) + 8.0) * 4.0 * kUnit * size;
      double const room_below = high - box.sums[l].low[o] + pad;
      double const room_above = box.sums[l].high[o] - low + pad;
      if (room_below < 0.0 || room_above < 0.0) {
        box.possible = false;
        return;
      }
      for (std::size_t k = 0; k < layer.inputs; ++k) {
        if (w[k] == 0.0) continue;
        double const whole = range.high[k] - range.low[k];
        double const up = (w[k] > 0.0 ? room_above : room_below) / std::abs(w[k]);
        double const down = (w[k] > 0.0 ? room_below : room_above) / std::abs(w[k]);
        double const slack =
            16.0 * kUnit * (reach_of(range.low[k], range.high[k]) + whole) + kSmall;
        double const first = range.high[k] - down * (1.0 + 8.0 * kUnit) - slack;
        double const last = range.low[k] + up * (1.0 + 8.0 * kUnit) + slack;
        range.low[k] = std::max(range.low[k], first);
        range.high[k] = std::min(range.high[k], last);
        if (range.low[k] > range.high[k]) {
          box.possible = false;
          return;
        }
      }
    }
    if (l == 0) {
      box.inputs = std::move(range);
      return;
    }
    // Sums of the layer before, from what its activations may be.
    if (is_smooth(layers_[l - 1].activation)) continue;  // its sums stay as they are
    double const slope = layers_[l - 1].slope;
    CheckedRange& before = box.sums[l - 1];
    for (std::size_t k = 0; k < layer.inputs; ++k) {
      double const pad =
          rounding_of(slope, before.low[k]) + 4.0 * kUnit * reach_of(range.low[k], range.high[k]);
      double const first = range.low[k] - pad;
      double const last = range.high[k] + pad;
      if (first > 0.0) before.low[k] = std::max(before.low[k], first);
      before.high[k] = std::min(before.high[k], std::max(last, 0.0));
      if (slope > 0.0 && first < 0.0)
        before.low[k] = std::max(before.low[k], first / slope * (1.0 + 8.0 * kUnit));
      if (slope > 0.0 && last < 0.0)
        before.high[k] = std::min(before.high[k], last / slope * (1.0 - 8.0 * kUnit));
      if (slope == 0.0 && last < 0.0) box.possible = false;
      box.possible = box.possible && before.low[k] <= before.high[k];
    }
  }
}

CheckedNetwork::Unit CheckedNetwork::widest_unit(CheckedBox const& box) const {
  Unit widest;
  for (std::size_t l = 0; l + 1 < layers_.size(); ++l) {
    if (layers_[l].slope == 1.0 || is_smooth(layers_[l].activation)) continue;
    for (std::size_t u = 0; u < layers_[l].outputs; ++u) {
      double const low = box.sums[l].low[u];
      double const high = box.sums[l].high[u];
      if (!(low < 0.0 && high > 0.0)) continue;
      double behind = 0.0;
      for (std::size_t o = 0; o < layers_[l + 1].outputs; ++o)
        behind += layers_[l + 1].magnitudes[o * layers_[l + 1].inputs + u];
      double const cost = behind * -low * high / (high - low);
      if (cost > widest.cost) widest = {static_cast<int>(l), u, cost};
    }
  }
  return widest;
}

double most_of(CheckedLine const& line, CheckedRange const& inputs) {
  double most = line.constant;
  double size = std::abs(line.constant);
  for (std::size_t k = 0; k < line.slopes.size(); ++k) {
    double const slope = line.slopes[k];
    most += slope * (slope > 0.0 ? inputs.high[k] : inputs.low[k]);
    size += std::abs(slope) * reach_of(inputs.low[k], inputs.high[k]);
  }
  return most + (static_cast<double>(line.slopes.size()) + 4.0) * 2.0 * kUnit * size + kSmall;
}

}  // namespace fairlane
