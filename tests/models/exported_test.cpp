// Files that the real exporters wrote; exported/make_exported.py made them.
#include <cmath>
#include <sstream>

#include "models/network.h"
#include "models/network_file.h"
#include "tests/checkout.h"
#include "tests/models/temporary.h"

namespace fairlane {
namespace {

std::string exported(std::string const& name) {
  return (std::filesystem::path(source_dir()) / "tests" / "models" / "exported" / name).string();
}

// The parameters of make_exported.py.
float kernel(int index, int layer) { return static_cast<float>((index * 7 + layer) % 23 - 11) / 8; }
float bias(int index, int layer) { return static_cast<float>((index * 5 + layer) % 13 - 6) / 4; }

TEST(Exported, TheSameNetworkFromEveryExporter) {
  int const widths[] = {3, 4, 4, 2};
  for (char const* name : {"torch.onnx", "keras.onnx", "keras.keras", "tensorflow"}) {
    Network const network = load_network(exported(name));
    ASSERT_EQ(network.layers.size(), 3U) << name;
    for (int k = 0; k < 3; ++k) {
      DenseLayer const& layer = network.layers[static_cast<std::size_t>(k)];
      ASSERT_EQ(layer.inputs, widths[k]) << name;
      ASSERT_EQ(layer.outputs, widths[k + 1]) << name;
      for (int i = 0; i < layer.inputs * layer.outputs; ++i) {
        EXPECT_EQ(layer.weights[static_cast<std::size_t>(i)], kernel(i, k)) << name << " " << k;
      }
      for (int i = 0; i < layer.outputs; ++i) {
        EXPECT_EQ(layer.bias[static_cast<std::size_t>(i)], bias(i, k)) << name << " " << k;
      }
      // torch.onnx ends with logits, the others with softmax.
      Activation const last =
          std::string(name) == "torch.onnx" ? Activation::kLinear : Activation::kSoftmax;
      EXPECT_EQ(layer.activation, k < 2 ? Activation::kRelu : last) << name << " " << k;
    }
  }
}

// SiLU and GELU, by whatever operators each exporter writes them.
TEST(Exported, GatedActivationsFromEveryExporter) {
  int const widths[] = {3, 4, 4, 4, 2};
  int count = 0;
  for (char const* name : {"torch_gated_17.onnx", "torch_gated_20.onnx",
                           "torch_gated_dynamo_18.onnx", "torch_gated_dynamo_20.onnx",
                           "tf2onnx_gated.onnx", "keras_gated.keras", "keras_gated.h5"}) {
    SCOPED_TRACE(name);
    bool const is_torch = std::string(name).find("torch") == 0;
    bool const is_keras = std::string(name).find("keras") == 0;
    Activation const expected[] = {Activation::kSilu, Activation::kGelu,
                                   is_keras ? Activation::kSilu : Activation::kGeluTanh,
                                   is_torch ? Activation::kLinear : Activation::kSoftmax};
    Network const network = load_network(exported(name));
    ASSERT_EQ(network.layers.size(), 4U);
    for (int k = 0; k < 4; ++k) {
      DenseLayer const& layer = network.layers[static_cast<std::size_t>(k)];
      EXPECT_EQ(layer.activation, expected[k]) << k;
      ASSERT_EQ(layer.inputs, widths[k]);
      ASSERT_EQ(layer.outputs, widths[k + 1]);
      for (int i = 0; i < layer.inputs * layer.outputs; ++i)
        EXPECT_EQ(layer.weights[static_cast<std::size_t>(i)], kernel(i, k)) << k;
      for (int i = 0; i < layer.outputs; ++i)
        EXPECT_EQ(layer.bias[static_cast<std::size_t>(i)], bias(i, k)) << k;
    }
    ++count;
  }
  EXPECT_EQ(count, 7);
}

// A scaler folded into a network of scikit-learn, which computes in float32 as well.
TEST(Exported, ScikitLearnsPipelineGivesItsScores) {
  Network const network = load_network(exported("skl2onnx.onnx"));
  ASSERT_EQ(network.layers.size(), 2U);
  std::istringstream lines(slurp(exported("skl2onnx.csv")));
  std::string line;
  std::getline(lines, line);
  int count = 0;
  while (std::getline(lines, line)) {
    std::istringstream cells(line);
    std::vector<double> values;
    for (std::string cell; std::getline(cells, cell, ',');) values.push_back(std::stod(cell));
    ASSERT_EQ(values.size(), 4U);
    double const score = values.back();
    values.pop_back();
    for (DenseLayer const& layer : network.layers) {
      std::vector<double> next(layer.bias.begin(), layer.bias.end());
      for (std::size_t i = 0; i < layer.weights.size(); ++i) {
        next[i % next.size()] += values[i / next.size()] * static_cast<double>(layer.weights[i]);
      }
      bool const hidden = layer.activation == Activation::kRelu;
      for (double& z : next) z = hidden ? std::max(z, 0.0) : 1.0 / (1.0 + std::exp(-z));
      values = next;
    }
    constexpr double kRounding = 1e-5;  // of scikit-learn's float32 sums
    EXPECT_NEAR(values[0], score, kRounding) << line;
    ++count;
  }
  EXPECT_EQ(count, 5);
}

}  // namespace
}  // namespace fairlane
