// Writes small ONNX graphs.
#pragma once

#include "models/network.h"
#include "tests/base/formats/protobuf_writer.h"

namespace fairlane {

/// Numbers of onnx.proto.
namespace onnx_field {
inline constexpr std::uint32_t kNode = 1, kInitializer = 5, kInput = 11,
                               kOutput = 12;  // GraphProto
}

using OnnxAttributes = std::vector<ProtobufWriter>;

inline ProtobufWriter onnx_integer(std::string const& name, std::int64_t value) {
  return ProtobufWriter().bytes(1, name).number(3, value).number(20, 2);
}
inline ProtobufWriter onnx_real(std::string const& name, float value) {
  return ProtobufWriter().bytes(1, name).real(2, value).number(20, 1);
}
inline ProtobufWriter onnx_text(std::string const& name, std::string const& value) {
  return ProtobufWriter().bytes(1, name).bytes(4, value).number(20, 3);
}
inline ProtobufWriter onnx_tensor_attribute(std::string const& name, ProtobufWriter const& tensor) {
  return ProtobufWriter().bytes(1, name).message(5, tensor).number(20, 4);
}

/// A TensorProto of float32 in raw_data.
inline ProtobufWriter onnx_floats(std::string const& name, std::vector<std::int64_t> const& shape,
                                  std::vector<float> const& values) {
  ProtobufWriter tensor;
  for (std::int64_t const size : shape) tensor.number(1, size);
  return tensor.number(2, 1).bytes(8, name).bytes(9, float_bytes(values));
}

/// A TensorProto of int64 in int64_data, packed.
inline ProtobufWriter onnx_integers(std::string const& name,
                                    std::vector<std::int64_t> const& values) {
  std::string packed;
  for (std::int64_t const value : values) packed += varint(static_cast<std::uint64_t>(value));
  return ProtobufWriter()
      .number(1, static_cast<std::int64_t>(values.size()))
      .number(2, 7)
      .bytes(7, packed)
      .bytes(8, name);
}

/// An input or output; a size of -1 is a variable one.
inline ProtobufWriter onnx_value(std::string const& name, std::vector<std::int64_t> const& shape,
                                 std::int64_t type = 1) {
  ProtobufWriter sizes;
  for (std::int64_t const size : shape) {
    sizes.message(1, size < 0 ? ProtobufWriter().bytes(2, "n") : ProtobufWriter().number(1, size));
  }
  ProtobufWriter const tensor = ProtobufWriter().number(1, type).message(2, sizes);
  return ProtobufWriter().bytes(1, name).message(2, ProtobufWriter().message(1, tensor));
}

/// A graph whose nodes are a chain: each takes the output of the one before.
class OnnxWriter {
 public:
  explicit OnnxWriter(std::vector<std::int64_t> const& input_shape = {-1, 2},
                      std::int64_t input_type = 1) {
    graph_.message(onnx_field::kInput, onnx_value("x", input_shape, input_type));
  }

  /// A node of the chain; `others` are its further inputs. Constant operands may stand first.
  OnnxWriter& node(std::string const& op, std::vector<std::string> const& others = {},
                   OnnxAttributes const& attributes = {}, bool others_first = false) {
    std::string const next = "v" + std::to_string(++count_);
    ProtobufWriter node;
    if (!others_first) node.bytes(1, last_);
    for (auto const& other : others) node.bytes(1, other);
    if (others_first) node.bytes(1, last_);
    last_ = next;
    return finished(node, op, next, attributes);
  }
  /// A classifier of ai.onnx.ml behind the chain, whose second output is the graph's.
  OnnxWriter& classifier(std::string const& op, OnnxAttributes const& attributes) {
    ProtobufWriter node;
    node.bytes(1, last_).bytes(2, "label").bytes(2, "scores").bytes(3, "n").bytes(4, op);
    for (auto const& attribute : attributes) node.message(5, attribute);
    node.bytes(7, "ai.onnx.ml");
    graph_.message(onnx_field::kNode, node);
    return output("scores");
  }
  /// A node beside the chain.
  OnnxWriter& side(std::string const& op, std::vector<std::string> const& inputs,
                   std::string const& output, OnnxAttributes const& attributes = {}) {
    ProtobufWriter node;
    for (auto const& input : inputs) node.bytes(1, input);
    return finished(node, op, output, attributes);
  }
  OnnxWriter& initializer(ProtobufWriter const& tensor) {
    graph_.message(onnx_field::kInitializer, tensor);
    return *this;
  }
  OnnxWriter& floats(std::string const& name, std::vector<std::int64_t> const& shape,
                     std::vector<float> const& values) {
    return initializer(onnx_floats(name, shape, values));
  }
  OnnxWriter& output(std::string const& name, std::int64_t type = 1) {
    graph_.message(onnx_field::kOutput, onnx_value(name, {-1, -1}, type));
    has_output_ = true;
    return *this;
  }
  std::string const& last() const { return last_; }
  /// Puts the chain on after this value.
  OnnxWriter& from(std::string const& value) {
    last_ = value;
    return *this;
  }

  std::string bytes(std::int64_t opset = 13) {
    if (!has_output_) output(last_);
    return ProtobufWriter()
        .number(1, 8)
        .bytes(2, "test")
        .message(7, graph_)
        .message(8, ProtobufWriter().bytes(1, "").number(2, opset))
        .text();
  }

 private:
  OnnxWriter& finished(ProtobufWriter& node, std::string const& op, std::string const& output,
                       OnnxAttributes const& attributes) {
    node.bytes(2, output).bytes(3, "n" + output).bytes(4, op);
    for (auto const& attribute : attributes) node.message(5, attribute);
    graph_.message(onnx_field::kNode, node);
    return *this;
  }

  ProtobufWriter graph_;
  std::string last_ = "x";
  int count_ = 0;
  bool has_output_ = false;
};

/// A network of MatMul and Add (`gemm`: of Gemm with transposed weights) and activations.
inline std::string onnx_of(Network const& network, bool gemm) {
  OnnxWriter writer({-1, network.inputs()});
  int k = 0;
  for (DenseLayer const& layer : network.layers) {
    std::string const w = "w" + std::to_string(k);
    std::string const b = "b" + std::to_string(k++);
    if (gemm) {
      std::vector<float> transposed;
      for (int j = 0; j < layer.outputs; ++j) {
        for (int i = 0; i < layer.inputs; ++i) {
          transposed.push_back(layer.weights[static_cast<std::size_t>(i * layer.outputs + j)]);
        }
      }
      writer.floats(w, {layer.outputs, layer.inputs}, transposed);
      writer.floats(b, {layer.outputs}, layer.bias);
      writer.node("Gemm", {w, b}, {onnx_integer("transB", 1)});
    } else {
      writer.floats(w, {layer.inputs, layer.outputs}, layer.weights);
      writer.floats(b, {1, layer.outputs}, layer.bias);
      writer.node("MatMul", {w}).node("Add", {b}, {}, k % 2 == 0);
    }
    switch (layer.activation) {
      case Activation::kLinear:
        break;
      case Activation::kRelu:
        writer.node("Relu");
        break;
      case Activation::kLeakyRelu:
        writer.node("LeakyRelu", {}, {onnx_real("alpha", layer.alpha)});
        break;
      case Activation::kElu:
        writer.node("Elu", {}, {onnx_real("alpha", layer.alpha)});
        break;
      case Activation::kTanh:
        writer.node("Tanh");
        break;
      case Activation::kSigmoid:
        writer.node("Sigmoid");
        break;
      case Activation::kSoftmax:
        writer.node("Softmax");
        break;
      case Activation::kSilu: {
        std::string const x = writer.last();
        writer.node("Sigmoid").node("Mul", {x});
        break;
      }
      case Activation::kGelu:
        writer.node("Gelu");
        break;
      case Activation::kGeluTanh:
        writer.node("Gelu", {}, {onnx_text("approximate", "tanh")});
        break;
    }
  }
  return writer.bytes();
}

}  // namespace fairlane
