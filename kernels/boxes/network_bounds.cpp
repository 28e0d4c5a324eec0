#include "kernels/boxes/network_bounds.h"

#include <algorithm>
#include <cmath>

#include "kernels/boxes/row_product.h"
#include "kernels/core/philox.h"

namespace fairlane {
namespace {

constexpr double kLargest = 1.0e38;  // a third of float32's largest number
constexpr double kRounding = 0x1p-24 * 1.02;
constexpr double kSubnormalRounding = 0x1p-149;
// Of constants summed up in double, for each of the terms and relative to the sum of their
// magnitudes.
constexpr double kConstantRounding = 0x1p-52;
// More than products below double's smallest normal number can lose.
constexpr double kUnderflow = 1.0e-250;
constexpr int kCorners = 6;  // looked at before a proof is tried

}  // namespace

void EnclosingMacs::add(int inputs, int outputs) {
  double const macs = static_cast<double>(inputs) * outputs;
  macs_ += 2.0 * macs;                                             // intervals
  if (before_ > 0.0) macs_ += 2.0 * outputs * (before_ + inputs);  // combinations
  before_ += macs;
}

BoundedNetwork::BoundedNetwork(NetworkView network) {
  for (LayerView const& view : network) {
    Layer layer;
    layer.inputs = view.inputs;
    layer.outputs = view.outputs;
    layer.activation = view.activation;
    layer.alpha = view.alpha;
    layer.bias.assign(view.bias.begin(), view.bias.end());
    layer.weights.assign(view.weights.begin(), view.weights.end());
    for (double const w : layer.weights) layer.magnitudes.push_back(std::abs(w));
    auto const outputs = static_cast<std::size_t>(view.outputs);
    for (std::size_t o = 0; o < outputs; ++o) {
      for (std::size_t k = 0; k < static_cast<std::size_t>(view.inputs); ++k)
        layer.transposed.push_back(layer.weights[k * outputs + o]);
    }
    macs_.add(view.inputs, view.outputs);
    layers_.push_back(std::move(layer));
  }
}

BoxBounds::BoxBounds(BoundedNetwork const& network)
    : network_(network), state_(network.layers().size()) {
  std::size_t l = 0;
  for (auto const& layer : network.layers()) {
    auto const outputs = static_cast<std::size_t>(layer.outputs);
    state_[l].sums.resize(outputs);
    state_[l].errors.resize(outputs);
    state_[l].activations.resize(outputs);
    ++l;
  }
}

bool BoxBounds::enclose(std::span<Interval const> box) {
  box_.assign(box.begin(), box.end());
  std::size_t const layers = state_.size();
  for (std::size_t l = 0; l < layers; ++l) {
    if (!enclose_sums(l)) return false;
    if (l + 1 == layers) break;
    if (l > 0) tighten(l);
    activate(l);
  }
  return true;
}

bool BoxBounds::enclose_sums(std::size_t l) {
  auto const& layer = network_.layers()[l];
  auto& state = state_[l];
  if (layer.inputs > kMostInputs) return false;
  auto const inputs = static_cast<std::size_t>(layer.inputs);
  auto const outputs = static_cast<std::size_t>(layer.outputs);
  centre_.resize(inputs);
  radius_.resize(inputs);
  reach_.resize(inputs);
  for (std::size_t k = 0; k < inputs; ++k) {
    Interval const x = l == 0 ? box_[k] : state_[l - 1].activations[k].range;
    centre_[k] = x.low + (x.high - x.low) / 2.0;
    radius_[k] = std::max(x.high - centre_[k], centre_[k] - x.low);
    reach_[k] = std::max(std::abs(x.low), std::abs(x.high));
    if (!(reach_[k] <= kLargest)) return false;
  }
  sums_ = layer.bias;
  spreads_.assign(outputs, 0.0);
  sizes_.resize(outputs);
  for (std::size_t o = 0; o < outputs; ++o) sizes_[o] = std::abs(layer.bias[o]);
  add_row_product(centre_.data(), layer.inputs, layer.weights.data(), layer.outputs, sums_.data());
  add_row_product(radius_.data(), layer.inputs, layer.magnitudes.data(), layer.outputs,
                  spreads_.data());
  add_row_product(reach_.data(), layer.inputs, layer.magnitudes.data(), layer.outputs,
                  sizes_.data());
  for (std::size_t o = 0; o < outputs; ++o) {
    if (!(sizes_[o] <= kLargest)) return false;
    double const error = layer.inputs * (kRounding * sizes_[o] + kSubnormalRounding);
    state.errors[o] = error;
    state.sums[o] = {sums_[o] - spreads_[o] - error, sums_[o] + spreads_[o] + error};
  }
  return true;
}

void BoxBounds::tighten(std::size_t l) {
  auto const& layer = network_.layers()[l];
  auto& sums = state_[l].sums;
  bool const two_lines =
      layer.activation == Activation::kRelu || layer.activation == Activation::kLeakyRelu;
  open_.clear();
  for (int o = 0; o < layer.outputs; ++o) {
    Interval const z = sums[static_cast<std::size_t>(o)];
    if (!two_lines || (z.low < 0.0 && z.high > 0.0)) open_.push_back(o);
  }
  if (open_.empty()) return;
  auto const outputs = static_cast<std::size_t>(layer.outputs);
  combinations_.assign(2 * open_.size() * outputs, 0.0);
  for (std::size_t i = 0; i < open_.size(); ++i) {
    auto const o = static_cast<std::size_t>(open_[i]);
    combinations_[2 * i * outputs + o] = 1.0;
    combinations_[(2 * i + 1) * outputs + o] = -1.0;
  }
  int const rows = static_cast<int>(2 * open_.size());
  least_.resize(static_cast<std::size_t>(rows));
  bound_below(l, rows, least_.data());
  for (std::size_t i = 0; i < open_.size(); ++i) {
    auto& z = sums[static_cast<std::size_t>(open_[i])];
    z.low = std::max(z.low, least_[2 * i]);
    z.high = std::min(z.high, -least_[2 * i + 1]);
  }
}

void BoxBounds::activate(std::size_t l) {
  auto const& layer = network_.layers()[l];
  auto& state = state_[l];
  for (std::size_t o = 0; o < state.sums.size(); ++o)
    state.activations[o] = relax(layer.activation, layer.alpha, state.sums[o]);
}

void BoxBounds::bound_below(std::size_t l, int rows, double* least) {
  auto const count = static_cast<std::size_t>(rows);
  constant_.assign(count, 0.0);
  magnitude_.assign(count, 0.0);
  for (;; --l) {
    auto const& layer = network_.layers()[l];
    auto const& errors = state_[l].errors;
    auto const outputs = static_cast<std::size_t>(layer.outputs);
    auto const inputs = static_cast<std::size_t>(layer.inputs);
    next_.assign(count * inputs, 0.0);
    for (std::size_t r = 0; r < count; ++r) {
      double const* const c = &combinations_[r * outputs];
      double constant = 0.0;
      double magnitude = 0.0;
      double error = 0.0;
      for (std::size_t o = 0; o < outputs; ++o) {
        constant += c[o] * layer.bias[o];
        magnitude += std::abs(c[o] * layer.bias[o]);
        error += std::abs(c[o]) * errors[o];
      }
      double* const w = &next_[r * inputs];
      add_row_product(c, layer.outputs, layer.transposed.data(), layer.inputs, w);
      constant -= error;
      magnitude += error;
      for (std::size_t k = 0; k < inputs; ++k) {
        double term = 0.0;
        if (l == 0) {
          term = w[k] * (w[k] < 0.0 ? box_[k].high : box_[k].low);
        } else {
          auto const& activation = state_[l - 1].activations[k];
          Line const line = w[k] < 0.0 ? activation.above : activation.below;
          term = w[k] * line.offset;
          w[k] *= line.slope;
        }
        constant += term;
        magnitude += std::abs(term);
      }
      constant_[r] += constant;
      magnitude_[r] += magnitude;
    }
    combinations_.swap(next_);
    if (l == 0) break;
  }
  double terms = 0.0;
  for (auto const& layer : network_.layers()) terms += 2.0 * layer.outputs + layer.inputs + 4.0;
  for (std::size_t r = 0; r < count; ++r) {
    double const pad = terms * kConstantRounding * magnitude_[r];
    least[r] = constant_[r] - pad - kUnderflow;
  }
}

Interval BoxBounds::logit(int output) {
  auto const outputs = static_cast<std::size_t>(network_.outputs());
  combinations_.assign(2 * outputs, 0.0);
  combinations_[static_cast<std::size_t>(output)] = 1.0;
  combinations_[outputs + static_cast<std::size_t>(output)] = -1.0;
  double least[2];
  bound_below(state_.size() - 1, 2, least);
  Interval const z = state_.back().sums[static_cast<std::size_t>(output)];
  return {std::max(z.low, least[0]), std::min(z.high, -least[1])};
}

double BoxBounds::least_difference(int output, int other) {
  combinations_.assign(static_cast<std::size_t>(network_.outputs()), 0.0);
  combinations_[static_cast<std::size_t>(output)] = 1.0;
  combinations_[static_cast<std::size_t>(other)] = -1.0;
  double least = 0.0;
  bound_below(state_.size() - 1, 1, &least);
  return least;
}

bool BoxBounds::has_label(int label, float threshold) {
  int const outputs = network_.outputs();
  if (outputs == 1) {
    combinations_.assign(1, label == 1 ? 1.0 : -1.0);
    double least = 0.0;
    bound_below(state_.size() - 1, 1, &least);
    return label == 1 ? least > threshold : least >= -static_cast<double>(threshold);
  }
  for (int other = 0; other < outputs; ++other) {
    if (other == label) continue;
    double const least = least_difference(label, other);
    // Of equal logits the first class wins.
    if (!(other < label ? least > 0.0 : least >= 0.0)) return false;
  }
  return true;
}

LabelProver::LabelProver(BoundedNetwork const& network, float threshold)
    : network_(network), threshold_(threshold), bounds_(network) {}

std::optional<int> LabelProver::common_label(std::span<Interval const> box) {
  int const label = label_of_corner(box, 0);
  for (int corner = 1; corner < kCorners; ++corner) {
    if (label_of_corner(box, corner) != label) return std::nullopt;
  }
  if (label < 0 || !bounds_.enclose(box) || !bounds_.has_label(label, threshold_))
    return std::nullopt;
  return label;
}

int LabelProver::label_of_corner(std::span<Interval const> box, int corner) {
  constexpr unsigned kHighest = 1U << 31;
  values_.clear();
  for (std::size_t k = 0; k < box.size(); ++k) {
    std::uint32_t const word = philox<ScalarPack>(static_cast<std::uint32_t>(k), 0,
                                                  static_cast<std::uint32_t>(corner), 0, 0)
                                   .w[0];
    double const side = (word & kHighest) != 0 ? box[k].high : box[k].low;
    values_.push_back(corner == 0 ? (box[k].low + box[k].high) / 2.0 : side);
  }
  for (std::size_t l = 0; l < network_.layers().size(); ++l) {
    auto const& layer = network_.layers()[l];
    next_ = layer.bias;
    add_row_product(values_.data(), layer.inputs, layer.weights.data(), layer.outputs,
                    next_.data());
    if (l + 1 < network_.layers().size()) {
      for (double& z : next_) z = activation_value(layer.activation, layer.alpha, z);
    }
    values_.swap(next_);
  }
  for (double const z : values_) {
    if (!std::isfinite(z)) return -1;
  }
  if (values_.size() == 1) return values_[0] > threshold_ ? 1 : 0;
  return static_cast<int>(std::max_element(values_.begin(), values_.end()) - values_.begin());
}

}  // namespace fairlane
