// An ONNX file as nodes and tensors, decoded but not interpreted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/formats/protobuf_wire.h"

namespace fairlane::onnx {

/// Element types (TensorProto.DataType) that are told apart.
enum ElementType : std::int64_t {
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kBfloat16 = 16,
};

/// A tensor's values, widened.
/// shape   [rank]
/// values  [product of shape] row-major
struct Constant {
  std::vector<std::int64_t> shape;
  std::vector<double> values;
};

/// All views point into the file's bytes.
struct Attribute {
  std::string_view name;
  float number = 0.0F;
  std::int64_t integer = 0;
  std::string_view text;
  std::string_view tensor;  // a TensorProto
  std::vector<double> numbers;
  std::vector<std::int64_t> integers;
  std::vector<std::string_view> texts;
};

struct Node {
  std::string_view op;
  std::string_view domain;
  std::string_view name;
  std::vector<std::string_view> inputs;  // "" where an optional one is left out
  std::vector<std::string_view> outputs;
  std::vector<Attribute> attributes;
  std::string where;  // "net.onnx:graph.node[3] (Gemm 'fc1')"

  Attribute const* attribute(std::string_view wanted) const;
  std::int64_t integer(std::string_view attribute_name, std::int64_t absent) const;
  double number(std::string_view attribute_name, double absent) const;
  std::string_view text(std::string_view attribute_name, std::string_view absent) const;
  /// Lists; empty where the attribute is left out.
  std::vector<double> const& numbers(std::string_view attribute_name) const;
  std::vector<std::int64_t> const& integers(std::string_view attribute_name) const;
  std::vector<std::string_view> const& texts(std::string_view attribute_name) const;
};

struct Initializer {
  std::string_view name;
  std::string_view tensor;  // a TensorProto
  std::string where;
};

/// An input or output of the graph.
/// sizes  one entry per dimension, -1 where it is not fixed; nothing when no shape is declared
struct Value {
  std::string_view name;
  bool is_tensor = false;  // not a sequence or a map
  std::int64_t type = 0;
  std::optional<std::vector<std::int64_t>> sizes;
};

struct Model {
  std::string_view producer;
  std::string_view producer_version;
  std::int64_t opset = 1;  // of the default domain
  std::vector<Node> nodes;
  std::vector<Initializer> initializers;
  std::vector<Value> inputs;
  std::vector<Value> outputs;
};

/// Throws Error(kData) naming `source` and the path inside it, such as graph.node[3].
/// Source: onnx.proto of ONNX 1.16 (IR version 10).
Model decode_model(std::string_view bytes, std::string const& source);

/// Decodes a TensorProto. `where` names it in messages. Throws Error(kData): for malformed data,
/// for element types that are neither floats nor small integers, for data in other files.
Constant decode_tensor(std::string_view message, std::string const& where);

}  // namespace fairlane::onnx
