#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "models/network.h"
#include "models/onnx/onnx.h"
#include "tests/models/expect_error.h"
#include "tests/models/onnx/onnx_writer.h"

namespace fairlane {
namespace {

std::vector<float> const kWeights = {1.0F, 2.0F, 3.0F, 4.0F};  // [2][2]
std::vector<float> const kOut = {1.0F, -1.0F};                 // [2][1]

Network read(OnnxWriter writer, std::int64_t opset = 13) {
  return parse_onnx(writer.bytes(opset), "net.onnx");
}

// x -> first (2 -> 2), without bias: nodes that follow begin at its output.
OnnxWriter first(std::vector<std::int64_t> const& shape = {-1, 2}) {
  OnnxWriter writer(shape);
  return writer.floats("w", {2, 2}, kWeights).floats("out", {2, 1}, kOut).node("MatMul", {"w"});
}

void expect(OnnxWriter const& writer, std::initializer_list<std::string> parts,
            std::int64_t opset = 13) {
  expect_error(ExitCode::kData, parts, [&] { read(writer, opset); });
}

TEST(Onnx, ReadsActivations) {
  struct Case {
    std::string op;
    OnnxAttributes attributes;
    Activation expected;
    float alpha;
  };
  for (Case const& c : std::vector<Case>{
           {"Relu", {}, Activation::kRelu, 0.0F},
           {"LeakyRelu", {}, Activation::kLeakyRelu, 0.01F},
           {"LeakyRelu", {onnx_real("alpha", 0.25F)}, Activation::kLeakyRelu, 0.25F},
           {"Elu", {}, Activation::kElu, 1.0F},
           {"Elu", {onnx_real("alpha", 0.5F)}, Activation::kElu, 0.5F},
           {"Tanh", {}, Activation::kTanh, 0.0F},
           {"Sigmoid", {}, Activation::kSigmoid, 0.0F},
           {"Swish", {}, Activation::kSilu, 0.0F},
           {"Swish", {onnx_real("alpha", 1.0F)}, Activation::kSilu, 0.0F},
           {"Gelu", {}, Activation::kGelu, 0.0F},
           {"Gelu", {onnx_text("approximate", "none")}, Activation::kGelu, 0.0F},
           {"Gelu", {onnx_text("approximate", "tanh")}, Activation::kGeluTanh, 0.0F}}) {
    Network const network = read(first().node(c.op, {}, c.attributes).node("MatMul", {"out"}));
    ASSERT_EQ(network.layers.size(), 2U) << c.op;
    EXPECT_EQ(network.layers[0].activation, c.expected) << c.op;
    EXPECT_EQ(network.layers[0].alpha, c.alpha) << c.op;
    EXPECT_EQ(network.layers[0].weights, kWeights);
    EXPECT_EQ(network.layers[1].weights, kOut);
    EXPECT_EQ(network.layers[1].bias, std::vector<float>{0.0F});
    EXPECT_EQ(network.layers[1].activation, Activation::kLinear);
    EXPECT_EQ(network.source, "net.onnx");
    EXPECT_NE(network.format.find("ONNX (operator set 13, by test"), std::string::npos);
  }
  for (char const* op : {"Softmax", "LogSoftmax"}) {
    EXPECT_EQ(read(first().node(op)).layers[0].activation, Activation::kSoftmax);
    EXPECT_EQ(read(first().node(op), 11).layers[0].activation, Activation::kSoftmax);
    expect(first().node(op, {}, {onnx_integer("axis", 0)}), {"axis is 0"});
  }
}

TEST(Onnx, RejectsOtherSwishesAndGelus) {
  expect(first().node("Swish", {}, {onnx_real("alpha", 1.5F)}), {"alpha is 1.5", "expected 1"});
  expect(first().node("Gelu", {}, {onnx_text("approximate", "erf")}),
         {"approximate is 'erf'", "'tanh'"});
}

/// first() with the numbers that activations are written out with.
OnnxWriter with_numbers() {
  OnnxWriter writer = first();
  for (auto const& [name, value] :
       std::vector<std::pair<std::string, float>>{{"half", 0.5F},
                                                  {"one", 1.0F},
                                                  {"two", 2.0F},
                                                  {"three", 3.0F},
                                                  {"root", 1.41421356F},
                                                  {"root_half", 0.70710678F},
                                                  {"cubic", 0.044715F},
                                                  {"pi", 0.79788456F},
                                                  {"quick", 1.702F}})
    writer.floats(name, {}, {value});
  return writer;
}

Activation first_activation(OnnxWriter& writer) {
  Network const network = read(writer.node("MatMul", {"out"}));
  EXPECT_EQ(network.layers.size(), 2U);
  EXPECT_EQ(network.layers[0].weights, kWeights);
  EXPECT_EQ(network.layers[1].weights, kOut);
  EXPECT_EQ(network.layers[1].bias, std::vector<float>{0.0F});
  return network.layers[0].activation;
}

TEST(Onnx, ReadsSiluWrittenOut) {
  OnnxWriter plain = with_numbers();
  std::string const x = plain.last();
  plain.node("Sigmoid").node("Mul", {x});
  EXPECT_EQ(first_activation(plain), Activation::kSilu);
  OnnxWriter turned = with_numbers();
  turned.node("Sigmoid").node("Mul", {x}, {}, true);
  EXPECT_EQ(first_activation(turned), Activation::kSilu);
}

// As torch.onnx, Keras and jax write it.
TEST(Onnx, ReadsGeluWrittenOut) {
  OnnxWriter torch = with_numbers();
  std::string const x = torch.last();
  torch.node("Div", {"root"})
      .node("Erf")
      .node("Add", {"one"})
      .node("Mul", {x})
      .node("Mul", {"half"});
  EXPECT_EQ(first_activation(torch), Activation::kGelu);
  OnnxWriter keras = with_numbers();
  keras.side("Mul", {"half", x}, "h");
  keras.node("Mul", {"root_half"})
      .node("Erf")
      .node("Add", {"one"}, {}, true)
      .node("Mul", {"h"}, {}, true);
  EXPECT_EQ(first_activation(keras), Activation::kGelu);
  OnnxWriter jax = with_numbers();
  jax.node("Div", {"root"})
      .node("Erf")
      .node("Add", {"one"})
      .node("Mul", {x}, {}, true)
      .node("Div", {"two"});
  EXPECT_EQ(first_activation(jax), Activation::kGelu);
}

TEST(Onnx, ReadsGeluByTanhWrittenOut) {
  OnnxWriter powers = with_numbers();
  std::string const x = powers.last();
  powers.side("Mul", {"half", x}, "h");
  powers.node("Pow", {"three"}).node("Mul", {"cubic"}).node("Add", {x}).node("Mul", {"pi"});
  powers.node("Tanh").node("Add", {"one"}).node("Mul", {"h"});
  EXPECT_EQ(first_activation(powers), Activation::kGeluTanh);
  OnnxWriter products = with_numbers();
  products.node("Mul", {x})
      .node("Mul", {x})
      .node("Mul", {"cubic"}, {}, true)
      .node("Add", {x}, {}, true);
  products.node("Mul", {"pi"})
      .node("Tanh")
      .node("Add", {"one"})
      .node("Mul", {x})
      .node("Mul", {"half"});
  EXPECT_EQ(first_activation(products), Activation::kGeluTanh);
}

// One number is another, or one value: nothing that is read.
TEST(Onnx, RejectsWhatIsNearlySiluOrGelu) {
  OnnxWriter quick = with_numbers();
  std::string const x = quick.last();
  expect(quick.node("Mul", {"quick"}).node("Sigmoid").node("Mul", {x}), {"combines"});
  expect(with_numbers().node("Erf").node("Add", {"one"}).node("Mul", {x}).node("Mul", {"half"}),
         {"combines"});
  expect(with_numbers().node("Div", {"root"}).node("Erf").node("Mul", {x}).node("Mul", {"half"}),
         {"combines"});
  expect(with_numbers().node("Tanh").node("Mul", {x}), {"combines"});
  expect(with_numbers().node("Div", {"root"}).node("Erf").node("Add", {"one"}), {"'Erf'"});
  expect(with_numbers().side("Mul", {x, "two"}, "other").node("Sigmoid").node("Mul", {"other"}),
         {"combines"});
}

// Its factor is part of the layer behind it.
TEST(Onnx, SeluIsEluAndAFactor) {
  Network const network = read(first().node("Selu").node("MatMul", {"out"}));
  EXPECT_EQ(network.layers[0].activation, Activation::kElu);
  EXPECT_EQ(network.layers[0].alpha, 1.67326324F);
  EXPECT_EQ(network.layers[0].weights, kWeights);
  EXPECT_EQ(network.layers[1].weights, (std::vector<float>{1.05070098F, -1.05070098F}));
  Network const other =
      read(first()
               .node("Selu", {}, {onnx_real("alpha", 0.5F), onnx_real("gamma", 2.0F)})
               .node("MatMul", {"out"}));
  EXPECT_EQ(other.layers[0].alpha, 0.5F);
  EXPECT_EQ(other.layers[1].weights, (std::vector<float>{2.0F, -2.0F}));
  expect(first().node("Selu"), {"scales values that no dense layer takes"});
}

TEST(Onnx, ReadsEveryWayOfStoringNumbers) {
  auto const weights = [](std::int64_t type, std::uint32_t field, std::string const& bytes) {
    return ProtobufWriter().number(1, 2).number(1, 2).number(2, type).bytes(8, "w").bytes(field,
                                                                                          bytes);
  };
  auto const with = [](ProtobufWriter const& tensor) {
    OnnxWriter writer;
    return read(writer.initializer(tensor).node("MatMul", {"w"})).layers[0].weights;
  };
  std::string doubles;
  for (float const value : kWeights) {
    doubles += little_endian(std::bit_cast<std::uint64_t>(static_cast<double>(value)), 8);
  }
  std::string const halves("\x00\x3C\x00\x40\x00\x42\x00\x44", 8);
  std::string const upper("\x80\x3F\x00\x40\x40\x40\x80\x40", 8);  // bfloat16
  EXPECT_EQ(with(weights(1, 9, float_bytes(kWeights))), kWeights);
  EXPECT_EQ(with(weights(1, 4, float_bytes(kWeights))), kWeights);
  EXPECT_EQ(with(weights(11, 9, doubles)), kWeights);
  EXPECT_EQ(with(weights(11, 10, doubles)), kWeights);
  EXPECT_EQ(with(weights(10, 9, halves)), kWeights);
  EXPECT_EQ(with(weights(10, 5, varint(0x3C00) + varint(0x4000) + varint(0x4200) + varint(0x4400))),
            kWeights);
  EXPECT_EQ(with(weights(16, 9, upper)), kWeights);
  EXPECT_EQ(with(weights(7, 7, varint(1) + varint(2) + varint(3) + varint(4))), kWeights);
  ProtobufWriter unpacked = ProtobufWriter().bytes(1, "\x02\x02").number(2, 1).bytes(8, "w");
  for (float const value : kWeights) unpacked.real(4, value);
  EXPECT_EQ(with(unpacked), kWeights);
  // The least subnormal half, and what float32 cannot hold.
  EXPECT_EQ(with(weights(10, 9, std::string("\x01\x00\x00\x40\x00\x42\x00\xC4", 8))),
            (std::vector<float>{0x1p-24F, 2.0F, 3.0F, -4.0F}));
  std::string inexact = doubles;
  inexact.replace(0, 8, little_endian(std::bit_cast<std::uint64_t>(0.1), 8));
  expect_error(ExitCode::kData, {"kernel[0] is 0.1", "float32 cannot hold"},
               [&] { with(weights(11, 9, inexact)); });
  auto const refuse = [&](ProtobufWriter const& tensor, std::initializer_list<std::string> parts) {
    expect_error(ExitCode::kData, parts, [&] { with(tensor); });
  };
  refuse(weights(8, 6, "text"), {"net.onnx:graph.initializer[0] 'w'", "element type 8"});
  refuse(weights(1, 9, float_bytes({1.0F, 2.0F})), {"'w'", "[2, 2]", "2 values"});
  refuse(weights(1, 9, "abc"), {"3 bytes of raw_data"});
  refuse(weights(1, 9, float_bytes(kWeights)).number(14, 1), {"another file", "one file"});
  refuse(weights(1, 9, float_bytes(kWeights)).bytes(4, float_bytes(kWeights)), {"twice"});
  refuse(weights(1, 9, float_bytes(kWeights)).number(1, -1), {"shape [2, 2, -1]"});
}

TEST(Onnx, GemmScalesAndTransposes) {
  OnnxWriter writer;
  writer.floats("w", {2, 2}, kWeights).floats("c", {2}, {10.0F, 20.0F});
  Network const plain = read(OnnxWriter(writer).node("Gemm", {"w", "c"}));
  EXPECT_EQ(plain.layers[0].weights, kWeights);
  EXPECT_EQ(plain.layers[0].bias, (std::vector<float>{10.0F, 20.0F}));
  Network const scaled = read(OnnxWriter(writer).node(
      "Gemm", {"w", "c"},
      {onnx_real("alpha", 0.5F), onnx_real("beta", 2.0F), onnx_integer("transB", 1)}));
  EXPECT_EQ(scaled.layers[0].weights, (std::vector<float>{0.5F, 1.5F, 1.0F, 2.0F}));
  EXPECT_EQ(scaled.layers[0].bias, (std::vector<float>{20.0F, 40.0F}));
  expect(OnnxWriter(writer).node("Gemm", {"w"}, {onnx_integer("transA", 1)}),
         {"transA is 1", "node[0]"});
  expect(OnnxWriter(writer).node("Gemm", {"c"}), {"shape [2]", "two dimensions"});
  expect(OnnxWriter(writer).node("Gemm", {"w", "w"}), {"input 2 has shape [2, 2]"});
}

TEST(Onnx, TakesConstantsFromWhereverTheyAre) {
  OnnxWriter writer;
  writer.side("Constant", {}, "w",
              {onnx_tensor_attribute("value", onnx_floats("", {2, 2}, kWeights))});
  writer.side("Constant", {}, "b", {onnx_real("value_float", 3.0F)});
  writer.side("Transpose", {"w"}, "wt").side("Cast", {"wt"}, "wc", {onnx_integer("to", 1)});
  Network const network = read(writer.node("MatMul", {"wc"}).node("Add", {"b"}, {}, true));
  EXPECT_EQ(network.layers[0].weights, (std::vector<float>{1.0F, 3.0F, 2.0F, 4.0F}));
  EXPECT_EQ(network.layers[0].bias, (std::vector<float>{3.0F, 3.0F}));
  // Before IR version 4 initializers are listed as inputs, too.
  OnnxWriter old;
  old.floats("w", {2, 2}, kWeights).node("MatMul", {"w"});
  ProtobufWriter graph;
  std::string bytes = old.bytes();
  EXPECT_EQ(parse_onnx(bytes, "x").layers[0].weights, kWeights);
}

TEST(Onnx, FoldsScalingsInDoubleAndRoundsOnce) {
  OnnxWriter writer({-1, 2});
  writer.floats("mean", {2}, {1.0F, -2.0F}).floats("deviation", {1, 2}, {2.0F, 4.0F});
  writer.floats("w", {2, 2}, kWeights).floats("out", {2, 1}, kOut);
  for (char const* name : {"gamma", "beta", "mu", "variance"}) {
    writer.floats(name, {2}, {1.5F, name[0] == 'v' ? 0.25F : -0.5F});
  }
  Network const network = read(writer.node("Sub", {"mean"})
                                   .node("Div", {"deviation"})
                                   .node("MatMul", {"w"})
                                   .node("Relu")
                                   .node("BatchNormalization", {"gamma", "beta", "mu", "variance"},
                                         {onnx_real("epsilon", 0.0F)})
                                   .node("MatMul", {"out"}));
  ASSERT_EQ(network.layers.size(), 2U);
  EXPECT_EQ(network.layers[0].weights, (std::vector<float>{0.5F, 1.0F, 0.75F, 1.0F}));
  EXPECT_EQ(network.layers[0].bias,
            (std::vector<float>{1.0F, 1.0F}));  // -0.5*1 + 0.5*3, -0.5*2 + 0.5*4
  double const s0 = 1.5 / std::sqrt(1.5);
  double const s1 = -0.5 / std::sqrt(0.25);
  EXPECT_EQ(network.layers[1].weights,
            (std::vector<float>{static_cast<float>(s0), static_cast<float>(-s1)}));
  EXPECT_EQ(network.layers[1].bias,
            (std::vector<float>{static_cast<float>((1.5 - 1.5 * s0) - (-0.5 + 0.5 * s1))}));
  // Behind a dense layer it goes into that layer.
  OnnxWriter behind = first();
  behind.floats("two", {}, {2.0F}).floats("shift", {2}, {5.0F, 7.0F});
  Network const folded = read(behind.node("Mul", {"two"}, {}, true)
                                  .node("Sub", {"shift"}, {}, true)
                                  .node("Tanh")
                                  .node("MatMul", {"out"}));
  EXPECT_EQ(folded.layers[0].weights, (std::vector<float>{-2.0F, -4.0F, -6.0F, -8.0F}));
  EXPECT_EQ(folded.layers[0].bias, (std::vector<float>{5.0F, 7.0F}));
  EXPECT_EQ(folded.layers[0].activation, Activation::kTanh);
  expect(first().floats("c", {2}, kOut).node("Sigmoid").node("Mul", {"c"}),
         {"'nv3'", "no dense layer"});
  expect(first().floats("c", {2}, kOut).node("Div", {"c"}, {}, true), {"divides a constant"});
  expect(first().floats("c", {3}, {1, 2, 3}).node("Add", {"c"}), {"expects 3 values", "2 here"});
}

TEST(Onnx, PassesWhatHasNoEffect) {
  OnnxWriter writer({-1, 2, 1}, 7);
  writer.floats("w", {2, 2}, kWeights).floats("out", {2, 1}, kOut);
  writer.initializer(onnx_integers("rows", {-1, 2})).initializer(onnx_integers("one", {1}));
  writer.initializer(onnx_integers("all", {-1}));
  Network const network = read(writer.node("Cast", {}, {onnx_integer("to", 1)})
                                   .node("Flatten")
                                   .node("MatMul", {"w"})
                                   .node("Identity")
                                   .node("Dropout")
                                   .node("Relu")
                                   .node("Reshape", {"rows"})
                                   .node("MatMul", {"out"})
                                   .node("Squeeze", {"one"})
                                   .node("Unsqueeze", {"one"})
                                   .node("Reshape", {"all"})
                                   .node("Sigmoid"));
  ASSERT_EQ(network.layers.size(), 2U);
  EXPECT_EQ(network.layers[1].activation, Activation::kSigmoid);
  EXPECT_EQ(read(first()
                     .node("ArgMax", {}, {onnx_integer("axis", 1)})
                     .node("Cast", {}, {onnx_integer("to", 7)}))
                .layers[0]
                .weights,
            kWeights);
  auto shaped = [](std::vector<std::int64_t> const& shape) {
    return first().initializer(onnx_integers("s", shape)).node("Reshape", {"s"});
  };
  EXPECT_NO_THROW(read(shaped({0, -1})));
  EXPECT_NO_THROW(read(shaped({-1, 2})));
  expect(shaped({-1, 1}), {"expects 1 values"});
  expect(shaped({1, -1}), {"shape [1, -1]", "keeps rows apart"});
  expect(shaped({-1}), {"shape [-1]"});
  expect(shaped({2, 0, 1}), {"shape [2, 0, 1]"});
  expect(shaped({std::numeric_limits<std::int64_t>::max(), 2}), {"operand 1", "integer"});
  expect(first().floats("s", {2}, {-1.0F, 1.5F}).node("Reshape", {"s"}), {"1.5", "integer"});
  expect(first().node("Squeeze"), {"drops the axes []"});
  expect(first().node("Flatten", {}, {onnx_integer("axis", 0)}), {"axis is 0"});
  expect(first().node("Cast", {}, {onnx_integer("to", 7)}), {"casts to element type 7"});
  expect(first().node("ArgMax"), {"axis is 0"});
  expect(first({-1, 2, 1}), {"takes values of 3 dimensions"});
  expect(first({2}), {"graph.input 'x'", "1 dimensions"});
  expect(first({-1, 3}), {"expects 2 values, but there are 3"});
  expect(first().node("Relu").node("Tanh"), {"tanh follows activation relu", "'nv1'"});
}

// What skl2onnx writes for a classifier with two classes.
OnnxWriter two_classes(float unity) {
  OnnxWriter writer;
  writer.floats("w", {2, 1}, kOut)
      .floats("unity", {}, {unity})
      .node("MatMul", {"w"})
      .node("Sigmoid");
  std::string const p = writer.last();
  writer.side("Sub", {"unity", p}, "q")
      .side("Concat", {"q", p}, "scores", {onnx_integer("axis", 1)});
  writer.side("ArgMax", {"scores"}, "label", {onnx_integer("axis", 1)});
  return writer.output("label", 7).output("scores");
}

TEST(Onnx, ChoosesTheOutputOfScores) {
  Network const network = read(two_classes(1.0F));
  ASSERT_EQ(network.layers.size(), 1U);
  EXPECT_EQ(network.layers[0].activation, Activation::kSigmoid);
  expect(two_classes(2.0F), {"Concat", "combines 'q', 'v2'"});
  OnnxWriter both = first();
  std::string const logits = both.last();
  expect(both.node("Softmax").output(logits).output(both.last()),
         {"2 outputs of scores", "'v1'", "'v2'"});
  expect(first().output("nowhere"), {"'nowhere' is no input, and no node computes it"});
}

TEST(Onnx, RefusesWhatIsNoChain) {
  OnnxWriter residual = first();
  expect(residual.node("Relu").node("Add", {"v1"}),
         {"graph.node[2] (Add 'nv3')", "combines 'v2', 'v1'"});
  expect(first().node("Conv", {"w"}), {"net.onnx:graph.node[1] (Conv 'nv2')", "'Conv'", "Gemm"});
  OnnxWriter loop;
  loop.side("Relu", {"b"}, "a").side("Relu", {"a"}, "b").output("a");
  expect(loop, {"depends on its own output"});
  OnnxWriter twice = first();
  expect(twice.side("Relu", {"x"}, "v1"), {"'v1' is computed twice"});
  OnnxWriter reversed;
  expect(reversed.floats("w", {2, 2}, kWeights).node("MatMul", {"w"}, {}, true),
         {"takes 'x' elsewhere, expected it first"});
  expect(OnnxWriter().output("x"), {"no Dense layer"});
  expect_error(ExitCode::kData, {"y.onnx", "has no graph"}, [] { parse_onnx("", "y.onnx"); });
  expect_error(ExitCode::kData, {"y.onnx", "wire type 3", "complete ONNX model"},
               [] { parse_onnx("\x0B", "y.onnx"); });
  expect_error(ExitCode::kData, {"y.onnx", "bytes are needed"},
               [] { parse_onnx("\x3A\x7F", "y.onnx"); });
  std::string const endless = std::string(11, '\xFF');
  expect_error(ExitCode::kData, {"y.onnx", "64 bits"}, [&] { parse_onnx(endless, "y.onnx"); });
}

// A small file must not make a large network by using one tensor again and again.
TEST(Onnx, SharesNoTensorWithoutEnd) {
  OnnxWriter writer({-1, 16});
  writer.floats("w", {16, 16}, std::vector<float>(256, 1.0F));
  for (int i = 0; i < 200; ++i) writer.node("MatMul", {"w"});
  expect(writer, {"'w'", "again and again"});
}

}  // namespace
}  // namespace fairlane
