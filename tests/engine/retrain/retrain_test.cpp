#include "engine/retrain/retrain.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "base/error.h"
#include "models/train/forest.h"
#include "tests/engine/learning/ruled_table.h"
#include "tests/engine/results/run_output.h"
#include "tests/models/expect_error.h"
#include "tests/plugin_dir.h"

namespace fairlane {
namespace {

class RetrainOf : public testing::TestWithParam<char const*> {};

TEST_P(RetrainOf, TrainsNothingTwiceWhereItWasStopped) {
  FL_NEED_TORCH(dir);
  if (!has_forest()) GTEST_SKIP() << "this plug-in was built without OpenCV (libopencv-ml-dev)";
  RuledTable const ruled(std::string("train: {layers: [6], epochs: 4, patience: null}\n"
                                     "retrain: {candidates: 2, share: 0.4, accuracy_lost: 1, "
                                     "f1_lost: 1, check_evaluations: 500, recipe: ") +
                         GetParam() + "}\n");
  RunConfig const whole = to(ruled.config, ruled.small.file("whole"));
  retrain(whole, {});
  RunConfig const parts = to(ruled.config, ruled.small.file("parts"));
  std::atomic<bool> stop = false;
  int epochs = 0;
  std::string last;
  RetrainOptions options;
  options.stop = &stop;
  options.progress = [&](RetrainProgress const& progress) {
    if (progress.what.find("epoch") != std::string::npos) ++epochs;
    stop = !last.empty() && progress.what.find(last) != std::string::npos;
  };
  last = "candidate 1: epoch 2";
  expect_error(ExitCode::kStopped, {"0 candidates and 2 epochs done", "goes on"},
               [&] { retrain(parts, options); });
  last = "candidate 2: epoch 1";
  expect_error(ExitCode::kStopped, {"1 candidate and 1 epochs done", "goes on"},
               [&] { retrain(parts, options); });
  // Stopped before it has trained anything more, it keeps what it had.
  last = "searching";
  expect_error(ExitCode::kStopped, {"1 candidate and 1 epochs done", "goes on"},
               [&] { retrain(parts, options); });
  last.clear();
  retrain(parts, options);
  EXPECT_EQ(epochs, 8);
  EXPECT_EQ(without_timing(whole.output.dir), without_timing(parts.output.dir));
  for (char const* file : {"manifest.json", "model.safetensors", "added.csv", "run.yaml"}) {
    EXPECT_TRUE(slurp(whole.output.dir + "/" + file) == slurp(parts.output.dir + "/" + file))
        << file << " differs";
  }
}

INSTANTIATE_TEST_SUITE_P(Recipes, RetrainOf, testing::Values("consistency", "eidig"));

}  // namespace
}  // namespace fairlane
