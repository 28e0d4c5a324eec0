// ONNX graphs that are a chain of dense layers, activations and scalings.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "kernels/core/error.h"
#include "models/layer_chain.h"
#include "models/network.h"
#include "models/onnx_model.h"
#include "models/onnx_wiring.h"
#include "models/text.h"

namespace fairlane {
namespace {

using onnx::Constant;
using onnx::Model;
using onnx::Node;
using onnx::Value;
using onnx::Wiring;

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 31;  // what Protocol Buffers allow

// Slopes that ONNX takes when an attribute is left out.
constexpr double kDefaultLeaky = 0.01;
constexpr double kDefaultElu = 1.0;
constexpr double kDefaultEpsilon = 1e-5;  // of BatchNormalization

Error bad(std::string const& where, std::string const& what) {
  return Error(ExitCode::kData, fmt::format("{}: {}", where, what));
}

std::string name_list(std::vector<std::string_view> const& names) {
  std::string text;
  for (auto const& name : names) text += (text.empty() ? "" : ", ") + in_quotes(name);
  return text;
}

// Turns a chain of nodes into layers, from the input on.
class Builder {
 public:
  Builder(Model const& model, std::size_t file_bytes, std::string const& source)
      : model_(model), wiring_(model, file_bytes), source_(escaped(source, 4096)) {}

  LayerChain build() &&;

 private:
  using Step = void (Builder::*)(Node const&);
  static std::map<std::string_view, Step> const& steps();

  Value const& scores() const;
  std::vector<Node const*> chain_to(Value const& output, Value const*& input) const;
  std::string_view computed_input(Node const& node) const;
  std::optional<std::string_view> two_class_scores(Node const& node) const;
  void begin(Value const& input);

  void need_matrix(Node const& node) const {
    if (rank_ != 2) {
      throw bad(node.where,
                fmt::format("takes values of {} dimensions, expected [rows, values]", rank_));
    }
  }
  void need_axis(Node const& node, std::int64_t axis) const {
    if (axis != -1 && axis != 1) {
      throw bad(node.where, fmt::format("axis is {}, expected 1 or -1", axis));
    }
  }
  void need_inputs(Node const& node, std::size_t least, std::size_t most) const {
    if (node.inputs.size() < least || node.inputs.size() > most) {
      throw bad(node.where,
                fmt::format("has {} inputs, expected {}..{}", node.inputs.size(), least, most));
    }
  }
  Constant operand(Node const& node, std::size_t index) const;
  std::vector<double> per_unit(Node const& node, std::size_t index) const;
  std::vector<std::int64_t> axes(Node const& node) const;
  void activate(Node const& node, Activation activation, double alpha = 0.0) {
    layers_.activation(activation, static_cast<float>(alpha), node.where);
  }

  void gemm(Node const& node);
  void mat_mul(Node const& node);
  void arithmetic(Node const& node);
  void relu(Node const& node) { activate(node, Activation::kRelu); }
  void leaky_relu(Node const& node) {
    activate(node, Activation::kLeakyRelu, node.number("alpha", kDefaultLeaky));
  }
  void elu(Node const& node) {
    activate(node, Activation::kElu, node.number("alpha", kDefaultElu));
  }
  void sigmoid(Node const& node) { activate(node, Activation::kSigmoid); }
  void tanh(Node const& node) { activate(node, Activation::kTanh); }
  void softmax(Node const& node);
  void arg_max(Node const& node);
  void flatten(Node const& node);
  void reshape(Node const& node);
  void squeeze(Node const& node);
  void unsqueeze(Node const& node);
  void cast(Node const& node);
  void dropout(Node const& node);
  void batch_normalization(Node const& node);
  void scaler(Node const& node);
  void concat(Node const& node);
  void no_effect(Node const&) {}

  Model const& model_;
  Wiring wiring_;
  std::string source_;
  LayerChain layers_;
  std::size_t rank_ = 2;              // dimensions here, rows included
  bool decided_ = false;              // after ArgMax only labels are left
  std::optional<std::int64_t> rows_;  // where the graph is for a fixed number of them
  bool untouched_ = true;             // nothing but the inputs themselves so far
};

std::map<std::string_view, Builder::Step> const& Builder::steps() {
  static std::map<std::string_view, Step> const kSteps = {
      {"Gemm", &Builder::gemm},
      {"MatMul", &Builder::mat_mul},
      {"Add", &Builder::arithmetic},
      {"Sub", &Builder::arithmetic},
      {"Mul", &Builder::arithmetic},
      {"Div", &Builder::arithmetic},
      {"Relu", &Builder::relu},
      {"LeakyRelu", &Builder::leaky_relu},
      {"Elu", &Builder::elu},
      {"Sigmoid", &Builder::sigmoid},
      {"Tanh", &Builder::tanh},
      {"Softmax", &Builder::softmax},
      {"LogSoftmax", &Builder::softmax},
      {"ArgMax", &Builder::arg_max},
      {"Flatten", &Builder::flatten},
      {"Reshape", &Builder::reshape},
      {"Squeeze", &Builder::squeeze},
      {"Unsqueeze", &Builder::unsqueeze},
      {"Cast", &Builder::cast},
      {"Identity", &Builder::no_effect},
      {"Dropout", &Builder::dropout},
      {"BatchNormalization", &Builder::batch_normalization},
      {"Scaler", &Builder::scaler},
      {"Concat", &Builder::concat},
      {"ZipMap", &Builder::no_effect},  // names the scores
  };
  return kSteps;
}

// The output that holds scores; labels stand beside it in what scikit-learn's converter writes.
Value const& Builder::scores() const {
  auto const& outputs = model_.outputs;
  if (outputs.empty()) throw bad(source_ + ":graph", "has no output");
  if (outputs.size() == 1) return outputs[0];
  std::vector<Value const*> candidates;
  for (Value const& output : outputs) {
    if (!output.is_tensor || onnx::is_float(output.type)) candidates.push_back(&output);
  }
  if (candidates.size() != 1) {
    std::vector<std::string_view> names;
    for (Value const& output : outputs) names.push_back(output.name);
    throw bad(source_ + ":graph",
              fmt::format("has {} outputs of scores among {}, expected one: export the model with "
                          "its scores as the only output",
                          candidates.size(), name_list(names)));
  }
  return *candidates[0];
}

// p, where the node puts 1 - p beside it, as scikit-learn's converter does for two classes.
std::optional<std::string_view> Builder::two_class_scores(Node const& node) const {
  if (node.op != "Concat" || node.inputs.size() != 2) return std::nullopt;
  Node const* const other = wiring_.producer(node.inputs[0]);
  if (other == nullptr || other->op != "Sub" || other->inputs.size() != 2 ||
      other->inputs[1] != node.inputs[1] || !wiring_.is_constant(other->inputs[0])) {
    return std::nullopt;
  }
  Constant const one = wiring_.constant(other->inputs[0]);
  if (one.values != std::vector<double>{1.0}) return std::nullopt;
  return node.inputs[1];
}

// The one input of a node that depends on the graph's inputs.
std::string_view Builder::computed_input(Node const& node) const {
  if (auto const p = two_class_scores(node)) return *p;
  std::vector<std::string_view> computed;
  for (auto const& name : node.inputs) {
    if (!name.empty() && !wiring_.is_constant(name)) computed.push_back(name);
  }
  // The shape of a Reshape may be computed from the very values that it reshapes.
  if (node.op == "Reshape" && !node.inputs.empty()) return node.inputs[0];
  if (computed.size() != 1) {
    throw bad(node.where,
              computed.empty()
                  ? std::string("takes no computed value, expected one")
                  : fmt::format("combines {}; only a chain of layers from one input is supported",
                                name_list(computed)));
  }
  return computed[0];
}

std::vector<Node const*> Builder::chain_to(Value const& output, Value const*& input) const {
  std::vector<Node const*> chain;
  std::string_view name = output.name;
  while ((input = wiring_.input(name)) == nullptr) {
    Node const* const node = wiring_.producer(name);
    if (node == nullptr) {
      throw bad(source_ + ":graph",
                fmt::format("{} is no input, and no node computes it", in_quotes(name)));
    }
    if (chain.size() >= model_.nodes.size()) throw bad(node->where, "depends on its own output");
    bool const known_domain = node->domain.empty() || node->domain.substr(0, 7) == "ai.onnx";
    if (steps().count(node->op) == 0 || !known_domain) {
      std::vector<std::string_view> names;
      for (auto const& step : steps()) names.push_back(step.first);
      bool const classical = node->domain.substr(0, 10) == "ai.onnx.ml";
      throw bad(
          node->where,
          fmt::format(
              "operator {} is not supported, expected a network of {}{}", in_quotes(node->op),
              fmt::join(names, ", "),
              classical ? "; a model of another kind can be tested as a black box (exec:)" : ""));
    }
    if (node->outputs.empty() || node->outputs[0] != name) {
      throw bad(node->where, fmt::format("{} is not its first output", in_quotes(name)));
    }
    chain.push_back(node);
    name = computed_input(*node);
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

void Builder::begin(Value const& input) {
  std::string const where = fmt::format("{}:graph.input {}", source_, in_quotes(input.name));
  if (!input.is_tensor || input.type == onnx::kString) throw bad(where, "is no tensor of numbers");
  if (!input.sizes) return;
  auto const& sizes = *input.sizes;
  if (sizes.size() < 2) {
    throw bad(where, fmt::format("has {} dimensions, expected [rows, attributes]", sizes.size()));
  }
  rank_ = sizes.size();
  if (sizes[0] > 0) rows_ = sizes[0];
  std::int64_t width = 1;
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    if (sizes[i] < 1) return;  // not fixed
    if (sizes[i] > kMaxInputs) width = std::int64_t{kMaxInputs} + 1;
    width = std::min<std::int64_t>(width * sizes[i], std::int64_t{kMaxInputs} + 1);
  }
  layers_.expect_width(width, where);
}

Constant Builder::operand(Node const& node, std::size_t index) const {
  if (!wiring_.is_constant(node.inputs[index])) {
    throw bad(node.where, fmt::format("input {} is {}, expected a constant", index,
                                      in_quotes(node.inputs[index])));
  }
  return wiring_.constant(node.inputs[index]);
}

// A constant of one value, or one per unit.
std::vector<double> Builder::per_unit(Node const& node, std::size_t index) const {
  Constant constant = operand(node, index);
  auto const& shape = constant.shape;
  bool const row = shape.size() <= 2 && (shape.empty() || static_cast<std::size_t>(shape.back()) ==
                                                              constant.values.size());
  if (!row || constant.values.empty() || (rank_ != 2 && constant.values.size() != 1)) {
    throw bad(node.where, fmt::format("input {} has shape [{}], expected one value per unit", index,
                                      fmt::join(shape, ", ")));
  }
  return std::move(constant.values);
}

void Builder::gemm(Node const& node) {
  need_matrix(node);
  need_inputs(node, 2, 3);
  if (node.integer("transA", 0) != 0) {
    throw bad(node.where, fmt::format("transA is {}, expected 0", node.integer("transA", 0)));
  }
  Constant const weights = operand(node, 1);
  if (weights.shape.size() != 2) {
    throw bad(node.where, fmt::format("weights have shape [{}], expected two dimensions",
                                      fmt::join(weights.shape, ", ")));
  }
  bool const outputs_first = node.integer("transB", 0) != 0;
  std::int64_t const inputs = weights.shape[outputs_first ? 1 : 0];
  std::int64_t const outputs = weights.shape[outputs_first ? 0 : 1];
  std::vector<double> values = weights.values;
  if (outputs_first) {
    auto const rows = static_cast<std::size_t>(inputs);
    auto const columns = static_cast<std::size_t>(outputs);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j)
        values[i * columns + j] = weights.values[j * rows + i];
    }
  }
  std::vector<double> bias;
  if (node.inputs.size() == 3 && !node.inputs[2].empty()) {
    bias = per_unit(node, 2);
    if (bias.size() == 1 && outputs > 1 && outputs <= kMaxUnits) {
      bias.resize(static_cast<std::size_t>(outputs), bias[0]);
    }
  }
  double const alpha = node.number("alpha", 1.0);
  double const beta = node.number("beta", 1.0);
  std::string const name(node.name.empty() ? node.op : node.name);
  if (alpha == 1.0 && beta == 1.0) {
    layers_.dense(name, inputs, outputs, std::move(values), std::move(bias), node.where);
    return;
  }
  layers_.dense(name, inputs, outputs, std::move(values), {}, node.where);
  layers_.scaling({alpha}, {0.0}, node.where);
  if (bias.empty()) return;
  for (double& value : bias) value *= beta;
  layers_.scaling({1.0}, std::move(bias), node.where);
}

void Builder::mat_mul(Node const& node) {
  need_matrix(node);
  need_inputs(node, 2, 2);
  Constant weights = operand(node, 1);
  if (weights.shape.size() != 2) {
    throw bad(node.where, fmt::format("weights have shape [{}], expected [inputs, outputs]",
                                      fmt::join(weights.shape, ", ")));
  }
  layers_.dense(std::string(node.name.empty() ? node.op : node.name), weights.shape[0],
                weights.shape[1], std::move(weights.values), {}, node.where);
}

// A constant added, subtracted, multiplied or divided by: a bias or a scaling.
void Builder::arithmetic(Node const& node) {
  need_inputs(node, 2, 2);
  bool const constant_first = wiring_.is_constant(node.inputs[0]);
  std::vector<double> values = per_unit(node, constant_first ? 0 : 1);
  if (node.op == "Add") {
    layers_.scaling({1.0}, std::move(values), node.where);
  } else if (node.op == "Mul") {
    layers_.scaling(std::move(values), {0.0}, node.where);
  } else if (node.op == "Sub") {
    if (!constant_first) {
      for (double& value : values) value = -value;
    }
    layers_.scaling({constant_first ? -1.0 : 1.0}, std::move(values), node.where);
  } else if (constant_first) {
    throw bad(node.where, "divides a constant by computed values, which is not supported");
  } else {
    for (double& value : values) value = 1.0 / value;
    layers_.scaling(std::move(values), {0.0}, node.where);
  }
}

void Builder::softmax(Node const& node) {
  need_matrix(node);
  constexpr std::int64_t kLastAxisSince = 13;  // operator set
  need_axis(node, node.integer("axis", model_.opset >= kLastAxisSince ? -1 : 1));
  activate(node, Activation::kSoftmax);
}

void Builder::arg_max(Node const& node) {
  need_matrix(node);
  need_axis(node, node.integer("axis", 0));
  if (node.integer("select_last_index", 0) != 0) {
    throw bad(node.where, "select_last_index is 1, expected 0: ties go to the lowest class");
  }
  decided_ = true;
}

void Builder::flatten(Node const& node) {
  std::int64_t const axis = node.integer("axis", 1);
  if (axis != 1 && !(axis == -1 && rank_ == 2)) {
    throw bad(node.where, fmt::format("axis is {}, expected 1", axis));
  }
  rank_ = 2;
}

void Builder::reshape(Node const& node) {
  need_inputs(node, 1, 2);
  if (node.inputs.size() == 2 && !wiring_.is_constant(node.inputs[1])) {
    if (layers_.width() != 1 || rank_ > 2) {
      throw bad(node.where, "has a computed shape, expected a constant such as [-1, values]");
    }
    rank_ = 1;  // one value per row stays what it is
    return;
  }
  std::vector<std::int64_t> shape;
  if (node.inputs.size() == 2) {
    for (double const size : operand(node, 1).values)
      shape.push_back(static_cast<std::int64_t>(size));
  } else if (onnx::Attribute const* const old = node.attribute("shape")) {
    shape = old->integers;  // before operator set 5
  }
  auto const fail = [&] {
    return bad(node.where,
               fmt::format("has shape [{}], expected one that keeps rows apart: [-1, values]",
                           fmt::join(shape, ", ")));
  };
  if (shape.size() == 1 && layers_.width() == 1 && rank_ <= 2) {
    rank_ = 1;
    return;
  }
  if (shape.size() != 2) throw fail();
  std::int64_t const rows = shape[0];
  std::int64_t const values = shape[1];
  bool const copies_width = values == 0 && rank_ == 2 && node.integer("allowzero", 0) == 0;
  if (rows == -1 && values > 0) {
    layers_.expect_width(values, node.where);
  } else if (values > 0 && layers_.width() != values) {
    throw fail();
  } else if (values < -1 || (values == 0 && !copies_width)) {
    throw fail();
  } else if (values == -1 && rows != 0 && rows != rows_) {
    throw fail();
  }
  rank_ = 2;
}

std::vector<std::int64_t> Builder::axes(Node const& node) const {
  if (node.inputs.size() > 1 && !node.inputs[1].empty()) {
    std::vector<std::int64_t> result;
    for (double const axis : operand(node, 1).values)
      result.push_back(static_cast<std::int64_t>(axis));
    return result;
  }
  onnx::Attribute const* const old = node.attribute("axes");  // before operator set 13
  return old == nullptr ? std::vector<std::int64_t>() : old->integers;
}

void Builder::squeeze(Node const& node) {
  auto const dropped = axes(node);
  bool const last = dropped.empty() || dropped == std::vector<std::int64_t>{1} ||
                    dropped == std::vector<std::int64_t>{-1};
  if (rank_ != 2 || layers_.width() != 1 || !last) {
    throw bad(node.where,
              fmt::format("drops the axes [{}], expected the last one of one value per row",
                          fmt::join(dropped, ", ")));
  }
  rank_ = 1;
}

void Builder::unsqueeze(Node const& node) {
  auto const added = axes(node);
  bool const last = added == std::vector<std::int64_t>{1} || added == std::vector<std::int64_t>{-1};
  if (rank_ != 1 || !last) {
    throw bad(node.where, fmt::format("adds the axes [{}] to values of {} dimensions, expected the "
                                      "last one to one value per row",
                                      fmt::join(added, ", "), rank_));
  }
  rank_ = 2;
}

void Builder::cast(Node const& node) {
  std::int64_t const to = node.integer("to", 0);
  bool const integers = to == onnx::kInt32 || to == onnx::kInt64;
  // Inputs are integer codes, which every type but the smallest holds.
  if (to == onnx::kFloat || to == onnx::kDouble || (untouched_ && integers)) return;
  throw bad(node.where,
            fmt::format("casts to element type {}, expected {} (float) or {} (double)", to,
                        static_cast<int>(onnx::kFloat), static_cast<int>(onnx::kDouble)));
}

void Builder::dropout(Node const& node) {
  if (node.inputs.size() > 2 && !node.inputs[2].empty() &&
      operand(node, 2).values != std::vector<double>{0.0}) {
    throw bad(node.where, "is in training mode; export the model for inference");
  }
}

void Builder::batch_normalization(Node const& node) {
  need_matrix(node);
  need_inputs(node, 5, 5);
  if (node.integer("training_mode", 0) != 0) {
    throw bad(node.where, "is in training mode; export the model for inference");
  }
  std::vector<std::vector<double>> parts;
  for (std::size_t i = 1; i < 5; ++i) {
    parts.push_back(per_unit(node, i));
    if (parts.back().size() != parts.front().size()) {
      throw bad(node.where, fmt::format("input {} has {} values, expected {}", i,
                                        parts.back().size(), parts.front().size()));
    }
  }
  double const epsilon =
      node.number("epsilon", static_cast<double>(static_cast<float>(kDefaultEpsilon)));
  std::vector<double> scale;
  std::vector<double> shift;
  for (std::size_t i = 0; i < parts[0].size(); ++i) {
    scale.push_back(parts[0][i] / std::sqrt(parts[3][i] + epsilon));
    shift.push_back(parts[1][i] - parts[2][i] * scale.back());
  }
  layers_.scaling(std::move(scale), std::move(shift), node.where);
}

// (x - offset) * scale
void Builder::scaler(Node const& node) {
  need_matrix(node);
  onnx::Attribute const* const offset = node.attribute("offset");
  onnx::Attribute const* const factor = node.attribute("scale");
  std::vector<double> const offsets =
      offset == nullptr ? std::vector<double>{0.0} : offset->numbers;
  std::vector<double> scale = factor == nullptr ? std::vector<double>{1.0} : factor->numbers;
  std::size_t const size = std::max(offsets.size(), scale.size());
  auto const fits = [&](std::vector<double> const& list) {
    return list.size() == 1 || list.size() == size;
  };
  if (offsets.empty() || scale.empty() || !fits(offsets) || !fits(scale)) {
    throw bad(node.where, fmt::format("has {} offsets and {} scales, expected as many of each",
                                      offsets.size(), scale.size()));
  }
  std::vector<double> shift;
  for (std::size_t i = 0; i < size; ++i) {
    shift.push_back(-offsets[offsets.size() == 1 ? 0 : i] * scale[scale.size() == 1 ? 0 : i]);
  }
  layers_.scaling(std::move(scale), std::move(shift), node.where);
}

void Builder::concat(Node const& node) {
  bool const two_classes = two_class_scores(node) && layers_.ends_with(Activation::kSigmoid) &&
                           layers_.width() == 1 && rank_ == 2;
  need_axis(node, node.integer("axis", 0));
  if (!two_classes) {
    throw bad(node.where, "joins values, expected 1 - p and p behind one sigmoid");
  }
}

LayerChain Builder::build() && {
  Value const& output = scores();
  Value const* input = nullptr;
  auto const chain = chain_to(output, input);
  begin(*input);
  for (Node const* const node : chain) {
    bool const on_labels = node->op == "Cast" || node->op == "Identity" || node->op == "Squeeze" ||
                           node->op == "Reshape" || node->op == "Flatten" ||
                           node->op == "Unsqueeze";
    if (decided_ && on_labels) continue;
    if (decided_) throw bad(node->where, "computes with labels, which is not supported");
    (this->*steps().at(node->op))(*node);
    untouched_ = untouched_ && on_labels;
  }
  if (decided_ && layers_.width() == 1 && !layers_.ends_with(Activation::kSigmoid)) {
    throw bad(chain.back()->where, "decides among one value; export the model without ArgMax");
  }
  return std::move(layers_);
}

}  // namespace

Network parse_onnx(std::string_view bytes, std::string const& source) {
  Model const model = onnx::decode_model(bytes, source);
  std::string const writer = model.producer.empty()
                                 ? std::string()
                                 : fmt::format(", by {} {}", escaped(model.producer, 40),
                                               escaped(model.producer_version, 40));
  return Builder(model, bytes.size(), source)
      .build()
      .finish(source, fmt::format("ONNX (operator set {}{})", model.opset, writer));
}

Network read_onnx(std::string const& path) {
  return parse_onnx(read_file(path, kMaxFileBytes), path);
}

}  // namespace fairlane
