#include "engine/recheck/exact_label.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <random>

namespace fairlane {
namespace {

using Rational = boost::multiprecision::cpp_rational;

/// Outputs in fractions, unit by unit.
std::vector<Rational> outputs_in_fractions(Network const& network,
                                           std::vector<double> const& inputs) {
  std::vector<Rational> values(inputs.begin(), inputs.end());
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    DenseLayer const& layer = network.layers[l];
    auto const outputs = static_cast<std::size_t>(layer.outputs);
    std::vector<Rational> sums;
    for (std::size_t o = 0; o < outputs; ++o) {
      Rational sum(static_cast<double>(layer.bias[o]));
      for (std::size_t k = 0; k < values.size(); ++k)
        sum += values[k] * Rational(static_cast<double>(layer.weights[k * outputs + o]));
      bool const negative = l + 1 < network.layers.size() && sum < 0;
      if (negative && layer.activation == Activation::kRelu) sum = 0;
      if (negative && layer.activation == Activation::kLeakyRelu)
        sum *= Rational(static_cast<double>(layer.alpha));
      sums.push_back(sum);
    }
    values = sums;
  }
  return values;
}

Network random_layers(std::vector<int> const& widths, Activation activation, float alpha,
                      std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::uniform_int_distribution<int> exponent(-140, 30);
  Network network;
  for (std::size_t l = 0; l + 1 < widths.size(); ++l) {
    DenseLayer layer;
    layer.inputs = widths[l];
    layer.outputs = widths[l + 1];
    layer.activation = activation;
    layer.alpha = alpha;
    for (int i = 0; i < layer.inputs * layer.outputs; ++i) {
      float const scale = i % 7 == 0 ? std::ldexp(1.0F, exponent(random)) : 1.0F;
      layer.weights.push_back(i % 5 == 0 ? 0.0F : scale * normal(random));
    }
    for (int o = 0; o < layer.outputs; ++o) layer.bias.push_back(o == 1 ? 0.0F : normal(random));
    network.layers.push_back(std::move(layer));
  }
  return network;
}

TEST(ExactLabel, IsThatOfFractions) {
  std::mt19937 random(5);
  std::uniform_int_distribution<int> code(-9, 9);
  int labels = 0;
  for (int trial = 0; trial < 200; ++trial) {
    SCOPED_TRACE(trial);
    bool const leaky = trial % 3 == 1;
    float const alpha = trial % 2 == 0 ? 2.0F : 0.3F;
    std::vector<int> const widths =
        trial % 4 == 3 ? std::vector<int>{4, 6, 3} : std::vector<int>{4, 6, 5, 1};
    Network const network =
        random_layers(widths, leaky ? Activation::kLeakyRelu : Activation::kRelu, alpha, random);
    std::vector<double> inputs;
    for (int i = 0; i < 4; ++i)
      inputs.push_back(trial % 2 == 0 ? code(random) : code(random) / 3.0);
    auto const outputs = outputs_in_fractions(network, inputs);
    if (outputs.size() > 1) {
      EXPECT_EQ(exact_label(network, inputs, 0.0),
                std::ranges::max_element(outputs) - outputs.begin());
      continue;
    }
    // Beside the output, and where it is a double on the output itself.
    auto const nearest = outputs[0].convert_to<double>();
    for (double const threshold :
         {0.0, nearest, std::nextafter(nearest, -HUGE_VAL), std::nextafter(nearest, HUGE_VAL)}) {
      std::int32_t const label = outputs[0] > Rational(threshold) ? 1 : 0;
      EXPECT_EQ(exact_label(network, inputs, threshold), label);
      labels += label;
    }
  }
  EXPECT_GT(labels, 150);
  EXPECT_LT(labels, 450);
}

TEST(ExactLabel, IsZeroOnTheThreshold) {
  Network network;
  network.layers.emplace_back();
  DenseLayer& layer = network.layers.back();
  layer.inputs = 1;
  layer.outputs = 1;
  layer.weights = {0.1F};
  layer.bias = {1.0F};
  double const tenth = static_cast<double>(0.1F);
  EXPECT_EQ(exact_label(network, {2.0}, 1.0 + 2.0 * tenth), 0);
  EXPECT_EQ(exact_label(network, {2.0}, std::nextafter(1.0 + 2.0 * tenth, 0.0)), 1);
}

}  // namespace
}  // namespace fairlane
