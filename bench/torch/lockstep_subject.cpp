#include "bench/torch/lockstep_subject.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace fairlane {

namespace {

using torch::Tensor;

template <class T>
Tensor copy(T const* values, std::vector<std::int64_t> const& shape, torch::ScalarType type,
            torch::Device device) {
  // from_blob does not write; its signature has no const.
  return torch::from_blob(const_cast<T*>(values), shape, type).clone().to(device);
}

}  // namespace

LockstepSubject::LockstepSubject(TorchSubject const& subject, torch::Device device)
    : attributes_(subject.attributes),
      variants_(subject.variants),
      threshold_(subject.threshold),
      bounds_low_(subject.low, subject.low + subject.attributes),
      selected_(subject.selected, subject.selected + subject.selected_count),
      variant_value_(subject.variant_value, subject.variant_value + std::int64_t{subject.variants} *
                                                                        subject.selected_count) {
  std::vector<std::int64_t> tested(selected_.begin(), selected_.end());
  std::vector<float> low;
  std::vector<float> high;
  for (std::int32_t a = 0; a < subject.attributes; ++a) {
    if (std::binary_search(selected_.begin(), selected_.end(), a)) continue;
    free_.push_back(a);
    low.push_back(static_cast<float>(subject.low[a]));
    high.push_back(static_cast<float>(subject.high[a]));
  }
  key_limit_ = variants_;
  free_strides_.resize(free_.size());
  for (std::size_t i = free_.size(); i-- > 0;) {
    auto const a = static_cast<std::size_t>(free_[i]);
    std::int64_t const size = std::int64_t{subject.high[a]} - subject.low[a] + 1;
    free_strides_[i] = key_limit_;
    if (key_limit_ > std::numeric_limits<std::int64_t>::max() / size)
      throw std::invalid_argument("the domain has more inputs than a key of 63 bits");
    key_limit_ *= size;
  }
  auto const free_count = static_cast<std::int64_t>(free_.size());
  low_ = copy(low.data(), {free_count, 1}, torch::kFloat32, device);
  high_ = copy(high.data(), {free_count, 1}, torch::kFloat32, device);
  strides_ = copy(free_strides_.data(), {free_count}, torch::kInt64, device);

  auto const indices = [&](std::vector<std::int64_t> const& values) {
    return copy(values.data(), {static_cast<std::int64_t>(values.size())}, torch::kInt64, device);
  };
  for (std::int32_t l = 0; l < subject.layers; ++l) {
    TorchLayer const& from = subject.layer[l];
    Tensor back = copy(from.weights, {from.inputs, from.outputs}, torch::kFloat32, device);
    Tensor const bias = copy(from.bias, {from.outputs, 1}, torch::kFloat32, device);
    if (l == 0) {
      Tensor const values =
          copy(variant_value_.data(), {variants_, subject.selected_count}, torch::kInt32, device)
              .to(torch::kFloat32);
      offsets_ = values.mm(back.index_select(0, indices(tested))).t().add(bias).contiguous();
      back = back.index_select(0, indices(free_));
    }
    layers_.push_back({static_cast<TorchActivation>(from.activation), from.alpha,
                       back.t().contiguous(), bias, back});
  }
}

std::int64_t LockstepSubject::widest() const {
  std::int64_t units = 1;
  for (Layer const& layer : layers_) units = std::max(units, layer.bias.size(0));
  return units;
}

TorchLanes LockstepSubject::lanes(std::int64_t count, std::int32_t const* row,
                                  std::int32_t const* variant) const {
  Tensor const rows = copy(row, {count, attributes_}, torch::kInt32, device());
  Tensor const columns =
      copy(free_.data(), {static_cast<std::int64_t>(free_.size())}, torch::kInt64, device());
  return {rows.index_select(1, columns).t().to(torch::kFloat32).contiguous(),
          copy(variant, {count}, torch::kInt32, device()).to(torch::kInt64)};
}

Tensor LockstepSubject::keys(TorchLanes const& lanes) const {
  Tensor const digits = (lanes.free - low_).to(torch::kInt64);
  return (digits * strides_.unsqueeze(1)).sum(0).add_(lanes.own);
}

void LockstepSubject::decode(std::int64_t key, std::int32_t* row) const {
  for (std::size_t i = 0; i < free_.size(); ++i) {
    auto const a = static_cast<std::size_t>(free_[i]);
    row[a] = bounds_low_[a] + static_cast<std::int32_t>(key / free_strides_[i]);
    key %= free_strides_[i];
  }
  std::size_t const at = static_cast<std::size_t>(key) * selected_.size();
  for (std::size_t s = 0; s < selected_.size(); ++s) row[selected_[s]] = variant_value_[at + s];
}

namespace {

char const* approximation(TorchActivation activation) {
  return activation == kTorchGeluTanh ? "tanh" : "none";
}

}  // namespace

void LockstepSubject::activate(Layer const& layer, Tensor& values) const {
  switch (layer.activation) {
    case kTorchRelu:
      values.relu_();
      break;
    case kTorchLeakyRelu:
      torch::leaky_relu_(values, layer.alpha);
      break;
    case kTorchElu:
      torch::elu_(values, layer.alpha);
      break;
    case kTorchTanh:
      values.tanh_();
      break;
    case kTorchSigmoid:
      values.sigmoid_();
      break;
    case kTorchSilu:
      values = at::silu(values);
      break;
    case kTorchGelu:
    case kTorchGeluTanh:
      values = at::gelu(values, approximation(layer.activation));
      break;
    case kTorchLinear:
      break;
  }
}

Tensor LockstepSubject::slope(Layer const& layer, Tensor const& gradient,
                              Tensor const& values) const {
  constexpr bool kOfResult = true;  // values are what the activation returned, or silu or gelu took
  switch (layer.activation) {
    case kTorchRelu:
      return at::threshold_backward(gradient, values, 0);
    case kTorchLeakyRelu:
      return at::leaky_relu_backward(gradient, values, layer.alpha, kOfResult);
    case kTorchElu:
      return at::elu_backward(gradient, layer.alpha, 1, 1, kOfResult, values);
    case kTorchTanh:
      return at::tanh_backward(gradient, values);
    case kTorchSigmoid:
      return at::sigmoid_backward(gradient, values);
    case kTorchSilu:
      return at::silu_backward(gradient, values);
    case kTorchGelu:
    case kTorchGeluTanh:
      return at::gelu_backward(gradient, values, approximation(layer.activation));
    case kTorchLinear:
      break;
  }
  return gradient;
}

Tensor LockstepSubject::tail(Tensor sums) const {
  for (std::size_t l = 1; l < layers_.size(); ++l) {
    activate(layers_[l - 1], sums);
    sums = torch::addmm(layers_[l].bias, layers_[l].weight, sums);
  }
  return sums;
}

Tensor LockstepSubject::logits(Tensor const& free) const {
  Tensor const shared = layers_.front().weight.mm(free);
  Tensor const sums = shared.unsqueeze(1) + offsets_.unsqueeze(2);
  return tail(sums.view({sums.size(0), -1})).view({-1, variants_, free.size(1)});
}

Tensor LockstepSubject::labels(Tensor const& logits) const {
  return logits.size(0) == 1 ? logits[0] > threshold_ : logits.argmax(0);
}

Tensor LockstepSubject::discriminates(Tensor const& logits) const {
  if (logits.size(0) == 1)
    return (logits[0].amax(0) > threshold_).logical_and_(logits[0].amin(0) <= threshold_);
  Tensor const label = labels(logits);
  return label.amax(0) != label.amin(0);
}

Tensor LockstepSubject::probabilities(Tensor const& logits) const {
  return logits.size(0) == 1 ? logits.sigmoid() : logits.softmax(0);
}

Tensor LockstepSubject::farthest(Tensor const& logits, Tensor const& own) const {
  Tensor const p = probabilities(logits);
  Tensor const here = p.gather(1, own.view({1, 1, -1}).expand({p.size(0), 1, -1}));
  auto const [distance, variant] = (p - here).square_().sum(0).max(0);
  return torch::where(distance > 0, variant, own);
}

Tensor LockstepSubject::gradients(TorchSearch const& search, TorchLanes const& lanes,
                                  Tensor const& partner) const {
  Tensor const shared = layers_.front().weight.mm(lanes.free);
  Tensor const variant = torch::cat({lanes.own, partner});
  Tensor values = torch::cat({shared, shared}, 1).add_(offsets_.index_select(1, variant));
  if (search.gradient == kTorchProbabilityDifference) return differences(values, search.difference);
  std::vector<Tensor> active;  // what each layer but the last returned, or what silu or gelu took
  for (std::size_t l = 1; l < layers_.size(); ++l) {
    active.push_back(values);  // all others work in place
    activate(layers_[l - 1], values);
    values = torch::addmm(layers_[l].bias, layers_[l].weight, values);
  }
  Tensor gradient = logit_gradient(search.gradient, values);
  for (std::size_t l = layers_.size() - 1; l > 0; --l)
    gradient = slope(layers_[l - 1], layers_[l].back.mm(gradient), active[l - 1]);
  return layers_.front().back.mm(gradient);
}

Tensor LockstepSubject::logit_gradient(std::int32_t kind, Tensor const& logits) const {
  Tensor const p = probabilities(logits);
  Tensor const label = labels(logits);
  if (logits.size(0) == 1) {
    Tensor const wanted = label.to(torch::kFloat32).unsqueeze(0);
    if (kind == kTorchLoss) return p - wanted;
    return (1 - p).mul_(p).mul_(wanted.mul(2).sub_(1));  // of p(label)
  }
  Tensor const wanted = torch::zeros_like(p).scatter_(0, label.unsqueeze(0), 1.0);
  if (kind == kTorchLoss) return p - wanted;
  return (wanted - p).mul_(p.gather(0, label.unsqueeze(0)));
}

Tensor LockstepSubject::differences(Tensor const& sums, float step) const {
  auto const free_count = static_cast<std::int64_t>(free_.size());
  Tensor const& first = layers_.front().weight;
  Tensor const moves = torch::cat({torch::zeros_like(first.slice(1, 0, 1)), first * step}, 1);
  Tensor const moved = (sums.unsqueeze(1) + moves.unsqueeze(2)).view({sums.size(0), -1});
  Tensor const logits = tail(moved).view({-1, free_count + 1, sums.size(1)});
  Tensor const label = labels(logits.select(1, 0));  // [n]
  Tensor p = probabilities(logits);
  if (logits.size(0) == 1) {
    p = torch::where(label, p[0], 1 - p[0]);
  } else {
    p = p.gather(0, label.view({1, 1, -1}).expand({1, free_count + 1, -1}))[0];
  }
  return (p.slice(0, 1) - p.slice(0, 0, 1)).div_(step);
}

}  // namespace fairlane
