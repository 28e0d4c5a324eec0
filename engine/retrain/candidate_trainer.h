// Trains the candidates of a retraining one after the other, each once however often it is stopped.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/config/run_config.h"
#include "engine/job/checkpoint.h"
#include "engine/learning/fit.h"

namespace fairlane {

/// What a candidate learns.
struct CandidateTask {
  Network initial;
  TrainingRows train;
  TrainingRows validation;
  TrainConfig config;
  FitOptions fitting;
};

/// The networks of all candidates so far, and how far the next one is.
class CandidateTrainer {
 public:
  /// The next candidate's network: that of an earlier session, or a new one. Nothing but the task
  /// decides it.
  /// after_epoch: called when there is more to save. Throws as Fit does.
  Network next(CandidateTask task, std::uint64_t seed, std::function<void()> const& after_epoch);

  bool has_trained() const { return !trained_.empty() || current_.has_value(); }
  /// "2 candidates and 31 epochs"
  std::string done() const;
  void write(CheckpointWriter& state) const;
  void read(CheckpointReader const& state);

 private:
  std::vector<std::vector<float>> trained_;  // values of each network
  std::size_t taken_ = 0;                    // of them, by this session
  std::optional<FitState> current_;          // of the one on its way
};

}  // namespace fairlane
