// Fitting a network to rows: epochs of batches, the best of which is kept.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/config/run_config.h"
#include "engine/learning/fit_state.h"
#include "engine/learning/training_table.h"
#include "models/network.h"
#include "models/train/network_trainer.h"

namespace fairlane {

/// Hidden units where neither configuration nor model says any: those of EIDIG's census network.
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
/// is_saved  its state may be saved after every epoch
/// progress  called after every epoch
struct FitOptions {
  std::vector<float> weights;
  PairSource const* pairs = nullptr;
  bool on_gpu = false;
  std::atomic<bool> const* stop = nullptr;
  bool is_saved = false;
  std::function<void(Epoch const&)> progress;
};

/// A training on all rows in random order, epoch by epoch; keeps the weights with the least loss on
/// the validation rows, or the last ones where there are none. On a CPU its arguments decide all.
class Fit {
 public:
  /// initial, train, config: outlive this. Throws Error(kUnavailable).
  Fit(Network const& initial, TrainingRows const& train, TrainingRows const& validation,
      TrainConfig const& config, std::uint64_t seed, FitOptions options);
  ~Fit();
  Fit(Fit const&) = delete;
  Fit& operator=(Fit const&) = delete;

  /// All epochs have run, or none has been better for train.patience.
  bool is_done() const;
  /// Throws Error(kUnavailable | kInterrupted), and Error(kData) where the loss is no number.
  void run_epoch();
  Fitted const& fitted() const { return fitted_; }

  /// After the last epoch, whichever has begun; with is_saved.
  FitState state() const;
  /// Goes on behind these epochs. Throws Error.
  void resume(FitState const& state);

 private:
  class Standard;

  /// Returns the mean loss.
  double learn(std::uint32_t epoch);

  TrainConfig const& config_;
  std::uint64_t seed_;
  FitOptions options_;
  TrainingRows const& train_;
  TrainingRows validation_;  // whose inputs are standard
  std::unique_ptr<Standard> standard_;
  NetworkTrainer trainer_;
  int outputs_;
  Fitted fitted_;
  TrainerState trained_;  // after the last epoch
};

/// All epochs of it. Throws as they do.
Fitted fit(Network const& initial, TrainingRows const& train, TrainingRows const& validation,
           TrainConfig const& config, std::uint64_t seed, FitOptions const& options);

/// Weights of rows: 1, or what makes classes weigh the same. [rows.count()]
std::vector<float> row_weights(TrainingRows const& rows, int classes, ClassWeights weights);

}  // namespace fairlane
