#include <fmt/format.h>

#include "models/network.h"
#include "models/network_file.h"
#include "tests/models/expect_error.h"
#include "tests/models/tensorflow/checkpoint_writer.h"

namespace fairlane {
namespace {

using Shapes = std::vector<std::pair<std::string, std::vector<std::int64_t>>>;

TfCheckpointWriter writer_of(Shapes const& shapes) {
  TfCheckpointWriter writer;
  float value = 0.0F;
  for (auto const& [name, shape] : shapes) {
    std::int64_t count = 1;
    for (std::int64_t const size : shape) count *= size;
    std::vector<float> values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(value += 1.0F);
    writer.floats(name, shape, values);
  }
  return writer;
}

// 2 -> 3 -> 2.
Shapes const kShapes = {{"linear/kernel", {2, 3}},
                        {"linear/bias", {3}},
                        {"linear_1/kernel", {3, 2}},
                        {"linear_1/bias", {2}}};

TEST(Crc32c, EqualsTheStandardsExamples) {
  EXPECT_EQ(crc32c(""), 0U);
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(masked_crc32c("123456789"), 0xC78AB0E5U);
}

TEST(TfCheckpoint, ReadsByNameOrIndex) {
  TemporaryFolder const folder;
  std::string const name = writer_of(kShapes).write(folder, "test.model");
  EXPECT_EQ(network_file(name), name + ".index");
  EXPECT_EQ(network_file(name + ".index"), name + ".index");
  for (std::string const& path : {name, name + ".index"}) {
    Network const network = load_network(path);
    ASSERT_EQ(network.layers.size(), 2U);
    EXPECT_EQ(network.layers[0].name, "linear");
    EXPECT_EQ(network.layers[0].weights, (std::vector<float>{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(network.layers[0].bias, (std::vector<float>{7, 8, 9}));
    EXPECT_EQ(network.layers[0].activation, Activation::kRelu);
    EXPECT_EQ(network.layers[1].weights, (std::vector<float>{10, 11, 12, 13, 14, 15}));
    EXPECT_EQ(network.layers[1].bias, (std::vector<float>{16, 17}));
    EXPECT_EQ(network.layers[1].activation, Activation::kSoftmax);
    EXPECT_NE(network.format.find("without .meta"), std::string::npos);
  }
  expect_error(ExitCode::kData, {".data-00000-of-00001", "NAME.index"},
               [&] { load_network(name + ".data-00000-of-00001"); });
  std::filesystem::remove(name + ".data-00000-of-00001");
  expect_error(ExitCode::kNoInput, {".data-00000-of-00001", "no such file"},
               [&] { load_network(name); });
}

TEST(TfCheckpoint, OrdersLayersByTheNumbersInTheirNames) {
  TemporaryFolder const folder;
  // Variables without scopes: kernels and biases in turn, the tenth after the second.
  TfCheckpointWriter plain;
  for (int k = 0; k < 7; ++k) {
    auto const name = [&](int n) {
      return n == 0 ? std::string("Variable") : fmt::format("Variable_{}", n);
    };
    auto const number = static_cast<float>(k);
    plain.floats(name(2 * k), {2, 2}, {number, 1, 1, 1}).floats(name(2 * k + 1), {2}, {number, 0});
  }
  Network const network = load_network(plain.write(folder, "plain"));
  ASSERT_EQ(network.layers.size(), 7U);
  for (std::size_t k = 0; k < 7; ++k) {
    EXPECT_EQ(network.layers[k].weights[0], static_cast<float>(k));
    EXPECT_EQ(network.layers[k].bias[0], static_cast<float>(k));
  }
  Network const without_bias = load_network(
      writer_of({{"fc/W", {2, 3}}, {"fc_1/W", {3, 1}}, {"fc_1/b", {1}}}).write(folder, "some"));
  EXPECT_EQ(without_bias.layers[0].bias, (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(without_bias.layers[1].bias, std::vector<float>{10});
  EXPECT_EQ(without_bias.layers[1].activation, Activation::kSigmoid);
}

TEST(TfCheckpoint, LeavesOutOptimizersAndCounters) {
  TemporaryFolder const folder;
  TfCheckpointWriter writer = writer_of(kShapes);
  writer.floats("beta1_power", {}, {0.5F})
      .floats("linear/kernel/Adam", {2, 3}, std::vector<float>(6));
  writer.floats("linear/bias/Adam_1", {3}, {0, 0, 0});
  writer.tensor("global_step", 9, {}, std::string(8, '\0'), 0);
  EXPECT_EQ(load_network(writer.write(folder, "m")).layers.size(), 2U);
}

TEST(TfCheckpoint, TakesTheActivationFromTheGraph) {
  TemporaryFolder const folder;
  std::string const name = writer_of(kShapes).write(folder, "m");
  auto const with = [&](std::vector<std::string> const& operators) {
    folder.write("m.meta", tf_meta(operators));
    return load_network(name).layers[0];
  };
  EXPECT_EQ(with({"MatMul", "Relu", "ReluGrad", "Relu"}).activation, Activation::kRelu);
  EXPECT_EQ(with({"Tanh"}).activation, Activation::kTanh);
  EXPECT_EQ(with({"Elu"}).activation, Activation::kElu);
  EXPECT_EQ(with({"Elu"}).alpha, 1.0F);
  for (auto const& operators : std::vector<std::vector<std::string>>{
           {}, {"Relu", "Tanh"}, {"Relu", "Sigmoid"}, {"Relu6"}, {"Relu", "Selu"}}) {
    expect_error(ExitCode::kData, {"m.meta", fmt::format("[{}]", fmt::join(operators, ", "))},
                 [&] { with(operators); });
  }
  folder.write("m.meta", "\x12\x05");
  expect_error(ExitCode::kData, {"m.meta", "5 bytes are needed"}, [&] { load_network(name); });
}

TEST(TfCheckpoint, NamesWhatIsWrong) {
  TemporaryFolder const folder;
  auto const expect = [&](TfCheckpointWriter const& writer,
                          std::initializer_list<std::string> parts) {
    expect_error(ExitCode::kData, parts, [&] { load_network(writer.write(folder, "m")); });
  };
  auto const with = [](std::string const& name, std::vector<std::int64_t> const& shape) {
    Shapes shapes = kShapes;
    shapes.emplace_back(name, shape);
    return writer_of(shapes);
  };
  expect(with("conv/kernel", {3, 3, 1, 8}), {"m.index:conv/kernel", "[3, 3, 1, 8]"});
  expect(with("linear/gamma", {3}),
         {"m.index:linear/gamma", "one bias too many", "'linear/kernel'"});
  expect(with("norm/mean", {3}), {"m.index:norm/mean", "belongs to no kernel"});
  expect(with("linear_2/kernel", {5, 2}),
         {"m.index:linear_2/kernel", "expects 5 values", "2 here"});
  expect(with("_CHECKPOINTABLE_OBJECT_GRAPH", {2, 2}),
         {"TensorFlow 2 checkpoint", "model.save('NAME.keras')"});
  expect(writer_of({{"b", {2}}}), {"m.index", "no kernel"});
  expect(TfCheckpointWriter().floats("w", {2, 2}, {1, 2, 3}),
         {"m.data-00000-of-00001:w", "[2, 2]", "12 bytes"});
  expect(TfCheckpointWriter().tensor("w", 1, {2, 1}, std::string(8, '\0'), 7),
         {":w", "damaged", "CRC-32C"});
  expect(TfCheckpointWriter().tensor("w", 2, {1, 1}, std::string(8, '\0'), 7),
         {":w", "data type 2"});
  TfCheckpointWriter const good = writer_of(kShapes);
  auto const index = [&](std::string const& bytes, std::initializer_list<std::string> parts) {
    folder.write("n.data-00000-of-00001", good.data());
    expect_error(ExitCode::kData, parts, [&] { load_network(folder.write("n.index", bytes)); });
  };
  index(good.index(4, 2), {"n.index", "2 data files"});
  index(good.index().substr(1), {"n.index", "damaged"});
  index("short", {"n.index", "no index of a TensorFlow checkpoint"});
  std::string packed = good.index(100);  // one block, then the trailer whose first byte is its kind
  std::size_t const trailer = packed.size() - 48 - 5;
  packed[trailer] = 1;
  index(packed, {"n.index", "a block"});
  EXPECT_EQ(load_network(good.write(folder, "whole")).layers.size(), 2U);
}

}  // namespace
}  // namespace fairlane
