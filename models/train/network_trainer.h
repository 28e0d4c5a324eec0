// Trains a network by LibTorch, through its plug-in.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "models/network.h"
#include "models/torch/plugin_api.h"

namespace fairlane {

/// How weights follow gradients.
enum class Optimizer { kSgd, kAdam, kNadam };

/// momentum      of kSgd
/// weight_decay  times the weights, added to their gradients
struct Descent {
  Optimizer optimizer = Optimizer::kAdam;
  double learning_rate = 0.001;
  double momentum = 0.9;
  double weight_decay = 0.0;
};

/// Rows for one step of training: the loss is the weighted mean of their cross-entropies, and
/// pair_weight times the mean squared difference of the pairs' probabilities.
/// inputs         [rows][inputs]
/// labels         [rows] classes
/// weights        [rows]
/// first, second  [pairs][inputs] whose outputs are to agree
struct TrainingBatch {
  std::span<float const> inputs;
  std::span<std::int32_t const> labels;
  std::span<float const> weights;
  std::span<float const> first = {};
  std::span<float const> second = {};
  float pair_weight = 0.0F;
};

/// How far a training has come.
/// values                       [parameters] weights and biases, layer by layer
/// first_moment, second_moment  [parameters] of their gradients
struct TrainerState {
  std::vector<float> values;
  std::vector<float> first_moment;
  std::vector<float> second_moment;
  std::int64_t steps = 0;
  double momentum_product = 1.0;  // of kNadam
};

/// A network in training. A function of its batches on a CPU, by one thread; several of them may
/// train side by side.
class NetworkTrainer {
 public:
  /// initial: the weights to begin with; its last layer's activation is left out.
  /// Throws Error(kUnavailable) without the plug-in.
  NetworkTrainer(Network const& initial, Descent const& descent, bool on_gpu = false);

  /// One step; returns the batch's loss before it. Throws Error(kUnavailable).
  float step(TrainingBatch const& batch);
  /// inputs [count][inputs]; returns [count][outputs] logits. Throws Error(kUnavailable).
  std::vector<float> logits(std::span<float const> inputs) const;
  /// The network as it is. Throws Error(kUnavailable).
  Network network() const;
  /// Throws Error(kUnavailable).
  TrainerState state() const;
  /// Goes on from there, as the trainer would have done whose state that was. Throws
  /// Error(kUnavailable), and Error(kBug) where it was of another network.
  void resume(TrainerState const& state);

 private:
  TorchPlugin const& plugin_;
  Network network_;  // whose weights are the initial ones
  std::unique_ptr<TorchTrainer, void (*)(TorchTrainer*)> trainer_;
};

/// Whether the plug-in of this machine has a GPU to train on. Throws Error(kUnavailable).
bool can_train_on_gpu();

}  // namespace fairlane
