// retrain: makes a model fairer, and says what that gained and cost.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "engine/config/run_config.h"
#include "engine/job/checkpoint.h"

namespace fairlane {

/// What a retraining is doing.
struct RetrainProgress {
  std::string what;
  double seconds = 0.0;
};

/// export_set  write what is to be learnt from, for another program, and train nothing
/// evaluate    judge this model instead of training candidates; empty: train
struct RetrainOptions {
  Execution execution;
  bool overwrite = false;
  bool export_set = false;
  std::string evaluate;
  std::atomic<bool> const* stop = nullptr;
  CheckpointClock::Now now;  // time for the distance of saved states; for tests
  std::function<void(RetrainProgress const&)> progress;
  std::function<void(std::string const&)> notice;
};

/// Searches the configured model for IDIs, trains candidates as retrain.recipe says, takes the one
/// with the fewest IDIs among those that lose no more than retrain.accuracy_lost on the validation
/// rows, searches that one in turn for as many rounds as retrain.rounds says, and holds the best
/// against the original. Writes the output directory: the model that was taken
/// as `train` writes it, run.yaml, added.csv (the rows that the last candidate
/// learnt from beside the table, with their labels), and summary.json:
///   recipe
///   rounds            of each: the IDIs that there were to learn from, and where they are from
///   voters            who labelled them, and how good they are on held-out rows
///   candidates        of each: what was added, accuracy, share of IDIs, is_pareto
///   taken             number of the candidate; null: none is better
///   before, after     metrics on held-out rows, and fairness
/// The original is never changed. With `export_set`: retraining.csv and test.csv instead.
/// Returns summary.json. A function of the manifest, but for `timing`, on a CPU.
/// Throws Error; kStopped where it was stopped and the same command goes on behind an epoch.
std::string retrain(RunConfig const& config, RetrainOptions const& options);

}  // namespace fairlane
