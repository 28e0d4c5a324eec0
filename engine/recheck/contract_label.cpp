#include "engine/recheck/contract_label.h"

#include <algorithm>
#include <cmath>

#include "engine/recheck/smooth_enclosure.h"
#include "kernels/core/numerics.h"
#include "kernels/core/pack.h"

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

}  // namespace

ContractLabel::ContractLabel(Network const& network, Domain const& domain,
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
}

ContractOutcome ContractLabel::operator()(std::int32_t const* row) {
  encoded_.clear();
  domain_.encode(row, encoded_);
  values_.assign(encoded_.begin(), encoded_.end());
  for (std::size_t l = 0; l < network_.layers.size(); ++l) {
    DenseLayer const& layer = network_.layers[l];
    auto const inputs = static_cast<std::size_t>(layer.inputs);
    auto const outputs = static_cast<std::size_t>(layer.outputs);
    sums_ = layer.bias;
    for (std::size_t i = 0; i < inputs; ++i) {
      std::size_t const k = l == 0 ? order_[i] : i;
      for (std::size_t o = 0; o < outputs; ++o)
        sums_[o] = std::fma(values_[k], layer.weights[k * outputs + o], sums_[o]);
    }
    values_ = sums_;
    if (l + 1 == network_.layers.size()) break;
    for (float& z : values_) {
      if (layer.activation == Activation::kRelu) z = z > 0.0F ? z : 0.0F;
      if (layer.activation == Activation::kLeakyRelu && z < 0.0F) z *= layer.alpha;
      if (is_smooth(layer.activation)) z = smooth(layer, z);
    }
  }
  for (float const z : values_) {
    if (!std::isfinite(z)) return {};
  }
  auto const first = static_cast<double>(values_[0]);
  if (values_.size() == 1) return {values_[0] > threshold_ ? 1 : 0, first};
  return {static_cast<std::int32_t>(std::ranges::max_element(values_) - values_.begin()),
          static_cast<double>(values_[1]) - first};
}

}  // namespace fairlane
