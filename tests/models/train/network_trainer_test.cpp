#include "models/train/network_trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "tests/plugin_dir.h"

namespace fairlane {
namespace {

constexpr double kTolerance = 2e-5;  // float32 against double, over a few steps
constexpr int kInputs = 3;
constexpr int kRows = 7;
constexpr int kPairs = 4;

/// Numbers of a batch.
struct Numbers {
  std::vector<float> inputs;
  std::vector<std::int32_t> labels;
  std::vector<float> weights;
  std::vector<float> first;
  std::vector<float> second;

  Numbers(std::mt19937& random, int classes) {
    std::normal_distribution<float> normal;
    for (int i = 0; i < kRows * kInputs; ++i) inputs.push_back(normal(random));
    for (int i = 0; i < kRows; ++i) {
      labels.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(classes)));
      weights.push_back(0.5F + static_cast<float>(i));
    }
    for (int i = 0; i < kPairs * kInputs; ++i) {
      first.push_back(normal(random));
      second.push_back(normal(random));
    }
  }
  TrainingBatch batch(float pair_weight) const {
    if (pair_weight == 0.0F) return {inputs, labels, weights};
    return {inputs, labels, weights, first, second, pair_weight};
  }
};

Network random_network(std::mt19937& random, Activation activation, int outputs) {
  Network network;
  network.source = "a test's";
  int const units[] = {5, 4, outputs};
  int inputs = kInputs;
  std::normal_distribution<float> normal(0.0F, 0.6F);
  for (int l = 0; l < 3; ++l) {
    DenseLayer layer;
    layer.inputs = inputs;
    layer.outputs = units[l];
    layer.activation = l < 2          ? activation
                       : outputs == 1 ? Activation::kSigmoid
                                      : Activation::kSoftmax;
    layer.alpha = activation == Activation::kElu ? 1.0F : 0.01F;
    for (int i = 0; i < layer.inputs * layer.outputs; ++i) layer.weights.push_back(normal(random));
    for (int i = 0; i < layer.outputs; ++i) layer.bias.push_back(normal(random));
    network.layers.push_back(layer);
    inputs = units[l];
  }
  return network;
}

double activated_value(Activation activation, double x) {
  switch (activation) {
    case Activation::kRelu:
      return std::max(x, 0.0);
    case Activation::kLeakyRelu:
      return x > 0.0 ? x : static_cast<double>(0.01F) * x;
    case Activation::kElu:
      return x > 0.0 ? x : std::expm1(x);
    case Activation::kTanh:
      return std::tanh(x);
    case Activation::kSigmoid:
      return 1.0 / (1.0 + std::exp(-x));
    case Activation::kSilu:
      return x / (1.0 + std::exp(-x));
    case Activation::kGelu:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    default:
      return x;
  }
}

/// The same training in double, with gradients as differences of the loss.
class Reference {
 public:
  Reference(Network const& network, Descent const& descent) : network_(network), descent_(descent) {
    for (DenseLayer const& layer : network.layers) {
      values_.insert(values_.end(), layer.weights.begin(), layer.weights.end());
      values_.insert(values_.end(), layer.bias.begin(), layer.bias.end());
    }
    first_.assign(values_.size(), 0.0);
    second_.assign(values_.size(), 0.0);
  }

  std::vector<double> logits(float const* row) const {
    std::vector<double> x(row, row + kInputs);
    std::size_t at = 0;
    for (std::size_t l = 0; l < network_.layers.size(); ++l) {
      DenseLayer const& layer = network_.layers[l];
      auto const inputs = static_cast<std::size_t>(layer.inputs);
      auto const outputs = static_cast<std::size_t>(layer.outputs);
      std::vector<double> y(outputs);
      for (std::size_t o = 0; o < outputs; ++o) {
        y[o] = values_[at + inputs * outputs + o];
        for (std::size_t i = 0; i < inputs; ++i) y[o] += x[i] * values_[at + i * outputs + o];
        if (l + 1 < network_.layers.size()) y[o] = activated_value(layer.activation, y[o]);
      }
      at += (inputs + 1) * outputs;
      x = y;
    }
    return x;
  }

  std::vector<double> probabilities(float const* row) const {
    std::vector<double> z = logits(row);
    if (z.size() == 1) return {1.0 / (1.0 + std::exp(-z[0]))};
    double sum = 0.0;
    for (double& value : z) sum += value = std::exp(value);
    for (double& value : z) value /= sum;
    return z;
  }

  double loss(TrainingBatch const& batch) const {
    double sum = 0.0;
    double weights = 0.0;
    for (std::size_t i = 0; i < batch.labels.size(); ++i) {
      auto const p = probabilities(&batch.inputs[i * kInputs]);
      auto const label = static_cast<std::size_t>(batch.labels[i]);
      double const of_label = p.size() > 1 ? p[label] : label == 1 ? p[0] : 1.0 - p[0];
      weights += static_cast<double>(batch.weights[i]);
      sum -= static_cast<double>(batch.weights[i]) * std::log(of_label);
    }
    double total = sum / weights;
    std::size_t const pairs = batch.first.size() / kInputs;
    double squares = 0.0;
    std::size_t values = 0;
    for (std::size_t k = 0; k < pairs; ++k) {
      auto const p = probabilities(&batch.first[k * kInputs]);
      auto const q = probabilities(&batch.second[k * kInputs]);
      for (std::size_t c = 0; c < p.size(); ++c, ++values) squares += std::pow(p[c] - q[c], 2);
    }
    if (values > 0)
      total += static_cast<double>(batch.pair_weight) * squares / static_cast<double>(values);
    return total;
  }

  void step(TrainingBatch const& batch) {
    constexpr double kStep = 1e-6;
    std::vector<double> gradients;
    for (double& value : values_) {
      double const before = value;
      value = before + kStep;
      double const above = loss(batch);
      value = before - kStep;
      double const below = loss(batch);
      value = before;
      gradients.push_back((above - below) / (2.0 * kStep) + descent_.weight_decay * before);
    }
    ++steps_;
    double const t = steps_;
    auto const momentum = [](double at) { return 0.9 * (1.0 - 0.5 * std::pow(0.96, at * 0.004)); };
    product_ *= momentum(t);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      double const g = gradients[i];
      double& m = first_[i];
      double& v = second_[i];
      double const rate = descent_.learning_rate;
      if (descent_.optimizer == Optimizer::kSgd) {
        m = descent_.momentum * m + g;
        values_[i] -= rate * m;
        continue;
      }
      m = 0.9 * m + 0.1 * g;
      v = 0.999 * v + 0.001 * g * g;
      double const scale = std::sqrt(v / (1.0 - std::pow(0.999, t))) + 1e-8;
      values_[i] -= descent_.optimizer == Optimizer::kAdam
                        ? rate * m / (1.0 - std::pow(0.9, t)) / scale
                        : rate *
                              ((1.0 - momentum(t)) * g / (1.0 - product_) +
                               momentum(t + 1.0) * m / (1.0 - product_ * momentum(t + 1.0))) /
                              scale;
    }
  }

  std::vector<double> const& values() const { return values_; }

 private:
  Network network_;
  Descent descent_;
  std::vector<double> values_;
  std::vector<double> first_;
  std::vector<double> second_;
  double steps_ = 0.0;
  double product_ = 1.0;
};

std::vector<float> values_of(Network const& network) {
  std::vector<float> values;
  for (DenseLayer const& layer : network.layers) {
    values.insert(values.end(), layer.weights.begin(), layer.weights.end());
    values.insert(values.end(), layer.bias.begin(), layer.bias.end());
  }
  return values;
}

TEST(NetworkTrainer, StepsAsTheSameFormulasInDoubleDo) {
  FL_NEED_TORCH(dir);
  constexpr Activation kActivations[] = {
      Activation::kTanh, Activation::kSigmoid, Activation::kSilu,     Activation::kGelu,
      Activation::kElu,  Activation::kRelu,    Activation::kLeakyRelu};
  constexpr Optimizer kOptimizers[] = {Optimizer::kSgd, Optimizer::kAdam, Optimizer::kNadam};
  std::mt19937 random(20'261);
  int number = 0;
  for (Activation const activation : kActivations) {
    for (Optimizer const optimizer : kOptimizers) {
      int const outputs = number % 2 == 0 ? 1 : 3;
      Descent const descent{optimizer, 0.01, 0.9, number % 3 == 0 ? 0.1 : 0.0};
      float const pair_weight = number % 4 == 3 ? 0.0F : 2.5F;
      Network const network = random_network(random, activation, outputs);
      NetworkTrainer trainer(network, descent);
      Reference reference(network, descent);
      for (int step = 0; step < 5; ++step) {
        Numbers const numbers(random, outputs == 1 ? 2 : outputs);
        TrainingBatch const batch = numbers.batch(pair_weight);
        EXPECT_NEAR(static_cast<double>(trainer.step(batch)), reference.loss(batch), kTolerance);
        reference.step(batch);
        auto const z = trainer.logits(numbers.inputs);
        auto const expected = reference.logits(numbers.inputs.data());
        for (std::size_t c = 0; c < expected.size(); ++c)
          EXPECT_NEAR(static_cast<double>(z[c]), expected[c], 10.0 * kTolerance);
      }
      auto const values = values_of(trainer.network());
      ASSERT_EQ(values.size(), reference.values().size());
      double worst = 0.0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        worst = std::max(worst, std::abs(static_cast<double>(values[i]) - reference.values()[i]));
      }
      EXPECT_LT(worst, kTolerance) << "activation " << static_cast<int>(activation)
                                   << ", optimizer " << static_cast<int>(optimizer);
      ++number;
    }
  }
}

TEST(NetworkTrainer, GivesTheSameBytesAgainAndBesideAnother) {
  FL_NEED_TORCH(dir);
  std::mt19937 random(7);
  Network const network = random_network(random, Activation::kRelu, 1);
  Numbers const numbers(random, 2);
  auto const train = [&](std::vector<float>& values) {
    NetworkTrainer trainer(network, {});
    for (int step = 0; step < 50; ++step) trainer.step(numbers.batch(1.0F));
    values = values_of(trainer.network());
  };
  std::vector<float> once;
  train(once);
  std::vector<float> here;
  std::vector<float> there;
  std::thread other([&] { train(there); });
  train(here);
  other.join();
  EXPECT_EQ(once, here);
  EXPECT_EQ(once, there);
  EXPECT_NE(once, values_of(network));
}

TEST(NetworkTrainer, KeepsShapeAndActivations) {
  FL_NEED_TORCH(dir);
  std::mt19937 random(8);
  Network const network = random_network(random, Activation::kLeakyRelu, 3);
  Network const same = NetworkTrainer(network, {}).network();
  EXPECT_EQ(values_of(same), values_of(network));
  EXPECT_EQ(same.layers[0].activation, Activation::kLeakyRelu);
  EXPECT_EQ(same.layers[2].activation, Activation::kSoftmax);
  EXPECT_EQ(same.layers[1].alpha, 0.01F);
}

TEST(NetworkTrainer, SaysWhatThePlugInLacks) {
  PluginDir const dir(fake_plugin("lying"));
  std::mt19937 random(9);
  Network const network = random_network(random, Activation::kRelu, 1);
  try {
    NetworkTrainer const trainer(network, {});
    ADD_FAILURE();
  } catch (Error const& error) {
    EXPECT_EQ(error.code(), ExitCode::kUnavailable);
    EXPECT_STREQ(error.what(), "LibTorch cannot train: the fake trains nothing");
  }
}

}  // namespace
}  // namespace fairlane
