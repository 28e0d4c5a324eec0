#include "models/onnx/graph.h"

#include <fmt/format.h>

#include <bit>

#include "base/error.h"
#include "base/float16.h"
#include "base/text.h"

namespace fairlane::onnx {
namespace {

// Far above what networks have: they end lists of empty messages in corrupt files.
constexpr std::size_t kMaxListed = std::size_t{1} << 16;  // nodes, initializers, inputs, outputs
constexpr std::size_t kMaxPerNode = 1024;                 // inputs, outputs, attributes
constexpr std::size_t kMaxRank = 32;

// Calls `read` for every field of a message; says in which message something was malformed.
template <class Read>
void for_each_field(std::string_view message, std::string const& where, Read const& read) {
  try {
    ProtobufReader reader(message);
    while (auto const field = reader.next()) read(*field);
  } catch (Malformed const& malformed) {
    throw Error(ExitCode::kData,
                fmt::format("{}: {}; is the file a complete ONNX model?", where, malformed.what));
  }
}

template <class T>
T& appended(std::vector<T>& list, std::size_t most) {
  if (list.size() >= most) throw Malformed{fmt::format("lists more than {} things", most)};
  return list.emplace_back();
}

Attribute decode_attribute(std::string_view message, std::string const& where) {
  Attribute attribute;
  for_each_field(message, where, [&](ProtobufField const& field) {
    if (field.number == 1) attribute.name = field.content();
  });
  for_each_field(message, fmt::format("{}.attribute {}", where, in_quotes(attribute.name)),
                 [&](ProtobufField const& field) {
                   if (field.number == 2) attribute.number = field.float32();
                   if (field.number == 3) attribute.integer = field.integer();
                   if (field.number == 4) attribute.text = field.content();
                   if (field.number == 5) attribute.tensor = field.content();
                   if (field.number == 7) append_floats(field, 4, attribute.numbers);
                   if (field.number == 8) append_integers(field, attribute.integers);
                   if (field.number == 9) attribute.texts.push_back(field.content());
                 });
  return attribute;
}

Node decode_node(std::string_view message, std::string const& place) {
  Node node;
  for_each_field(message, place, [&](ProtobufField const& field) {
    if (field.number == 1) appended(node.inputs, kMaxPerNode) = field.content();
    if (field.number == 2) appended(node.outputs, kMaxPerNode) = field.content();
    if (field.number == 3) node.name = field.content();
    if (field.number == 4) node.op = field.content();
    if (field.number == 7) node.domain = field.content();
  });
  node.where = fmt::format("{} ({} {})", place, escaped(node.op, 40), in_quotes(node.name));
  for_each_field(message, node.where, [&](ProtobufField const& field) {
    if (field.number == 5) {
      appended(node.attributes, kMaxPerNode) = decode_attribute(field.content(), node.where);
    }
  });
  return node;
}

Initializer decode_initializer(std::string_view message, std::string const& place) {
  Initializer initializer;
  initializer.tensor = message;
  for_each_field(message, place, [&](ProtobufField const& field) {
    if (field.number == 8) initializer.name = field.content();
  });
  initializer.where = fmt::format("{} {}", place, in_quotes(initializer.name));
  return initializer;
}

// TypeProto.Tensor
void decode_tensor_type(std::string_view message, std::string const& where, Value& value) {
  value.is_tensor = true;
  for_each_field(message, where, [&](ProtobufField const& field) {
    if (field.number == 1) value.type = field.integer();
    if (field.number != 2) return;
    value.sizes.emplace();
    for_each_field(field.content(), where, [&](ProtobufField const& dimension) {
      if (dimension.number != 1) return;
      std::int64_t& size = appended(*value.sizes, kMaxRank);
      size = -1;
      for_each_field(dimension.content(), where, [&](ProtobufField const& part) {
        if (part.number == 1) size = part.integer();
      });
    });
  });
}

Value decode_value(std::string_view message, std::string const& place) {
  Value value;
  for_each_field(message, place, [&](ProtobufField const& field) {
    if (field.number == 1) value.name = field.content();
    if (field.number != 2) return;
    for_each_field(field.content(), place, [&](ProtobufField const& kind) {
      if (kind.number == 1) decode_tensor_type(kind.content(), place, value);
    });
  });
  return value;
}

void decode_graph(std::string_view message, std::string const& source, Model& model) {
  auto const place = [&](char const* list, std::size_t index) {
    return fmt::format("{}:graph.{}[{}]", source, list, index);
  };
  for_each_field(message, source + ":graph", [&](ProtobufField const& field) {
    if (field.number == 1) {
      std::size_t const index = model.nodes.size();
      appended(model.nodes, kMaxListed) = decode_node(field.content(), place("node", index));
    } else if (field.number == 5) {
      std::size_t const index = model.initializers.size();
      appended(model.initializers, kMaxListed) =
          decode_initializer(field.content(), place("initializer", index));
    } else if (field.number == 11) {
      std::size_t const index = model.inputs.size();
      appended(model.inputs, kMaxListed) = decode_value(field.content(), place("input", index));
    } else if (field.number == 12) {
      std::size_t const index = model.outputs.size();
      appended(model.outputs, kMaxListed) = decode_value(field.content(), place("output", index));
    }
  });
}

// Bytes of one element in raw_data; 0 for a type that is not read.
std::size_t element_bytes(std::int64_t type) {
  switch (type) {
    case kUint8:
    case kInt8:
    case kBool:
      return 1;
    case kFloat16:
    case kBfloat16:
      return 2;
    case kFloat:
    case kInt32:
      return 4;
    case kDouble:
    case kInt64:
      return 8;
    default:
      return 0;
  }
}

double element(std::int64_t type, std::uint64_t bits) {
  switch (type) {
    case kFloat:
      return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    case kDouble:
      return std::bit_cast<double>(bits);
    case kFloat16:
      return static_cast<double>(from_half(static_cast<std::uint16_t>(bits)));
    case kBfloat16:
      return static_cast<double>(from_bfloat16(static_cast<std::uint16_t>(bits)));
    case kInt8:
      return static_cast<double>(static_cast<std::int8_t>(bits));
    case kInt32:
      return static_cast<double>(static_cast<std::int32_t>(bits));
    default:
      return static_cast<double>(static_cast<std::int64_t>(bits));
  }
}

}  // namespace

Attribute const* Node::attribute(std::string_view wanted) const {
  for (Attribute const& one : attributes) {
    if (one.name == wanted) return &one;
  }
  return nullptr;
}

std::int64_t Node::integer(std::string_view attribute_name, std::int64_t absent) const {
  Attribute const* const found = attribute(attribute_name);
  return found == nullptr ? absent : found->integer;
}

double Node::number(std::string_view attribute_name, double absent) const {
  Attribute const* const found = attribute(attribute_name);
  return found == nullptr ? absent : static_cast<double>(found->number);
}

std::string_view Node::text(std::string_view attribute_name, std::string_view absent) const {
  Attribute const* const found = attribute(attribute_name);
  return found == nullptr ? absent : found->text;
}

std::vector<double> const& Node::numbers(std::string_view attribute_name) const {
  static std::vector<double> const kNone;
  Attribute const* const found = attribute(attribute_name);
  return found == nullptr ? kNone : found->numbers;
}

std::vector<std::int64_t> const& Node::integers(std::string_view attribute_name) const {
  static std::vector<std::int64_t> const kNone;
  Attribute const* const found = attribute(attribute_name);
  return found == nullptr ? kNone : found->integers;
}

std::vector<std::string_view> const& Node::texts(std::string_view attribute_name) const {
  static std::vector<std::string_view> const kNone;
  Attribute const* const found = attribute(attribute_name);
  return found == nullptr ? kNone : found->texts;
}

Model decode_model(std::string_view bytes, std::string const& source) {
  std::string const file = escaped(source, 4096);
  Model model;
  std::optional<std::string_view> graph;
  for_each_field(bytes, file, [&](ProtobufField const& field) {
    if (field.number == 2) model.producer = field.content();
    if (field.number == 3) model.producer_version = field.content();
    if (field.number == 7) graph = field.content();
    if (field.number != 8) return;
    std::string_view domain;
    std::int64_t version = 1;
    for_each_field(field.content(), file + ":opset_import", [&](ProtobufField const& part) {
      if (part.number == 1) domain = part.content();
      if (part.number == 2) version = part.integer();
    });
    if (domain.empty() || domain == "ai.onnx") model.opset = version;
  });
  if (!graph) throw Error(ExitCode::kData, file + ": has no graph; is it an ONNX file?");
  decode_graph(*graph, file, model);
  return model;
}

Constant decode_tensor(std::string_view message, std::string const& where) {
  Constant constant;
  std::int64_t type = 0;
  std::string_view raw;
  bool external = false;
  std::vector<std::int64_t> integers;  // also the bits of 16-bit floats
  for_each_field(message, where, [&](ProtobufField const& field) {
    if (field.number == 1) append_integers(field, constant.shape);
    if (field.number == 2) type = field.integer();
    if (field.number == 4) append_floats(field, 4, constant.values);
    if (field.number == 5 || field.number == 7) append_integers(field, integers);
    if (field.number == 9) raw = field.content();
    if (field.number == 10) append_floats(field, 8, constant.values);
    if (field.number == 13) external = true;
    if (field.number == 14) external = external || field.integer() != 0;
  });
  auto const bad = [&](std::string const& what) {
    return Error(ExitCode::kData, fmt::format("{}: {}", where, what));
  };
  if (external) {
    throw bad(
        "keeps its data in another file, which is not supported; save the model in one file "
        "(onnx.save(..., save_as_external_data=False))");
  }
  std::size_t const width = element_bytes(type);
  if (width == 0) {
    throw bad(fmt::format("has element type {}, expected floats or integers", type));
  }
  if (constant.shape.size() > kMaxRank) {
    throw bad(
        fmt::format("has {} dimensions, expected at most {}", constant.shape.size(), kMaxRank));
  }
  if (!raw.empty()) {
    if (!constant.values.empty() || !integers.empty()) throw bad("has its values twice");
    ByteCursor cursor(raw, "raw_data");
    if (raw.size() % width != 0) {
      throw bad(
          fmt::format("has {} bytes of raw_data, expected a multiple of {}", raw.size(), width));
    }
    constant.values.reserve(raw.size() / width);
    while (cursor.left() > 0) constant.values.push_back(element(type, cursor.number(width)));
  } else if (type != kFloat && type != kDouble) {
    if (!constant.values.empty()) throw bad("has floats for values of another type");
    for (std::int64_t const bits : integers) {
      constant.values.push_back(element(type, static_cast<std::uint64_t>(bits)));
    }
  }
  std::uint64_t count = 1;
  for (std::int64_t const size : constant.shape) {
    if (size < 0 ||
        (size > 0 && count > constant.values.size() / static_cast<std::uint64_t>(size))) {
      count = ~std::uint64_t{0};
      break;
    }
    count *= static_cast<std::uint64_t>(size);
  }
  if (count != constant.values.size()) {
    throw bad(fmt::format("has shape [{}], but {} values", fmt::join(constant.shape, ", "),
                          constant.values.size()));
  }
  return constant;
}

}  // namespace fairlane::onnx
