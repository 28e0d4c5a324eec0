#include "engine/recheck/contract_label.h"

#include <algorithm>
#include <cmath>
#include <limits>

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
}

ContractOutcome NetworkLabel::operator()(std::int32_t const* row) {
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
