// Fitting a network to rows: epochs of batches, the best of which is kept.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/config/run_config.h"
#include "engine/train/training_table.h"
#include "models/network.h"

namespace fairlane {

/// Hidden units where neither a configuration nor a model says any: those of EIDIG's census network.
inline constexpr int kDefaultLayers[] = {64, 32, 16, 8, 4};

/// A network to begin with: Glorot's uniform weights, biases of 0.
/// Source: Glorot and Bengio, AISTATS 2010.
/// layers: hidden units
Network initial_network(std::vector<int> layers, Activation activation, int columns, int outputs,
                        std::uint64_t seed);
/// Same, as a configuration says.
Network initial_network(TrainConfig const& train, int columns, int outputs, std::uint64_t seed);
/// Same, with the layers of another network.
Network initial_network(Network const& like, int columns, int outputs, std::uint64_t seed);

/// Pairs of inputs that are to get the same output, beside each batch.
class PairSource {
 public:
  virtual ~PairSource() = default;
  /// first, second [pairs][columns] of a batch, by its number since training began.
  virtual void draw(std::uint32_t batch, std::size_t pairs, std::vector<float>& first,
                    std::vector<float>& second) const = 0;
};

/// One epoch. loss is the mean over its batches; those of the validation rows are NaN where there
/// are none.
struct Epoch {
  int number = 0;  // from 1
  double loss = 0.0;
  double validation_loss = 0.0;
  double validation_accuracy = 0.0;
};

/// epochs  all that ran
/// best    number of the epoch whose weights were kept
struct Fitted {
  Network network;
  std::vector<Epoch> epochs;
  int best = 0;
};

/// weights   [train.count()] of the rows
/// pairs     with train.consistency; null: none
/// stop      set by a signal: Error(kInterrupted)
/// progress  called after every epoch
struct FitOptions {
  std::vector<float> weights;
  PairSource const* pairs = nullptr;
  bool on_gpu = false;
  std::atomic<bool> const* stop = nullptr;
  std::function<void(Epoch const&)> progress;
};

/// Trains on all rows in random order, epoch by epoch; keeps the weights with the least loss on the
/// validation rows, or the last ones where there are none. A function of its arguments on a CPU.
/// Throws Error(kUnavailable | kInterrupted), and Error(kData) where the loss is no number.
Fitted fit(Network const& initial, TrainingRows const& train, TrainingRows const& validation,
           TrainConfig const& config, std::uint64_t seed, FitOptions const& options);

/// Weights of rows: 1, or what makes classes weigh the same. [rows.count()]
std::vector<float> row_weights(TrainingRows const& rows, int classes, ClassWeights weights);

}  // namespace fairlane
