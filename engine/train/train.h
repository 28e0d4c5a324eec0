// train: makes a classifier from a table, and says how good and how fair it is.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "engine/config/run_config.h"
#include "engine/job/checkpoint.h"
#include "engine/learning/fit.h"
#include "engine/learning/metrics.h"
#include "engine/subject/subject.h"

namespace fairlane {

/// How far a training has come.
struct TrainProgress {
  Epoch epoch;
  int epochs = 0;  // at most
  double seconds = 0.0;
};

/// stop              set by a signal
/// now               time for the distance of saved states; for tests
/// progress, notice  called by the calling thread
struct TrainOptions {
  Execution execution;
  bool overwrite = false;
  std::atomic<bool> const* stop = nullptr;
  CheckpointClock::Now now;
  std::function<void(TrainProgress const&)> progress;
  std::function<void(std::string const&)> notice;
};

/// Trains a network on the configured table and writes the output directory: the model as
/// model.safetensors and model.h5 (where Keras 2 has words for it), run.yaml, a
/// configuration with which it can be tested at once, history.csv, a row an epoch, and
/// summary.json:
///   rows      learnt from, for validation, held out
///   metrics   accuracy, precision, recall, f1, auc on these, by what was written
///   epochs, best_epoch, parameters
///   domain_share  share of the domain's inputs that are IDIs, as `run` has it
/// Returns summary.json. All but `timing` is a function of the manifest on a CPU.
/// Throws Error; kStopped where it was stopped and the same command goes on behind an epoch.
std::string train(RunConfig const& config, TrainOptions const& options);

/// How good a model is on rows, in the arithmetic of the contract.
Metrics measure_on(TestSubject const& subject, Backend& backend, TrainingRows const& rows,
                   int classes);

/// Writes a network in every form that it has: NAME.safetensors, NAME.h5; `place` makes
/// a path of a file's name. Throws Error.
void write_network(Network const& network, std::string const& name,
                   std::function<std::string(std::string const&)> const& place);

/// The text of a configuration with which a model in the output directory can be tested at once.
/// model: its file there
std::string test_config_text(RunConfig const& config, TestSubject const& subject,
                             std::string const& model);

}  // namespace fairlane
