#include "models/torch/plugin/trained_network.h"

#include <cmath>

namespace fairlane {
namespace {

using torch::Tensor;

// torch.optim's defaults.
constexpr double kFirstDecay = 0.9;
constexpr double kSecondDecay = 0.999;
constexpr double kEpsilon = 1e-8;
constexpr double kMomentumDecay = 4e-3;  // of kTorchNadam

Tensor activated(Tensor const& sums, std::int32_t activation, float alpha) {
  switch (activation) {
    case kTorchRelu:
      return torch::relu(sums);
    case kTorchLeakyRelu:
      return torch::leaky_relu(sums, alpha);
    case kTorchElu:
      return torch::elu(sums, alpha);
    case kTorchTanh:
      return torch::tanh(sums);
    case kTorchSigmoid:
      return torch::sigmoid(sums);
    case kTorchSilu:
      return at::silu(sums);
    case kTorchGelu:
      return at::gelu(sums, "none");
    case kTorchGeluTanh:
      return at::gelu(sums, "tanh");
    default:
      return sums;
  }
}

void copy_out(Tensor const& from, float* to) {
  Tensor const all = from.to(torch::kCPU);
  std::copy_n(all.data_ptr<float>(), all.numel(), to);
}

/// In place: layers and gradients are parts of the tensor.
void copy_in(Tensor& to, float const* from) {
  // torch takes no const memory; nothing writes to it.
  to.copy_(torch::from_blob(const_cast<float*>(from), {to.numel()}, torch::kFloat32));
}

Tensor probabilities(Tensor const& logits) {
  return logits.size(1) == 1 ? torch::sigmoid(logits) : torch::softmax(logits, 1);
}

}  // namespace

TrainedNetwork::TrainedNetwork(TorchTraining const& training, torch::Device device)
    : training_(training),
      device_(device),
      inputs_(training.layer[0].inputs),
      outputs_(training.layer[training.layers - 1].outputs) {
  training_.layer = nullptr;  // is not kept
  std::int64_t size = 0;
  for (std::int32_t l = 0; l < training.layers; ++l) {
    TorchLayer const& layer = training.layer[l];
    size += (std::int64_t{layer.inputs} + 1) * layer.outputs;
  }
  values_ = torch::empty({size}, torch::kFloat32);
  std::int64_t at = 0;
  for (std::int32_t l = 0; l < training.layers; ++l) {
    TorchLayer const& layer = training.layer[l];
    std::int64_t const weights = std::int64_t{layer.inputs} * layer.outputs;
    float* const to = values_.data_ptr<float>() + at;
    std::copy_n(layer.weights, weights, to);
    std::copy_n(layer.bias, layer.outputs, to + weights);
    at += weights + layer.outputs;
  }
  values_ = values_.to(device_);
  gradients_ = torch::zeros_like(values_);
  first_moment_ = torch::zeros_like(values_);
  second_moment_ = torch::zeros_like(values_);
  at = 0;
  auto const part = [&](std::int64_t begin, torch::IntArrayRef shape, std::int64_t count) {
    Tensor view = values_.narrow(0, begin, count).view(shape).detach().requires_grad_();
    view.mutable_grad() = gradients_.narrow(0, begin, count).view(shape);
    return view;
  };
  for (std::int32_t l = 0; l < training.layers; ++l) {
    TorchLayer const& layer = training.layer[l];
    std::int64_t const weights = std::int64_t{layer.inputs} * layer.outputs;
    layers_.push_back({part(at, {layer.inputs, layer.outputs}, weights),
                       part(at + weights, {layer.outputs}, layer.outputs), layer.activation,
                       layer.alpha});
    at += weights + layer.outputs;
  }
}

Tensor TrainedNetwork::to_device(float const* rows, std::int64_t count) const {
  // torch takes no const memory; nothing writes to it.
  return torch::from_blob(const_cast<float*>(rows), {count, inputs_}, torch::kFloat32).to(device_);
}

Tensor TrainedNetwork::forward(Tensor rows) const {
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    Layer const& layer = layers_[l];
    rows = torch::addmm(layer.bias, rows, layer.weight);
    if (l + 1 < layers_.size()) rows = activated(rows, layer.activation, layer.alpha);
  }
  return rows;
}

Tensor TrainedNetwork::loss(TorchBatch const& batch) const {
  std::int64_t const rows = batch.rows;
  Tensor input = to_device(batch.inputs, rows);
  if (batch.pairs > 0) {
    // One pass for rows and pairs.
    input = torch::cat(
        {input, to_device(batch.first, batch.pairs), to_device(batch.second, batch.pairs)});
  }
  Tensor const logits = forward(input);
  Tensor const labels =
      torch::from_blob(const_cast<std::int32_t*>(batch.labels), {rows}, torch::kInt32).to(device_);
  Tensor const weights =
      torch::from_blob(const_cast<float*>(batch.weights), {rows}, torch::kFloat32).to(device_);
  Tensor const of_rows = logits.narrow(0, 0, rows);
  Tensor const losses =
      outputs_ == 1
          ? torch::binary_cross_entropy_with_logits(of_rows.squeeze(1), labels.to(torch::kFloat32),
                                                    {}, {}, at::Reduction::None)
          : torch::nn::functional::cross_entropy(
                of_rows, labels.to(torch::kInt64),
                torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kNone));
  Tensor loss = (losses * weights).sum() / weights.sum();
  if (batch.pairs > 0) {
    Tensor const first = probabilities(logits.narrow(0, rows, batch.pairs));
    Tensor const second = probabilities(logits.narrow(0, rows + batch.pairs, batch.pairs));
    loss = loss + static_cast<double>(batch.pair_weight) * (first - second).square().mean();
  }
  return loss;
}

void TrainedNetwork::descend() {
  torch::NoGradGuard const no_gradients;
  ++steps_;
  double const rate = training_.learning_rate;
  if (training_.weight_decay != 0.0) gradients_.add_(values_, training_.weight_decay);
  if (training_.optimizer == kTorchSgd) {
    if (training_.momentum == 0.0) {
      values_.add_(gradients_, -rate);
    } else {
      first_moment_.mul_(training_.momentum).add_(gradients_);
      values_.add_(first_moment_, -rate);
    }
    return;
  }
  auto const steps = static_cast<double>(steps_);
  first_moment_.mul_(kFirstDecay).add_(gradients_, 1.0 - kFirstDecay);
  second_moment_.mul_(kSecondDecay).addcmul_(gradients_, gradients_, 1.0 - kSecondDecay);
  double const second_correction = 1.0 - std::pow(kSecondDecay, steps);
  if (training_.optimizer == kTorchAdam) {
    Tensor const scale = second_moment_.sqrt().div_(std::sqrt(second_correction)).add_(kEpsilon);
    values_.addcdiv_(first_moment_, scale, -rate / (1.0 - std::pow(kFirstDecay, steps)));
    return;
  }
  Tensor const scale = second_moment_.div(second_correction).sqrt_().add_(kEpsilon);
  auto const momentum = [](double step) {
    return kFirstDecay * (1.0 - 0.5 * std::pow(0.96, step * kMomentumDecay));
  };
  double const now = momentum(steps);
  double const next = momentum(steps + 1.0);
  momentum_product_ *= now;
  values_.addcdiv_(gradients_, scale, -rate * (1.0 - now) / (1.0 - momentum_product_));
  values_.addcdiv_(first_moment_, scale, -rate * next / (1.0 - momentum_product_ * next));
}

float TrainedNetwork::step(TorchBatch const& batch) {
  gradients_.zero_();
  Tensor const loss = this->loss(batch);
  loss.backward();
  descend();
  return loss.item<float>();
}

void TrainedNetwork::logits(float const* inputs, std::int64_t count, float* logits) const {
  torch::NoGradGuard const no_gradients;
  Tensor const out = forward(to_device(inputs, count)).to(torch::kCPU).contiguous();
  std::copy_n(out.data_ptr<float>(), count * outputs_, logits);
}

void TrainedNetwork::values(float* values) const { copy_out(values_, values); }

void TrainedNetwork::save(TorchTrainerState& state) const {
  copy_out(values_, state.values);
  copy_out(first_moment_, state.first_moment);
  copy_out(second_moment_, state.second_moment);
  state.steps = steps_;
  state.momentum_product = momentum_product_;
}

void TrainedNetwork::resume(TorchTrainerState const& state) {
  torch::NoGradGuard const no_gradients;
  copy_in(values_, state.values);
  copy_in(first_moment_, state.first_moment);
  copy_in(second_moment_, state.second_moment);
  steps_ = state.steps;
  momentum_product_ = state.momentum_product;
}

}  // namespace fairlane
