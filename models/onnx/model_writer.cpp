#include "models/onnx/model_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace fairlane {
namespace {

static_assert(std::endian::native == std::endian::little, "ONNX's raw data is little-endian");

constexpr std::int64_t kIrVersion = 8;
constexpr std::int64_t kOperators = 13;
constexpr std::int64_t kOperatorsOfGelu = 20;
constexpr std::uint64_t kFloat = 1;  // TensorProto.DataType and AttributeProto.AttributeType
constexpr std::uint64_t kInt = 2;
constexpr std::uint64_t kString = 3;

/// A message of Protocol Buffers, field by field.
class Message {
 public:
  Message& number(std::uint32_t field, std::uint64_t value) {
    put(std::uint64_t{field} << 3);
    put(value);
    return *this;
  }
  Message& bytes(std::uint32_t field, std::string_view value) {
    constexpr std::uint64_t kSized = 2;
    put(std::uint64_t{field} << 3 | kSized);
    put(value.size());
    text_ += value;
    return *this;
  }
  Message& message(std::uint32_t field, Message const& value) { return bytes(field, value.text_); }
  Message& real(std::uint32_t field, float value) {
    constexpr std::uint64_t kFourBytes = 5;
    put(std::uint64_t{field} << 3 | kFourBytes);
    text_.append(reinterpret_cast<char const*>(&value), sizeof(value));
    return *this;
  }
  std::string const& text() const { return text_; }

 private:
  void put(std::uint64_t value) {
    constexpr std::uint64_t kMore = 0x80;
    for (; value >= kMore; value >>= 7) text_ += static_cast<char>(value | kMore);
    text_ += static_cast<char>(value);
  }
  std::string text_;
};

Message real_attribute(std::string_view name, float value) {
  return Message().bytes(1, name).real(2, value).number(20, kFloat);
}

Message tensor(std::string const& name, std::vector<int> const& shape,
               std::vector<float> const& values) {
  Message message;
  for (int const size : shape) message.number(1, static_cast<std::uint64_t>(size));
  std::string_view const raw(reinterpret_cast<char const*>(values.data()),
                             values.size() * sizeof(float));
  return message.number(2, kFloat).bytes(8, name).bytes(9, raw);
}

/// ValueInfoProto of float32 [rows][columns]. rows: 0: any number
Message value_info(std::string const& name, int rows, int columns) {
  Message const height = rows == 0 ? Message().bytes(2, "rows")
                                   : Message().number(1, static_cast<std::uint64_t>(rows));
  Message const width = Message().number(1, static_cast<std::uint64_t>(columns));
  Message const shape = Message().message(1, height).message(1, width);
  Message const type = Message().message(1, Message().number(1, kFloat).message(2, shape));
  return Message().bytes(1, name).message(2, type);
}

/// A graph that grows by one operator after the other.
class Graph {
 public:
  Graph(Network const& network, int rows) : value_("inputs") {
    for (std::size_t l = 0; l < network.layers.size(); ++l) {
      DenseLayer const& layer = network.layers[l];
      std::string const weights = fmt::format("layer{}.weights", l);
      std::string const bias = fmt::format("layer{}.bias", l);
      tensors_.push_back(tensor(weights, {layer.inputs, layer.outputs}, layer.weights));
      tensors_.push_back(tensor(bias, {layer.outputs}, layer.bias));
      apply("Gemm", {value_, weights, bias});
      activate(layer);
    }
    graph_ = Message();
    for (Message const& node : nodes_) graph_.message(1, node);
    graph_.bytes(2, "network");
    for (Message const& one : tensors_) graph_.message(5, one);
    graph_.message(11, value_info("inputs", rows, network.layers.front().inputs));
    graph_.message(12, value_info(value_, rows, network.layers.back().outputs));
  }
  Message const& message() const { return graph_; }

 private:
  void apply(std::string const& type, std::vector<std::string> const& inputs,
             std::vector<Message> const& attributes = {}) {
    value_ = fmt::format("{}{}", type, nodes_.size());
    Message node;
    for (std::string const& input : inputs) node.bytes(1, input);
    node.bytes(2, value_).bytes(3, value_).bytes(4, type);
    for (Message const& attribute : attributes) node.message(5, attribute);
    nodes_.push_back(std::move(node));
  }
  void activate(DenseLayer const& layer) {
    std::string const sum = value_;
    switch (layer.activation) {
      case Activation::kLinear:
        return;
      case Activation::kRelu:
        return apply("Relu", {sum});
      case Activation::kLeakyRelu:
        return apply("LeakyRelu", {sum}, {real_attribute("alpha", layer.alpha)});
      case Activation::kElu:
        return apply("Elu", {sum}, {real_attribute("alpha", layer.alpha)});
      case Activation::kTanh:
        return apply("Tanh", {sum});
      case Activation::kSigmoid:
        return apply("Sigmoid", {sum});
      case Activation::kSoftmax:
        return apply("Softmax", {sum}, {Message().bytes(1, "axis").number(3, 1).number(20, kInt)});
      case Activation::kSilu:
        apply("Sigmoid", {sum});
        return apply("Mul", {sum, value_});
      case Activation::kGelu:
        return apply("Gelu", {sum});
      case Activation::kGeluTanh:
        return apply("Gelu", {sum},
                     {Message().bytes(1, "approximate").bytes(4, "tanh").number(20, kString)});
    }
  }

  std::string value_;  // the last operator's
  std::vector<Message> nodes_;
  std::vector<Message> tensors_;
  Message graph_;
};

bool has_gelu(Network const& network) {
  return std::ranges::any_of(network.layers, [](DenseLayer const& layer) {
    return layer.activation == Activation::kGelu || layer.activation == Activation::kGeluTanh;
  });
}

}  // namespace

void write_onnx(Network const& network, std::string const& path, int rows) {
  Message const operators = Message().bytes(1, "").number(
      2, static_cast<std::uint64_t>(has_gelu(network) ? kOperatorsOfGelu : kOperators));
  Message model;
  model.number(1, kIrVersion).bytes(2, "fairlane");
  model.message(7, Graph(network, rows).message()).message(8, operators);
  write_whole_file(path, model.text());
}

}  // namespace fairlane
