#include "engine/train/train.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "base/error.h"
#include "tests/engine/learning/small_table.h"
#include "tests/engine/results/run_output.h"
#include "tests/models/expect_error.h"
#include "tests/plugin_dir.h"

namespace fairlane {
namespace {

RunConfig eight_epochs(SmallTable const& small, char const* dir) {
  RunConfig const config = small.config("train: {layers: [6], epochs: 8, patience: null}\n");
  return to(config, small.file(dir));
}

void expect_same_training(std::string const& a, std::string const& b) {
  for (char const* file :
       {"manifest.json", "model.safetensors", "model.onnx", "history.csv", "run.yaml", "DONE"})
    EXPECT_TRUE(slurp(a + "/" + file) == slurp(b + "/" + file)) << file << " differs";
  EXPECT_EQ(without_timing(a), without_timing(b));
}

/// Trains on from a saved state, to what a training without a stop ends with.
void expect_to_go_on(SmallTable const& small, RunConfig const& stopped, TrainOptions options,
                     std::string const& notice) {
  std::vector<std::string> told;
  options.notice = [&](std::string const& line) { told.push_back(line); };
  options.progress = {};
  train(stopped, options);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0], notice);
  RunConfig const whole = eight_epochs(small, "whole");
  train(whole, {});
  expect_same_training(whole.output.dir, stopped.output.dir);
}

TEST(Train, GoesOnBehindTheEpochAtWhichItWasStopped) {
  FL_NEED_TORCH(dir);
  SmallTable const small;
  RunConfig const parts = eight_epochs(small, "parts");
  std::atomic<bool> stop = false;
  TrainOptions options;
  options.stop = &stop;
  for (int const last : {2, 5}) {
    stop = false;
    options.progress = [&, last](TrainProgress const& progress) {
      stop = progress.epoch.number >= last;
    };
    expect_error(ExitCode::kStopped,
                 {"stopped", "parts", std::to_string(last) + " of 8 epochs done", "goes on"},
                 [&] { train(parts, options); });
  }
  stop = false;
  expect_to_go_on(small, parts, options, "goes on from the saved state: 5 of 8 epochs are done");
}

TEST(Train, GoesOnFromWhatItSavedOnTheWay) {
  FL_NEED_TORCH(dir);
  SmallTable const small;
  RunConfig const killed = eight_epochs(small, "killed");
  double now = 0.0;
  TrainOptions options;
  options.execution.checkpoint = 100.0;
  options.now = [&] { return now; };
  options.progress = [&](TrainProgress const& progress) {
    now += 60.0;  // due at the second epoch and the fourth
    if (progress.epoch.number == 6) throw Error(ExitCode::kBug, "the machine goes down");
  };
  expect_error(ExitCode::kBug, {"goes down"}, [&] { train(killed, options); });
  expect_to_go_on(small, killed, options, "goes on from the saved state: 4 of 8 epochs are done");
}

TEST(Train, KeepsNoStateOfATrainingThatCannotGoOn) {
  FL_NEED_TORCH(dir);
  SmallTable const small;
  RunConfig config = eight_epochs(small, "astray");
  config.train.descent.optimizer = Optimizer::kSgd;
  config.train.descent.learning_rate = 1e18;
  for (int attempt = 0; attempt < 2; ++attempt) {
    expect_error(ExitCode::kData, {"the loss of epoch", "train.learning_rate"},
                 [&] { train(config, {}); });
  }
}

}  // namespace
}  // namespace fairlane
