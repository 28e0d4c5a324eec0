// A network in training.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "models/torch/plugin_api.h"

namespace fairlane {

/// Weights that follow the gradients of batches. All of them lie in one tensor, so that a step of
/// the optimizer is a few operations however many layers there are.
/// Source: torch.optim.SGD, Adam and NAdam.
class TrainedNetwork {
 public:
  TrainedNetwork(TorchTraining const& training, torch::Device device);

  /// One step; returns the batch's loss before it.
  float step(TorchBatch const& batch);
  /// inputs [count][inputs], logits [count][outputs].
  void logits(float const* inputs, std::int64_t count, float* logits) const;
  /// values: weights and biases, layer by layer.
  void values(float* values) const;
  /// Fills the state, whose arrays have their sizes.
  void save(TorchTrainerState& state) const;
  void resume(TorchTrainerState const& state);

 private:
  struct Layer {
    torch::Tensor weight;  // [inputs][outputs], in values_
    torch::Tensor bias;    // [outputs]
    std::int32_t activation;
    float alpha;
  };

  torch::Tensor to_device(float const* rows, std::int64_t count) const;
  torch::Tensor forward(torch::Tensor rows) const;
  torch::Tensor loss(TorchBatch const& batch) const;
  /// Moves the values by their gradients.
  void descend();

  TorchTraining training_;
  torch::Device device_;
  std::int64_t inputs_;
  std::int64_t outputs_;
  std::vector<Layer> layers_;
  torch::Tensor values_;
  torch::Tensor gradients_;
  torch::Tensor first_moment_;
  torch::Tensor second_moment_;
  std::int64_t steps_ = 0;
  double momentum_product_ = 1.0;  // of kTorchNadam
};

}  // namespace fairlane
