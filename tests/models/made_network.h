// Networks of three layers with every activation, for what writes networks.
#pragma once

#include <gtest/gtest.h>

#include <random>

#include "models/network.h"

namespace fairlane {

struct HiddenActivation {
  Activation activation;
  float alpha;
};
inline constexpr HiddenActivation kHiddenActivations[] = {
    {Activation::kLinear, 0.0F},    {Activation::kRelu, 0.0F},    {Activation::kLeakyRelu, 0.01F},
    {Activation::kLeakyRelu, 0.3F}, {Activation::kElu, 1.0F},     {Activation::kElu, 0.5F},
    {Activation::kTanh, 0.0F},      {Activation::kSigmoid, 0.0F}, {Activation::kSilu, 0.0F},
    {Activation::kGelu, 0.0F},      {Activation::kGeluTanh, 0.0F}};

inline Network network_with(Activation activation, float alpha, int outputs) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  Network network;
  int const units[] = {4, 3, outputs};
  int inputs = 5;
  for (int l = 0; l < 3; ++l) {
    DenseLayer layer;
    layer.inputs = inputs;
    layer.outputs = units[l];
    layer.activation = l < 2          ? activation
                       : outputs == 1 ? Activation::kSigmoid
                                      : Activation::kSoftmax;
    layer.alpha = l < 2 ? alpha : 0.0F;
    for (int i = 0; i < layer.inputs * layer.outputs; ++i) layer.weights.push_back(normal(random));
    for (int i = 0; i < layer.outputs; ++i) layer.bias.push_back(normal(random));
    network.layers.push_back(layer);
    inputs = units[l];
  }
  return network;
}

/// Layers, weights and activations.
inline void expect_same_network(Network const& read, Network const& written) {
  ASSERT_EQ(read.layers.size(), written.layers.size());
  for (std::size_t l = 0; l < read.layers.size(); ++l) {
    DenseLayer const& layer = read.layers[l];
    DenseLayer const& expected = written.layers[l];
    EXPECT_EQ(layer.weights, expected.weights);
    EXPECT_EQ(layer.bias, expected.bias);
    EXPECT_EQ(layer.activation, expected.activation) << activation_name(expected.activation);
    bool const has_alpha =
        expected.activation == Activation::kLeakyRelu || expected.activation == Activation::kElu;
    if (has_alpha) {
      EXPECT_EQ(layer.alpha, expected.alpha);
    }
  }
}

}  // namespace fairlane
