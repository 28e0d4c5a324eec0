#include "engine/learning/fit.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "engine/learning/similar_pairs.h"
#include "tests/engine/learning/small_table.h"
#include "tests/models/expect_error.h"
#include "tests/plugin_dir.h"

namespace fairlane {
namespace {

Fitted fitted(SmallTable const& small, std::string const& more, FitOptions options = {}) {
  RunConfig const config = small.config("train: {layers: [12], " + more + "}\n");
  TrainingTable const table = read_training_table(config);
  options.weights = row_weights(table.train, table.classes, config.train.class_weights);
  Network const initial =
      initial_network(config.train, table.domain.columns(), table.outputs(), config.seed);
  return fit(initial, table.train, table.validation, config.train, config.seed, options);
}

TEST(Fit, LearnsARuleAndKeepsTheBestEpoch) {
  FL_NEED_TORCH(dir);
  SmallTable const small;
  Fitted const result =
      fitted(small, "epochs: 150, batch: 16, learning_rate: 0.01, patience: null");
  ASSERT_EQ(result.epochs.size(), 150U);
  Epoch const& best = result.epochs[static_cast<std::size_t>(result.best) - 1];
  EXPECT_EQ(best.validation_accuracy, 1.0);
  for (Epoch const& epoch : result.epochs) EXPECT_GE(epoch.validation_loss, best.validation_loss);
}

TEST(Fit, GivesTheSameWeightsAgain) {
  FL_NEED_TORCH(dir);
  SmallTable const small;
  auto const weights = [&] { return fitted(small, "epochs: 3").network.layers[0].weights; };
  EXPECT_EQ(weights(), weights());
}

TEST(Fit, EndsWhenPatienceDoes) {
  FL_NEED_TORCH(dir);
  SmallTable const small;
  // Steps that lead astray: the first epochs are the best.
  Fitted const result =
      fitted(small, "epochs: 200, batch: 420, optimizer: sgd, learning_rate: 5.0, patience: 4");
  EXPECT_EQ(static_cast<int>(result.epochs.size()), result.best + 4);
}

TEST(Fit, TakesPlainInputsWhateverItLearntFrom) {
  FL_NEED_TORCH(dir);
  // With a single epoch from the same weights, inputs that are standard already make no difference.
  SmallTable const small;
  RunConfig const config = small.config("train: {layers: [12], epochs: 1, batch: 420}\n");
  TrainingTable table = read_training_table(config);
  FitOptions options;
  options.weights = row_weights(table.train, 2, ClassWeights::kNone);
  Network const initial = initial_network(config.train, 4, 1, 1);
  Network const folded =
      fit(initial, table.train, table.validation, config.train, 1, options).network;
  TrainingRows standard = table.train;
  for (std::size_t c = 0; c < 4; ++c) {
    double mean = 0.0;
    double square = 0.0;
    for (std::size_t i = c; i < standard.inputs.size(); i += 4)
      mean += static_cast<double>(standard.inputs[i]) / 420.0;
    for (std::size_t i = c; i < standard.inputs.size(); i += 4)
      square += std::pow(static_cast<double>(standard.inputs[i]) - mean, 2) / 420.0;
    for (std::size_t i = c; i < standard.inputs.size(); i += 4) {
      standard.inputs[i] =
          static_cast<float>((static_cast<double>(standard.inputs[i]) - mean) / std::sqrt(square));
    }
  }
  TrainConfig plain = config.train;
  plain.standardise = false;
  Network const unfolded = fit(initial, standard, {}, plain, 1, options).network;
  NetworkTrainer const a(folded, {});
  NetworkTrainer const b(unfolded, {});
  auto const z = a.logits(table.train.inputs);
  auto const expected = b.logits(standard.inputs);
  ASSERT_EQ(z.size(), 420U);
  constexpr float kRounding = 1e-5F;
  for (std::size_t i = 0; i < z.size(); ++i) EXPECT_NEAR(z[i], expected[i], kRounding);
}

TEST(Fit, MakesSimilarSetsAgreeWhereItIsAsked) {
  FL_NEED_TORCH(dir);
  SmallTable const small;
  auto const unfair_inputs = [&](double consistency) {
    RunConfig config = small.config("train: {layers: [12], epochs: 80, batch: 16}\n");
    config.train.consistency = consistency;
    TrainingTable const table = read_training_table(config);
    Network const initial = initial_network(config.train, 4, 1, 1);
    TestSubject const subject(config, Model("untrained", initial), table.domain);
    KnownPairs const none;
    SimilarPairs const pairs(subject, table.train, 0.5, 1, none);
    FitOptions options;
    options.weights = row_weights(table.train, 2, ClassWeights::kNone);
    options.pairs = consistency > 0.0 ? &pairs : nullptr;
    NetworkTrainer const still(
        fit(initial, table.train, table.validation, config.train, 1, options).network, {});
    int unfair = 0;
    for (int skill = 0; skill < 10; ++skill) {
      for (int group = 0; group < 3; ++group) {
        auto const x = static_cast<float>(skill);
        auto const g = static_cast<float>(group);
        auto const z = still.logits(std::vector<float>{x, g, 1, 0, x, g, 0, 1});
        unfair += (z[0] > 0.0F) != (z[1] > 0.0F) ? 1 : 0;
      }
    }
    return unfair;
  };
  EXPECT_EQ(unfair_inputs(0.0), 6);  // the rule's own: skill 4 and 5 in three groups
  EXPECT_EQ(unfair_inputs(100.0), 0);
}

TEST(Fit, StopsAndSaysWhatWentWrong) {
  FL_NEED_TORCH(dir);
  SmallTable const small;
  std::atomic<bool> const stop = true;
  FitOptions options;
  options.stop = &stop;
  expect_error(ExitCode::kInterrupted, {"trains anew"},
               [&] { fitted(small, "epochs: 3", options); });
  expect_error(ExitCode::kData, {"the loss of epoch", "train.learning_rate", "1e+30"},
               [&] { fitted(small, "epochs: 9, optimizer: sgd, learning_rate: 1.0e+30"); });
}

class FitOf : public testing::TestWithParam<char const*> {};

TEST_P(FitOf, GoesOnBehindEveryEpochAsIfNothingHadHappened) {
  FL_NEED_TORCH(dir);
  SmallTable const small;
  RunConfig const config =
      small.config(std::string("train: {layers: [6], epochs: 6, optimizer: ") + GetParam() + "}\n");
  TrainingTable const table = read_training_table(config);
  Network const initial = initial_network(config.train, 4, 1, config.seed);
  FitOptions options;
  options.weights = row_weights(table.train, table.classes, ClassWeights::kNone);
  options.is_saved = true;
  auto const make = [&] {
    return std::make_unique<Fit>(initial, table.train, table.validation, config.train, config.seed,
                                 options);
  };
  auto const whole = make();
  std::vector<FitState> states;
  while (!whole->is_done()) {
    whole->run_epoch();
    states.push_back(whole->state());
  }
  ASSERT_EQ(states.size(), 6U);
  std::string const path = small.file("state");
  for (FitState const& saved : states) {
    CheckpointWriter writer(path, "this test");
    saved.write(writer);
    writer.commit();
    auto const reader = open_checkpoint(path, "this test", {});
    ASSERT_NE(reader, nullptr);
    auto const read = FitState::read(*reader);
    ASSERT_TRUE(read.has_value());
    auto const rest = make();
    rest->resume(*read);
    while (!rest->is_done()) rest->run_epoch();
    EXPECT_EQ(rest->fitted().network.values(), whole->fitted().network.values());
    EXPECT_EQ(rest->fitted().best, whole->fitted().best);
    ASSERT_EQ(rest->fitted().epochs.size(), 6U);
    for (std::size_t e = 0; e < 6; ++e) {
      EXPECT_EQ(rest->fitted().epochs[e].number, static_cast<int>(e) + 1);
      EXPECT_EQ(rest->fitted().epochs[e].loss, whole->fitted().epochs[e].loss);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllOptimizers, FitOf, testing::Values("sgd", "adam", "nadam"));

TEST(Fit, WeighsClassesTheSame) {
  SmallTable const small;
  TrainingTable const table = read_training_table(small.config());
  auto const weights = row_weights(table.train, 2, ClassWeights::kBalanced);
  double sums[2] = {};
  for (std::size_t i = 0; i < weights.size(); ++i)
    sums[table.train.labels[i]] += static_cast<double>(weights[i]);
  constexpr double kRounding = 1e-3;
  EXPECT_NEAR(sums[0], 210.0, kRounding);
  EXPECT_NEAR(sums[1], 210.0, kRounding);
}

TEST(InitialNetwork, HasGlorotsWeights) {
  TrainConfig config;
  config.layers = {50, 20};
  Network const network = initial_network(config, 30, 3, 42);
  validate(network);
  ASSERT_EQ(network.layers.size(), 3U);
  EXPECT_EQ(network.layers[2].activation, Activation::kSoftmax);
  for (DenseLayer const& layer : network.layers) {
    double const limit = std::sqrt(6.0 / (layer.inputs + layer.outputs));
    float most = 0.0F;
    double sum = 0.0;
    for (float const weight : layer.weights) {
      most = std::max(most, std::abs(weight));
      sum += static_cast<double>(weight);
    }
    auto const count = static_cast<double>(layer.weights.size());
    EXPECT_LE(static_cast<double>(most), limit * 1.0000001);
    EXPECT_GT(static_cast<double>(most), limit * 0.9);
    EXPECT_NEAR(sum / count, 0.0, 5.0 * limit / std::sqrt(3.0 * count));
    for (float const bias : layer.bias) EXPECT_EQ(bias, 0.0F);
  }
  EXPECT_NE(network.layers[0].weights, initial_network(config, 30, 3, 43).layers[0].weights);
  config.layers.clear();
  EXPECT_EQ(initial_network(config, 30, 1, 42).layers.size(), 6U);
  EXPECT_EQ(initial_network(network, 30, 3, 42).layers[0].weights, network.layers[0].weights);
}

}  // namespace
}  // namespace fairlane
