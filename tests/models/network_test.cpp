#include "models/network.h"

#include <cstring>
#include <limits>

#include "models/network_file.h"
#include "models/safetensors.h"
#include "tests/models/expect_error.h"
#include "tests/models/temporary.h"

namespace fairlane {
namespace {

// 2 -> 2 -> 1.
Network small() {
  Network network;
  network.source = "small";
  network.layers.push_back(
      {"hidden", 2, 2, Activation::kElu, 0.1F, {0.5F, -1.0F, 3.0F, 1e-30F}, {0.0F, 0.25F}});
  network.layers.push_back({"output", 2, 1, Activation::kSigmoid, 0.0F, {1.0F, -2.0F}, {0.1F}});
  return network;
}

// A safetensors file of this header and this many bytes of data.
std::string safetensors(std::string const& header, std::size_t data) {
  std::uint64_t const length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + std::string(data, '\0');
}

// A header with one layer 2 -> 1, in which one part is replaced.
std::string header(std::string const& from = "", std::string const& to = "") {
  std::string text = R"({"__metadata__":{"format":"fairlane-mlp","layers.0.activation":"sigmoid"},)"
                     R"("layers.0.weight":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
                     R"("layers.0.bias":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})";
  if (!from.empty()) {
    auto const at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  }
  return text;
}

TEST(Network, ViewsAndCounts) {
  Network const network = small();
  validate(network);
  EXPECT_EQ(network.inputs(), 2);
  EXPECT_EQ(network.outputs(), 1);
  EXPECT_EQ(network.parameters(), 9);
  auto const views = network.views();
  ASSERT_EQ(views.size(), 2U);
  EXPECT_EQ(views[0].weights.data(), network.layers[0].weights.data());
  EXPECT_EQ(views[0].weights.size(), 4U);
  EXPECT_EQ(views[0].alpha, 0.1F);
  EXPECT_EQ(views[1].bias[0], 0.1F);
  EXPECT_EQ(views[1].activation, Activation::kSigmoid);
}

TEST(Network, ValidateNamesLayerAndIndex) {
  auto const expect = [](std::initializer_list<std::string> parts,
                         std::function<void(Network&)> const& change) {
    Network network = small();
    change(network);
    expect_error(ExitCode::kData, parts, [&] { validate(network); });
  };
  expect({"small", "no Dense layer"}, [](Network& n) { n.layers.clear(); });
  expect({"layer 1 'output'", "3 inputs", "2 outputs of layer 0 'hidden'"},
         [](Network& n) { n.layers[1].inputs = 3; });
  expect({"3 kernel values", "expected 4"}, [](Network& n) { n.layers[0].weights.pop_back(); });
  expect({"bias[1] is nan"},
         [](Network& n) { n.layers[0].bias[1] = std::numeric_limits<float>::quiet_NaN(); });
  expect({"kernel[2] is -inf"},
         [](Network& n) { n.layers[0].weights[2] = -std::numeric_limits<float>::infinity(); });
  expect({"0 outputs"}, [](Network& n) { n.layers[0].outputs = 0; });
  expect({"-1 inputs", "1..4096"}, [](Network& n) { n.layers[0].inputs = -1; });
  expect({"softmax"}, [](Network& n) { n.layers[0].activation = Activation::kSoftmax; });
  expect({"softmax", "1 output,"},
         [](Network& n) { n.layers[1].activation = Activation::kSoftmax; });
  expect({"gelu_tanh", "sigmoid or linear"},
         [](Network& n) { n.layers[1].activation = Activation::kGeluTanh; });
  expect({"alpha", "elu", "-1"}, [](Network& n) { n.layers[0].alpha = -1.0F; });
  expect({"elu with 2 outputs", "softmax or linear"}, [](Network& n) { n.layers.pop_back(); });
  Network several = small();
  several.layers.pop_back();
  several.layers[0].activation = Activation::kSoftmax;
  EXPECT_NO_THROW(validate(several));
}

TEST(Network, LoadSaysWhatAFileIs) {
  TemporaryFolder const folder;
  auto const expect = [&](std::string const& name, std::string const& bytes,
                          std::initializer_list<std::string> parts) {
    std::string const path = folder.write(name, bytes);
    expect_error(ExitCode::kData, parts, [&] { load_network(path); });
  };
  expect_error(ExitCode::kNoInput, {"nowhere.h5: no such file"},
               [&] { load_network(folder.file("nowhere.h5")); });
  expect_error(ExitCode::kNoInput, {"is a directory"}, [&] { load_network(folder.file("")); });
  expect_error(ExitCode::kNoInput, {"a\\nb"}, [&] { load_network(folder.file("a\nb")); });
  expect("empty.h5", "", {"empty.h5", "is empty"});
  expect("model.pt", "PK\x03\x04zip", {"PyTorch", "black-box"});
  expect("model.keras", "PK\x03\x04zip", {"no complete zip archive"});
  expect("model.h5", "PK\x03\x04zip", {"no complete zip archive"});
  expect("model.keras", "\x89HDG", {"no complete zip archive"});
  expect("model.onnx", "\x08\x07", {"ONNX"});
  expect("model.index", "abc", {"no index of a TensorFlow checkpoint"});
  expect("model.meta", "abc", {"part of a TensorFlow checkpoint", "NAME.index"});
  expect("model.pkl", "\x80\x04", {"pickle"});
  expect("model.bin", "hello\n", {"starts with 'hello\\n'", "safetensors"});
  expect("text.h5", "hello\n", {"is not HDF5", "hello"});
  expect("short.safetensors", "abc", {"3 bytes long"});
}

TEST(Safetensors, NameSiluAndGelu) {
  TemporaryFolder const folder;
  std::string const path = folder.file("net.safetensors");
  for (Activation const activation :
       {Activation::kSilu, Activation::kGelu, Activation::kGeluTanh}) {
    Network network = small();
    network.layers[0].activation = activation;
    network.layers[0].alpha = 0.0F;
    write_safetensors(network, path);
    EXPECT_EQ(load_network(path).layers[0].activation, activation);
  }
}

TEST(Safetensors, WhatIsWrittenReadsBackEqual) {
  TemporaryFolder const folder;
  Network const network = small();
  std::string const path = folder.file("net.bin");  // found by content, not by name
  write_safetensors(network, path);
  Network const back = load_network(path);
  EXPECT_EQ(back.source, path);
  ASSERT_EQ(back.layers.size(), 2U);
  for (std::size_t k = 0; k < 2; ++k) {
    EXPECT_EQ(back.layers[k].name, network.layers[k].name);
    EXPECT_EQ(back.layers[k].activation, network.layers[k].activation);
    EXPECT_EQ(back.layers[k].alpha, network.layers[k].alpha);
    EXPECT_EQ(back.layers[k].weights, network.layers[k].weights);
    EXPECT_EQ(back.layers[k].bias, network.layers[k].bias);
  }
  std::string const bytes = slurp(path);
  write_safetensors(back, path);
  EXPECT_EQ(slurp(path), bytes);
  auto const entries =
      std::filesystem::directory_iterator(std::filesystem::path(path).parent_path());
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1) << "a temporary file is left";
  expect_error(ExitCode::kDisk, {"missing/net", "cannot be created"},
               [&] { write_safetensors(network, folder.file("missing/net")); });
}

TEST(Safetensors, RejectsEveryInconsistency) {
  EXPECT_NO_THROW(parse_safetensors(safetensors(header(), 12), "x"));
  EXPECT_NO_THROW(parse_safetensors(safetensors(header() + "    ", 12), "x"));
  auto const expect = [](std::string const& from, std::string const& to,
                         std::initializer_list<std::string> parts) {
    expect_error(ExitCode::kData, parts,
                 [&] { parse_safetensors(safetensors(header(from, to), 12), "x"); });
  };
  expect("[0,8]", "[0,4]", {"x:layers.0.weight", "4 bytes", "needs 8"});
  expect("[2,1]", "[3,1]", {"needs 12"});
  expect("[2,1]", "[4294967296,4294967296]", {"12 bytes of data"});
  expect("[2,1]", "[0,1]", {"12 bytes of data"});
  expect("[2,1]", "[-2,1]", {"shape", "-2"});
  expect("[2,1]", "[2.0,1]", {"2.0"});
  expect("[2,1]", "[2]", {"1 dimensions", "[inputs, outputs]"});
  expect("[2,1]", "[1,2,1]", {"shape"});
  expect("[0,8]", "[4,12]", {"begins at byte 4, expected 0", "unused bytes"});
  expect("[8,12]", "[4,8]", {"overlap"});
  expect("[8,12]", "[12,16]", {"outside the 12 bytes"});
  expect("[8,12]", "[12,8]", {"outside"});
  expect("F32", "F64", {"dtype", "F64", "expected F32"});
  expect("\"dtype\"", "\"type\"", {"unknown key 'type'"});
  expect("layers.0.bias", "layers.0.baas", {"unknown tensor"});
  expect("layers.0.bias", "layers.1.bias", {"layers.0.bias"});
  expect("layers.0.bias", "layers.00.bias", {"unknown tensor"});
  expect("layers.0.bias", "layers.99999999999999999999.bias", {"unknown tensor"});
  expect("layers.0.bias", "layers.0.weight", {"'layers.0.weight' occurs twice"});
  expect("fairlane-mlp", "pt", {"__metadata__", "format", "fairlane-mlp"});
  expect("\"sigmoid\"", "\"sigmoit\"", {"layers.0.activation", "did you mean 'sigmoid'?"});
  expect("\"sigmoid\"", "1", {"not a string"});
  expect("layers.0.activation", "layers.0.activatoin", {"unknown key"});
  expect("layers.0.activation", "layers.7.activation", {"layer 7", "1 layers"});
  expect("\"sigmoid\"", "\"leaky_relu\"", {"alpha"});
  expect("\"sigmoid\"", R"("sigmoid","layers.0.alpha":"0,1")", {"'0,1'", "a number"});
  expect("{\"__meta", "[\"__meta", {"expected '{'"});
  expect("[2,1]", "[[[[[[2]]]]]]", {"nested"});

  expect_error(ExitCode::kData, {"13 bytes of data", "end at byte 12"},
               [] { parse_safetensors(safetensors(header(), 13), "x"); });
  std::string huge = safetensors(header(), 12);
  std::memset(huge.data(), 0xFF, 8);
  expect_error(ExitCode::kData, {"header of 18446744073709551615 bytes"},
               [&] { parse_safetensors(huge, "x"); });
  std::string nan = safetensors(header(), 12);
  std::memset(nan.data() + nan.size() - 4, 0xFF, 4);
  expect_error(ExitCode::kData, {"bias[0] is", "nan"}, [&] { parse_safetensors(nan, "x"); });
}

}  // namespace
}  // namespace fairlane
