#include "engine/recheck/contract_label.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/recheck/smooth_enclosure.h"
#include "kernels/core/numerics.h"
#include "kernels/core/pack.h"
#include "models/trees/scorer.h"

namespace fairlane {
namespace {

float smooth(DenseLayer const& layer, float z) {
  switch (layer.activation) {
    case Activation::kElu:
      return z < 0.0F ? layer.alpha * expm1_negative<ScalarPack>(z) : z;
    case Activation::kTanh:
      return tanh<ScalarPack>(z);
    case Activation::kSigmoid:
      return sigmoid<ScalarPack>(z);
    case Activation::kSilu:
      return silu<ScalarPack>(z);
    case Activation::kGelu:
      return gelu<ScalarPack>(z);
    default:
      return gelu_tanh<ScalarPack>(z);
  }
}

/// sums [width] += values [inputs] times weights [inputs][width], one after the other, each product
/// and sum rounded once.
[[gnu::always_inline]] inline void add_each(float const* values, std::size_t inputs,
                                            float const* weights, std::size_t width, float* sums) {
  constexpr std::size_t kBlock = NetworkLabel::kBlock;
  for (std::size_t i = 0; i < inputs; ++i, weights += width) {
    for (std::size_t block = 0; block < width; block += kBlock) {
      for (std::size_t o = block; o < block + kBlock; ++o)
        sums[o] = std::fma(values[i], weights[o], sums[o]);
    }
  }
}

#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] void add_fused(float const* values, std::size_t inputs,
                                           float const* weights, std::size_t width, float* sums) {
  add_each(values, inputs, weights, width, sums);
}
#endif

void add_products(float const* values, std::size_t inputs, float const* weights, std::size_t width,
                  float* sums) {
#if defined(__x86_64__)
  // The same results: without the instruction, std::fma is a call.
  if (__builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2"))
    return add_fused(values, inputs, weights, width, sums);
#endif
  add_each(values, inputs, weights, width, sums);
}

}  // namespace

NetworkLabel::NetworkLabel(Network const& network, Domain const& domain,
                           std::vector<std::int32_t> const& selected, float threshold)
    : network_(network), domain_(domain), threshold_(threshold) {
  for (bool const last : {false, true}) {
    std::size_t input = 0;
    for (std::size_t a = 0; a < domain.attributes.size(); ++a) {
      Attribute const& attribute = domain.attributes[a];
      bool const is_last =
          attribute.is_protected || std::ranges::count(selected, static_cast<std::int32_t>(a)) > 0;
      for (int k = 0; k < encoded_width(attribute); ++k, ++input) {
        if (is_last == last) order_.push_back(input);
      }
    }
  }
  for (DenseLayer const& layer : network.layers) {
    std::vector<std::size_t> order = order_;
    if (!layers_.empty()) {
      order.resize(static_cast<std::size_t>(layer.inputs));
      std::iota(order.begin(), order.end(), std::size_t{0});
    }
    layers_.push_back(in_blocks(layer, order));
  }
  Layer const& first = layers_.front();
  sums_after_.resize((first.inputs + 1) * first.width);
  std::ranges::copy(first.bias, sums_after_.begin());
}

NetworkLabel::Layer NetworkLabel::in_blocks(DenseLayer const& layer,
                                            std::vector<std::size_t> const& order) {
  Layer blocks;
  blocks.inputs = static_cast<std::size_t>(layer.inputs);
  auto const outputs = static_cast<std::size_t>(layer.outputs);
  blocks.width = (outputs + kBlock - 1) / kBlock * kBlock;
  blocks.weights.resize(blocks.inputs * blocks.width);
  for (std::size_t i = 0; i < blocks.inputs; ++i) {
    auto const* const from = &layer.weights[order[i] * outputs];
    std::copy_n(from, outputs, &blocks.weights[i * blocks.width]);
  }
  blocks.bias = layer.bias;
  blocks.bias.resize(blocks.width);
  return blocks;
}

float const* NetworkLabel::first_sums() {
  Layer const& layer = layers_.front();
  std::size_t same = 0;
  while (same < inputs_.size() && inputs_[same] == static_cast<float>(encoded_[order_[same]]))
    ++same;
  inputs_.resize(layer.inputs);
  for (std::size_t i = same; i < layer.inputs; ++i) {
    inputs_[i] = static_cast<float>(encoded_[order_[i]]);
    float* const after = &sums_after_[(i + 1) * layer.width];
    std::copy_n(after - layer.width, layer.width, after);
    add_products(&inputs_[i], 1, &layer.weights[i * layer.width], layer.width, after);
  }
  return &sums_after_[layer.inputs * layer.width];
}

ContractOutcome NetworkLabel::operator()(std::int32_t const* row) {
  encoded_.clear();
  domain_.encode(row, encoded_);
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    DenseLayer const& layer = network_.layers[l];
    Layer const& blocks = layers_[l];
    if (l == 0) {
      float const* const sums = first_sums();
      sums_.assign(sums, sums + blocks.width);
    } else {
      sums_ = blocks.bias;
      add_products(values_.data(), blocks.inputs, blocks.weights.data(), blocks.width,
                   sums_.data());
    }
    values_.assign(sums_.begin(), sums_.begin() + layer.outputs);
    if (l + 1 == layers_.size()) break;
    for (float& z : values_) {
      if (layer.activation == Activation::kRelu) z = z > 0.0F ? z : 0.0F;
      if (layer.activation == Activation::kLeakyRelu && z < 0.0F) z *= layer.alpha;
      if (is_smooth(layer.activation)) z = smooth(layer, z);
    }
  }
  return outcome(threshold_);
}

ContractOutcome EnsembleLabel::operator()(std::int32_t const* row) {
  encoded_.clear();
  domain_.encode(row, encoded_);
  if (trees_.in_double) {
    add_up<double>();
  } else {
    add_up<float>();
  }
  return outcome(threshold_);
}

template <class Real>
void EnsembleLabel::add_up() {
  std::vector<Real> sums(trees_.base.begin(), trees_.base.end());
  for (std::size_t t = 0; t < trees_.roots.size(); ++t) {
    std::int32_t at = trees_.roots[t];
    while (at >= 0) {
      auto const n = static_cast<std::size_t>(at);
      auto const x = static_cast<float>(encoded_[static_cast<std::size_t>(trees_.feature[n])]);
      at = x <= trees_.threshold[n] ? trees_.left[n] : trees_.right[n];
    }
    auto const width = static_cast<std::size_t>(trees_.width);
    for (std::size_t i = 0; i < width; ++i) {
      sums[static_cast<std::size_t>(trees_.first_sum[t]) + i] +=
          static_cast<Real>(trees_.leaves[static_cast<std::size_t>(~at) * width + i]);
    }
  }
  for (Real& sum : sums) sum /= static_cast<Real>(trees_.divisor);
  if (trees_.outputs() == 1) {
    values_.assign(1, score_of(trees_, std::vector<double>(sums.begin(), sums.end())));
    return;
  }
  // The first of the greatest sums stays ahead where rounding would make a lower class its equal.
  auto const best = std::ranges::max_element(sums) - sums.begin();
  values_.clear();
  for (Real const sum : sums) values_.push_back(static_cast<float>(sum));
  float& ahead = values_[static_cast<std::size_t>(best)];
  if (std::ranges::count(values_.begin(), values_.begin() + best, ahead) > 0)
    ahead = std::nextafter(ahead, std::numeric_limits<float>::infinity());
}

ContractOutcome ContractLabel::outcome(float threshold) const {
  for (float const z : values_) {
    if (!std::isfinite(z)) return {};
  }
  auto const first = static_cast<double>(values_[0]);
  if (values_.size() == 1) return {values_[0] > threshold ? 1 : 0, first};
  return {static_cast<std::int32_t>(std::ranges::max_element(values_) - values_.begin()),
          static_cast<double>(values_[1]) - first};
}

std::unique_ptr<ContractLabel> make_contract_label(TestSubject const& subject) {
  Model const& model = subject.model();
  if (auto const* const trees = dynamic_cast<TreeScorer const*>(model.scorer().get())) {
    return std::make_unique<EnsembleLabel>(trees->trees(), subject.domain(),
                                           subject.view().threshold);
  }
  return std::make_unique<NetworkLabel>(model.network("verify --check"), subject.domain(),
                                        subject.selected(), subject.view().threshold);
}

}  // namespace fairlane
