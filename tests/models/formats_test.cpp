// One network in every format that is read: the same parameters, the same logits bit for bit.
#include <fmt/format.h>

#include <random>

#include "kernels/backend.h"
#include "models/data/csv.h"
#include "models/data/dataset.h"
#include "models/data/domain_yaml.h"
#include "models/network.h"
#include "models/network_file.h"
#include "models/safetensors.h"
#include "tests/benchmarks.h"
#include "tests/models/keras/archive_writer.h"
#include "tests/models/onnx/onnx_writer.h"
#include "tests/models/tensorflow/checkpoint_writer.h"

namespace fairlane {
namespace {

constexpr unsigned kSeed = 51;
constexpr std::size_t kInputs = 100000;

// A network of these widths with random parameters; `last` is the output's activation.
Network random_network(std::vector<int> const& widths, Activation hidden, Activation last) {
  std::mt19937 random(kSeed);
  std::normal_distribution<float> normal(0.0F, 0.5F);
  Network network;
  for (std::size_t k = 0; k + 1 < widths.size(); ++k) {
    DenseLayer layer;
    layer.name = fmt::format("layer{}", k);
    layer.inputs = widths[k];
    layer.outputs = widths[k + 1];
    layer.activation = k + 2 == widths.size() ? last : hidden;
    layer.alpha = layer.activation == Activation::kElu ? 1.0F : 0.0F;
    layer.weights.resize(static_cast<std::size_t>(layer.inputs * layer.outputs));
    layer.bias.resize(static_cast<std::size_t>(layer.outputs));
    for (float& value : layer.weights) value = normal(random);
    for (float& value : layer.bias) value = normal(random);
    network.layers.push_back(std::move(layer));
  }
  return network;
}

std::string keras_config(Network const& network) {
  std::vector<std::string> layers;
  for (DenseLayer const& layer : network.layers) {
    layers.push_back(fmt::format(
        R"({{"class_name": "Dense", "config": {{"name": "{}", "units": {}, "activation": "{}"}}}})",
        layer.name, layer.outputs, activation_name(layer.activation)));
  }
  return fmt::format(R"({{"class_name": "Sequential", "config": {{"name": "s", "layers": [{}]}}}})",
                     fmt::join(layers, ", "));
}

hsize_t size_of(int count) { return static_cast<hsize_t>(count); }

std::string write_h5(TemporaryFolder const& folder, Network const& network) {
  std::string const path = folder.file("n.h5");
  H5Writer writer(path);
  writer.text("/", "model_config", keras_config(network), TextKind::kVariable);
  writer.group("/model_weights");
  std::vector<std::string> names;
  for (DenseLayer const& layer : network.layers) {
    names.push_back(layer.name);
    std::string const group = "/model_weights/" + layer.name;
    writer.floats(group + "/kernel:0", {size_of(layer.inputs), size_of(layer.outputs)},
                  {layer.weights.begin(), layer.weights.end()});
    writer.floats(group + "/bias:0", {size_of(layer.outputs)},
                  {layer.bias.begin(), layer.bias.end()});
    writer.list(group, "weight_names", {"kernel:0", "bias:0"}, TextKind::kFixed);
  }
  writer.list("/model_weights", "layer_names", names, TextKind::kFixed);
  return path;
}

std::string write_keras(TemporaryFolder const& folder, Network const& network) {
  std::vector<KerasGroup> groups;
  for (DenseLayer const& layer : network.layers) {
    std::string const group =
        groups.empty() ? std::string("dense") : fmt::format("dense_{}", groups.size());
    groups.push_back({group,
                      layer.name,
                      {{{size_of(layer.inputs), size_of(layer.outputs)},
                        {layer.weights.begin(), layer.weights.end()}},
                       {{size_of(layer.outputs)}, {layer.bias.begin(), layer.bias.end()}}}});
  }
  return folder.write("n.keras", keras_archive(keras_config(network), keras_weights(folder, groups),
                                               {true, false}));
}

// Logits [count][outputs] of rows [count][inputs] with values from -9 to 99.
std::vector<float> logits(Network const& network, std::vector<std::int32_t> const& rows) {
  auto const inputs = static_cast<std::size_t>(network.inputs());
  std::vector<std::int32_t> const low(inputs, -9);
  std::vector<std::int32_t> const high(inputs, 99);
  std::vector<std::uint8_t> flagged(inputs, 0);
  flagged[0] = 1;
  std::vector<std::int32_t> const selected = {0};
  std::vector<std::int32_t> const compared = {0, 1};
  std::vector<std::span<std::int32_t const>> const values = {compared};
  auto const views = network.views();
  SubjectView const subject = {views, low, high, flagged, selected, values, 0.0F};
  CpuOptions options;
  options.threads = 1;
  std::size_t const count = rows.size() / inputs;
  std::vector<float> result(count * static_cast<std::size_t>(network.outputs()));
  make_cpu_backend(subject, options)->logits(rows.data(), count, result.data());
  return result;
}

std::vector<std::int32_t> random_rows(int inputs) {
  std::mt19937 random(kSeed + 1);
  std::uniform_int_distribution<std::int32_t> value(-9, 99);
  std::vector<std::int32_t> rows(kInputs * static_cast<std::size_t>(inputs));
  for (std::int32_t& one : rows) one = value(random);
  return rows;
}

void expect_equal(Network const& expected, std::vector<std::string> const& paths) {
  auto const rows = random_rows(expected.inputs());
  auto const wanted = logits(expected, rows);
  for (auto const& path : paths) {
    Network const network = load_network(path);
    ASSERT_EQ(network.layers.size(), expected.layers.size()) << path;
    for (std::size_t k = 0; k < network.layers.size(); ++k) {
      EXPECT_EQ(network.layers[k].weights, expected.layers[k].weights) << path << " " << k;
      EXPECT_EQ(network.layers[k].bias, expected.layers[k].bias) << path << " " << k;
      EXPECT_EQ(network.layers[k].activation, expected.layers[k].activation) << path << " " << k;
    }
    EXPECT_EQ(logits(network, rows), wanted) << path << ", seed " << kSeed;
  }
}

TEST(Formats, TwoLogitsAreEqualBitForBit) {
  TemporaryFolder const folder;
  Network const network = random_network({7, 12, 5, 2}, Activation::kRelu, Activation::kSoftmax);
  write_safetensors(network, folder.file("n.safetensors"));
  expect_equal(network, {write_h5(folder, network), write_keras(folder, network),
                         folder.write("a.onnx", onnx_of(network, false)),
                         folder.write("b.onnx", onnx_of(network, true)),
                         tf_checkpoint_of(network).write(folder, "test.model"),
                         folder.file("n.safetensors")});
}

TEST(Formats, OneLogitIsEqualBitForBit) {
  TemporaryFolder const folder;
  for (Activation const hidden : {Activation::kTanh, Activation::kElu, Activation::kSigmoid}) {
    Network const network = random_network({6, 9, 4, 1}, hidden, Activation::kSigmoid);
    expect_equal(network, {write_h5(folder, network), write_keras(folder, network),
                           folder.write("a.onnx", onnx_of(network, false)),
                           folder.write("b.onnx", onnx_of(network, true))});
  }
}

TEST(Formats, SiluAndGeluAreEqualBitForBit) {
  TemporaryFolder const folder;
  for (Activation const hidden : {Activation::kSilu, Activation::kGelu, Activation::kGeluTanh}) {
    Network const network = random_network({6, 9, 4, 2}, hidden, Activation::kSoftmax);
    write_safetensors(network, folder.file("n.safetensors"));
    std::vector<std::string> paths = {folder.write("a.onnx", onnx_of(network, false)),
                                      folder.write("b.onnx", onnx_of(network, true)),
                                      folder.file("n.safetensors")};
    if (hidden != Activation::kGeluTanh) {  // which Keras has no name for
      paths.push_back(write_h5(folder, network));
      paths.push_back(write_keras(folder, network));
    }
    expect_equal(network, paths);
  }
}

// The networks of the papers in the format of ADF and NeuronFair: two logits, 0 and z.
TEST(Formats, BenchmarkNetworksDecideAlikeAsTfCheckpoints) {
  FL_NEED_BENCHMARKS(dir);
  TemporaryFolder const folder;
  for (std::string const name : {"census", "bank", "credit"}) {
    Network const source = load_network((dir / "models" / (name + ".h5")).string());
    Network two = source;
    DenseLayer& last = two.layers.back();
    last.activation = Activation::kSoftmax;
    last.outputs = 2;
    last.weights.clear();
    for (float const weight : source.layers.back().weights) {
      last.weights.insert(last.weights.end(), {0.0F, weight});
    }
    last.bias = {0.0F, source.layers.back().bias[0]};
    Network const back = load_network(tf_checkpoint_of(two).write(folder, name));
    Domain const domain = read_domain_yaml((dir / "data" / (name + ".domain.yaml")).string());
    Dataset const data = read_csv((dir / "data" / (name + ".csv")).string(), domain);
    auto const z = logits(source, data.rows);
    auto const zz = logits(back, data.rows);
    std::size_t agreed = 0;
    for (std::size_t i = 0; i < z.size(); ++i) {
      EXPECT_EQ(zz[2 * i + 1] > zz[2 * i], z[i] > 0.0F) << name << " row " << i;
      EXPECT_EQ(zz[2 * i + 1], z[i]) << name << " row " << i;
      agreed += (z[i] > 0.0F) == (data.labels[i] == 1) ? 1 : 0;
    }
    EXPECT_GT(agreed, z.size() * 7 / 10) << name;  // it is the network of that table
  }
}

}  // namespace
}  // namespace fairlane
