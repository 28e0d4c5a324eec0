// How far the training of a network has come, and that in a saved state.
#pragma once

#include <optional>
#include <vector>

#include "engine/job/checkpoint.h"
#include "models/train/network_trainer.h"

namespace fairlane {

/// One epoch. loss is the mean over its batches; those of the validation rows are NaN where there
/// are none.
struct Epoch {
  int number = 0;  // from 1
  double loss = 0.0;
  double validation_loss = 0.0;
  double validation_accuracy = 0.0;
};

/// epochs       at least one
/// best         number of the epoch whose weights are kept
/// best_values  [parameters] these weights, as Network::values
/// trainer      after the last epoch
struct FitState {
  std::vector<Epoch> epochs;
  int best = 0;
  std::vector<float> best_values;
  TrainerState trainer;

  void write(CheckpointWriter& state) const;
  /// None where no training was on its way. Throws Error(kDisk | kBug).
  static std::optional<FitState> read(CheckpointReader const& state);
};

}  // namespace fairlane
