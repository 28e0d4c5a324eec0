#include "kernels/cpu/open_network.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fairlane {
namespace {

constexpr std::size_t kRow = kBoundFloats;

/// Tiles of equal width, as few as possible.
int even_tile(int outputs, int widest) {
  int const tiles = std::max(1, (outputs + widest - 1) / widest);
  return (outputs + tiles - 1) / tiles;
}

}  // namespace

bool PackBounds::knows(PackedNetwork const& network) {
  int terms = 0;
  for (int l = 0; l < network.layers; ++l) {
    PackedDense const& dense = network.layer[l].forward;
    bool const hidden = l + 1 < network.layers;
    if (hidden && network.layer[l].activation != Activation::kRelu) return false;
    terms += dense.inputs;
    long const weights = static_cast<long>(dense.inputs) * dense.outputs;
    auto const is_finite = [](float w) { return std::isfinite(w); };
    if (!std::all_of(dense.weights, dense.weights + weights, is_finite)) return false;
  }
  return network.layers > 1 && terms <= kMostBoundTerms;
}

PackBounds::PackBounds(PackedNetwork const& network) {
  for (int l = 0; l < network.layers; ++l) {
    PackedDense const& dense = network.layer[l].forward;
    std::size_t const stride = (static_cast<std::size_t>(dense.outputs) + kRow - 1) / kRow * kRow;
    std::size_t const size = stride * static_cast<std::size_t>(dense.inputs);
    std::vector<float> memory(2 * size + 2 * stride);
    float* const weights = memory.data();
    float* const bias = weights + 2 * size;
    std::fill_n(bias, stride, -1.0F);
    for (int o = 0; o < dense.outputs; ++o) {
      bias[o] = dense.bias[o];
      for (int k = 0; k < dense.inputs; ++k)
        weights[static_cast<std::size_t>(k) * stride + static_cast<std::size_t>(o)] =
            weight_of(dense, k, o);
    }
    for (std::size_t i = 0; i < size; ++i) weights[size + i] = std::abs(weights[i]);
    for (std::size_t i = 0; i < stride; ++i) bias[stride + i] = std::abs(bias[i]);
    layers_.push_back({dense.inputs, dense.outputs, static_cast<int>(stride), weights,
                       weights + size, bias, bias + stride});
    memory_.push_back(std::move(memory));
    widest_ = std::max(widest_, static_cast<int>(stride));
    if (l + 1 < network.layers) units_ += dense.outputs;
    most_weights_ = std::max(most_weights_, size);
  }
}

OpenNetwork::OpenNetwork(PackedNetwork const& whole, PackBounds const& bounds,
                         LaneKernels const& kernels, bool detailed)
    : bounds_(bounds), kernels_(kernels), network_(whole) {
  auto const layers = static_cast<std::size_t>(bounds.layers());
  int const inputs = bounds.layer()[0].inputs;
  auto const widest = static_cast<std::size_t>(std::max(bounds.widest(), inputs));
  std::size_t const rows = 1 + static_cast<std::size_t>(inputs) +
                           static_cast<std::size_t>(detailed ? bounds.units() : 0);
  memory_.resize((2 * rows + 8 + layers) * widest);
  float* at = memory_.data();
  auto const take = [&](std::size_t count) {
    float* const here = at;
    at += count * widest;
    return here;
  };
  open_memory_.rows = take(rows);
  open_memory_.next = take(rows);
  open_memory_.spread = take(2);
  open_memory_.next_spread = take(2);
  open_memory_.low = take(1);
  open_memory_.high = take(1);
  open_memory_.slope = take(1);
  open_memory_.offset = take(1);
  lists_.resize((layers + 1) * widest);
  opens_.resize(layers);
  for (std::size_t l = 0; l < layers; ++l) {
    open_.push_back(&lists_[l * widest]);
    keep_.push_back(take(1));
  }
  std::iota(lists_.begin(), lists_.begin() + static_cast<std::ptrdiff_t>(widest), 0);
  opens_[0] = inputs;
  open_memory_.open = open_.data();
  open_memory_.opens = opens_.data();
  open_memory_.keep = keep_.data();
  open_memory_.undecided = &lists_[layers * widest];
  open_memory_.detailed = detailed;

  rows_.resize(bounds.most_weights() + kRow);
  for (std::size_t l = 0; l < layers; ++l) {
    BoundLayer const& layer = bounds.layer()[l];
    auto const stride = static_cast<std::size_t>(layer.stride);
    packed_.push_back(whole.layer[l]);
    weights_.emplace_back(static_cast<std::size_t>(layer.inputs) * stride + kRow);
    bias_.emplace_back(stride + kRow);
    PackedDense& dense = packed_.back().forward;
    dense.weights = weights_.back().data();
    dense.bias = bias_.back().data();
  }
  network_.layer = packed_.data();
}

bool OpenNetwork::enclose(float const* low, float const* high) {
  return kernels_.enclose(bounds_.layer(), bounds_.layers(), low, high, open_memory_);
}

std::optional<int> OpenNetwork::label(float threshold) const {
  if (open_memory_.low[0] > threshold) return 1;
  if (open_memory_.high[0] <= threshold) return 0;
  return std::nullopt;
}

PackedNetwork const& OpenNetwork::get() {
  auto const layers = packed_.size();
  for (std::size_t l = 0; l < layers; ++l) {
    bool const last = l + 1 == layers;
    PackedDense& dense = packed_[l].forward;
    dense.inputs = opens_[l];
    if (!last) dense.outputs = opens_[l + 1];
    dense.tile = even_tile(dense.outputs, l == 0 ? kernels_.walk_first : kernels_.walk_upper);
    kernels_.pack_open(bounds_.layer()[l], open_[l], opens_[l], last ? nullptr : keep_[l + 1],
                       dense.outputs, dense.tile, rows_.data(), weights_[l].data(),
                       bias_[l].data());
  }
  return network_;
}

}  // namespace fairlane
