// What write_keras_h5() writes, read back by the reader, which knows files of real Keras.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "models/keras/h5.h"
#include "models/keras/h5_writer.h"
#include "tests/models/expect_error.h"
#include "tests/models/temporary.h"

namespace fairlane {
namespace {

Network network_with(Activation activation, float alpha, int outputs) {
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

TEST(KerasModelFile, IsReadBackBitForBit) {
  TemporaryFolder const folder;
  struct Case {
    Activation activation;
    float alpha;
  };
  for (Case const& one : {Case{Activation::kLinear, 0.0F}, Case{Activation::kRelu, 0.0F},
                          Case{Activation::kLeakyRelu, 0.01F}, Case{Activation::kLeakyRelu, 0.3F},
                          Case{Activation::kElu, 1.0F}, Case{Activation::kElu, 0.5F},
                          Case{Activation::kTanh, 0.0F}, Case{Activation::kSigmoid, 0.0F},
                          Case{Activation::kSilu, 0.0F}, Case{Activation::kGelu, 0.0F}}) {
    for (int const outputs : {1, 3}) {
      Network const network = network_with(one.activation, one.alpha, outputs);
      ASSERT_TRUE(has_keras_form(network));
      std::string const path = folder.file("model.h5");
      write_keras_h5(network, path);
      Network const read = read_keras_h5(path);
      ASSERT_EQ(read.layers.size(), network.layers.size());
      for (std::size_t l = 0; l < read.layers.size(); ++l) {
        EXPECT_EQ(read.layers[l].weights, network.layers[l].weights);
        EXPECT_EQ(read.layers[l].bias, network.layers[l].bias);
        EXPECT_EQ(read.layers[l].activation, network.layers[l].activation)
            << activation_name(one.activation);
        bool const has_alpha =
            one.activation == Activation::kLeakyRelu || one.activation == Activation::kElu;
        if (has_alpha && l < 2) {
          EXPECT_EQ(read.layers[l].alpha, one.alpha);
        }
      }
    }
  }
}

TEST(KerasModelFile, HasTheSameBytesAgain) {
  TemporaryFolder const folder;
  Network const network = network_with(Activation::kLeakyRelu, 0.01F, 1);
  write_keras_h5(network, folder.file("a.h5"));
  write_keras_h5(network, folder.file("b.h5"));
  EXPECT_EQ(slurp(folder.file("a.h5")), slurp(folder.file("b.h5")));
}

TEST(KerasModelFile, IsRefusedWhereItCannotBe) {
  TemporaryFolder const folder;
  EXPECT_FALSE(has_keras_form(network_with(Activation::kGeluTanh, 0.0F, 1)));
  expect_error(ExitCode::kOutput, {"nowhere/model.h5", "cannot be created"}, [&] {
    write_keras_h5(network_with(Activation::kRelu, 0.0F, 1), folder.file("nowhere/model.h5"));
  });
}

}  // namespace
}  // namespace fairlane
