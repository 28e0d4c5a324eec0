#include "models/onnx/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "models/onnx/linear_classifier.h"

namespace fairlane::onnx {
namespace {

constexpr double kMostSize = 2147483647.0;  // of a dimension or an axis

// Slopes that ONNX takes when an attribute is left out.
constexpr double kDefaultLeaky = 0.01;
constexpr double kDefaultElu = 1.0;
constexpr double kDefaultEpsilon = 1e-5;  // of BatchNormalization

}  // namespace

Steps::Steps(Model const& model, Wiring const& wiring, std::string const& source)
    : model_(model), wiring_(wiring), source_(escaped(source, 4096)) {}

std::vector<std::string_view> Steps::operators() {
  std::vector<std::string_view> names;
  for (auto const& step : table()) names.push_back(step.first);
  return names;
}

bool Steps::knows(Node const& node) {
  bool const known_domain = node.domain.empty() || node.domain.substr(0, 7) == "ai.onnx";
  return known_domain && table().count(node.op) != 0;
}

void Steps::apply(Node const& node) {
  bool const keeps_values = node.op == "Cast" || node.op == "Identity" || node.op == "Squeeze" ||
                            node.op == "Reshape" || node.op == "Flatten" || node.op == "Unsqueeze";
  if (decided_ && keeps_values) return;
  if (decided_) throw data_error(node.where, "computes with labels, which is not supported");
  if (mirrored_ && !keeps_values && node.op != "ZipMap" && node.op != "ArrayFeatureExtractor" &&
      node.op != "Normalizer" && node.op != "ArgMax") {
    throw data_error(node.where,
                     "computes with the scores of a classifier, which is not supported");
  }
  (this->*table().at(node.op))(node);
  untouched_ = untouched_ && keeps_values;
}

LayerChain Steps::layers() && { return std::move(layers_); }

std::map<std::string_view, Steps::Step> const& Steps::table() {
  static std::map<std::string_view, Step> const kSteps = {
      {"Gemm", &Steps::gemm},
      {"MatMul", &Steps::mat_mul},
      {"Add", &Steps::arithmetic},
      {"Sub", &Steps::arithmetic},
      {"Mul", &Steps::arithmetic},
      {"Div", &Steps::arithmetic},
      {"Relu", &Steps::relu},
      {"LeakyRelu", &Steps::leaky_relu},
      {"Elu", &Steps::elu},
      {"Selu", &Steps::selu},
      {"Sigmoid", &Steps::sigmoid},
      {"Tanh", &Steps::tanh},
      {"Swish", &Steps::swish},
      {"Gelu", &Steps::gelu},
      {"Softmax", &Steps::softmax},
      {"LogSoftmax", &Steps::softmax},
      {"ArgMax", &Steps::arg_max},
      {"Flatten", &Steps::flatten},
      {"Reshape", &Steps::reshape},
      {"Squeeze", &Steps::squeeze},
      {"Unsqueeze", &Steps::unsqueeze},
      {"Cast", &Steps::cast},
      {"Identity", &Steps::no_effect},
      {"Dropout", &Steps::dropout},
      {"BatchNormalization", &Steps::batch_normalization},
      {"Scaler", &Steps::scaler},
      {"Concat", &Steps::concat},
      {"LinearClassifier", &Steps::linear_classifier},
      {"Normalizer", &Steps::normalizer},
      {"ArrayFeatureExtractor", &Steps::feature_extractor},
      {"ZipMap", &Steps::no_effect},  // names the scores
  };
  return kSteps;
}

void Steps::need_matrix(Node const& node) const {
  if (rank_ != 2) {
    throw data_error(node.where,
                     fmt::format("takes values of {} dimensions, expected [rows, values]", rank_));
  }
}

void Steps::need_axis(Node const& node, std::int64_t axis) const {
  if (axis != -1 && axis != 1) {
    throw data_error(node.where, fmt::format("axis is {}, expected 1 or -1", axis));
  }
}

void Steps::need_inputs(Node const& node, std::size_t least, std::size_t most) const {
  if (node.inputs.size() < least || node.inputs.size() > most) {
    throw data_error(
        node.where, fmt::format("has {} inputs, expected {}..{}", node.inputs.size(), least, most));
  }
}

void Steps::activate(Node const& node, Activation activation, double alpha) {
  layers_.activation(activation, static_cast<float>(alpha), node.where);
}

void Steps::relu(Node const& node) { activate(node, Activation::kRelu); }
void Steps::leaky_relu(Node const& node) {
  activate(node, Activation::kLeakyRelu, node.number("alpha", kDefaultLeaky));
}
void Steps::elu(Node const& node) {
  activate(node, Activation::kElu, node.number("alpha", kDefaultElu));
}
// The factor goes into the next dense layer.
void Steps::selu(Node const& node) {
  activate(node, Activation::kElu, node.number("alpha", static_cast<double>(kSeluAlpha)));
  layers_.scaling({node.number("gamma", static_cast<double>(kSeluScale))}, {0.0}, node.where);
}
void Steps::sigmoid(Node const& node) { activate(node, Activation::kSigmoid); }
void Steps::tanh(Node const& node) { activate(node, Activation::kTanh); }

void Steps::swish(Node const& node) {
  if (double const alpha = node.number("alpha", 1.0); alpha != 1.0)
    throw data_error(node.where, fmt::format("alpha is {}, expected 1", alpha));
  activate(node, Activation::kSilu);
}
void Steps::gelu(Node const& node) {
  auto const approximate = node.text("approximate", "none");
  if (approximate != "none" && approximate != "tanh") {
    throw data_error(node.where, fmt::format("approximate is {}, expected 'none' or 'tanh'",
                                             in_quotes(approximate)));
  }
  activate(node, approximate == "tanh" ? Activation::kGeluTanh : Activation::kGelu);
}

void Steps::begin(Chain const& chain) {
  if (!chain.named) {
    begin(*chain.inputs.front());
    return;
  }
  layers_.expect_width(std::ssize(chain.inputs), source_ + ":graph.input");
}

void Steps::begin(Value const& input) {
  std::string const where = fmt::format("{}:graph.input {}", source_, in_quotes(input.name));
  if (!input.is_tensor || input.type == kString) throw data_error(where, "is no tensor of numbers");
  if (!input.sizes) return;
  auto const& sizes = *input.sizes;
  if (sizes.size() < 2) {
    throw data_error(where,
                     fmt::format("has {} dimensions, expected [rows, attributes]", sizes.size()));
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

Constant Steps::operand(Node const& node, std::size_t index) const {
  if (!wiring_.is_constant(node.inputs[index])) {
    throw data_error(node.where, fmt::format("input {} is {}, expected a constant", index,
                                             in_quotes(node.inputs[index])));
  }
  return wiring_.constant(node.inputs[index]);
}

// A constant of one value, or one per unit.
std::vector<double> Steps::per_unit(Node const& node, std::size_t index) const {
  Constant constant = operand(node, index);
  auto const& shape = constant.shape;
  bool const row = shape.size() <= 2 && (shape.empty() || static_cast<std::size_t>(shape.back()) ==
                                                              constant.values.size());
  if (!row || constant.values.empty() || (rank_ != 2 && constant.values.size() != 1)) {
    throw data_error(node.where, fmt::format("input {} has shape [{}], expected one value per unit",
                                             index, fmt::join(shape, ", ")));
  }
  return std::move(constant.values);
}

void Steps::gemm(Node const& node) {
  need_matrix(node);
  need_inputs(node, 2, 3);
  if (node.integer("transA", 0) != 0) {
    throw data_error(node.where,
                     fmt::format("transA is {}, expected 0", node.integer("transA", 0)));
  }
  Constant const weights = operand(node, 1);
  if (weights.shape.size() != 2) {
    throw data_error(node.where, fmt::format("weights have shape [{}], expected two dimensions",
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

void Steps::mat_mul(Node const& node) {
  need_matrix(node);
  need_inputs(node, 2, 2);
  Constant weights = operand(node, 1);
  if (weights.shape.size() != 2) {
    throw data_error(node.where, fmt::format("weights have shape [{}], expected [inputs, outputs]",
                                             fmt::join(weights.shape, ", ")));
  }
  layers_.dense(std::string(node.name.empty() ? node.op : node.name), weights.shape[0],
                weights.shape[1], std::move(weights.values), {}, node.where);
}

// A constant added, subtracted, multiplied or divided by: a bias or a scaling.
void Steps::arithmetic(Node const& node) {
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
    throw data_error(node.where, "divides a constant by computed values, which is not supported");
  } else {
    for (double& value : values) value = 1.0 / value;
    layers_.scaling(std::move(values), {0.0}, node.where);
  }
}

void Steps::softmax(Node const& node) {
  need_matrix(node);
  constexpr std::int64_t kLastAxisSince = 13;  // operator set
  need_axis(node, node.integer("axis", model_.opset >= kLastAxisSince ? -1 : 1));
  activate(node, Activation::kSoftmax);
}

void Steps::arg_max(Node const& node) {
  need_matrix(node);
  need_axis(node, node.integer("axis", 0));
  if (node.integer("select_last_index", 0) != 0) {
    throw data_error(node.where, "select_last_index is 1, expected 0: ties go to the lowest class");
  }
  if (layers_.width() == 1 && !layers_.ends_with(Activation::kSigmoid)) {
    throw data_error(node.where, "decides among one value; export the model without ArgMax");
  }
  decided_ = true;
}

void Steps::flatten(Node const& node) {
  std::int64_t const axis = node.integer("axis", 1);
  if (axis != 1 && !(axis == -1 && rank_ == 2)) {
    throw data_error(node.where, fmt::format("axis is {}, expected 1", axis));
  }
  rank_ = 2;
}

void Steps::reshape(Node const& node) {
  need_inputs(node, 1, 2);
  if (node.inputs.size() == 2 && !wiring_.is_constant(node.inputs[1])) {
    if (layers_.width() != 1 || rank_ > 2) {
      throw data_error(node.where,
                       "has a computed shape, expected a constant such as [-1, values]");
    }
    rank_ = 1;  // one value per row stays what it is
    return;
  }
  std::vector<std::int64_t> shape;
  if (node.inputs.size() == 2) {
    shape = integers(node, 1);
  } else if (Attribute const* const old = node.attribute("shape")) {
    shape = old->integers;  // before operator set 5
  }
  auto const fail = [&] {
    return data_error(
        node.where, fmt::format("has shape [{}], expected one that keeps rows apart: [-1, values]",
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

std::vector<std::int64_t> Steps::integers(Node const& node, std::size_t index) const {
  std::vector<std::int64_t> result;
  for (double const value : operand(node, index).values) {
    if (!(std::fabs(value) <= kMostSize) || value != std::floor(value)) {
      throw data_error(
          node.where, fmt::format("holds {} in its operand {}, expected an integer", value, index));
    }
    result.push_back(static_cast<std::int64_t>(value));
  }
  return result;
}

std::vector<std::int64_t> Steps::axes(Node const& node) const {
  if (node.inputs.size() > 1 && !node.inputs[1].empty()) {
    return integers(node, 1);
  }
  Attribute const* const old = node.attribute("axes");  // before operator set 13
  return old == nullptr ? std::vector<std::int64_t>() : old->integers;
}

void Steps::squeeze(Node const& node) {
  auto const dropped = axes(node);
  bool const last = dropped.empty() || dropped == std::vector<std::int64_t>{1} ||
                    dropped == std::vector<std::int64_t>{-1};
  if (rank_ != 2 || layers_.width() != 1 || !last) {
    throw data_error(node.where,
                     fmt::format("drops the axes [{}], expected the last one of one value per row",
                                 fmt::join(dropped, ", ")));
  }
  rank_ = 1;
}

void Steps::unsqueeze(Node const& node) {
  auto const added = axes(node);
  bool const last = added == std::vector<std::int64_t>{1} || added == std::vector<std::int64_t>{-1};
  if (rank_ != 1 || !last) {
    throw data_error(node.where,
                     fmt::format("adds the axes [{}] to values of {} dimensions, expected the "
                                 "last one to one value per row",
                                 fmt::join(added, ", "), rank_));
  }
  rank_ = 2;
}

void Steps::cast(Node const& node) {
  std::int64_t const to = node.integer("to", 0);
  bool const integers = to == kInt32 || to == kInt64;
  // Inputs are integer codes, which every type but the smallest holds.
  if (to == kFloat || to == kDouble || (untouched_ && integers)) return;
  throw data_error(node.where,
                   fmt::format("casts to element type {}, expected {} (float) or {} (double)", to,
                               static_cast<int>(kFloat), static_cast<int>(kDouble)));
}

void Steps::dropout(Node const& node) {
  if (node.inputs.size() > 2 && !node.inputs[2].empty() &&
      operand(node, 2).values != std::vector<double>{0.0}) {
    throw data_error(node.where, "is in training mode; export the model for inference");
  }
}

void Steps::batch_normalization(Node const& node) {
  need_matrix(node);
  need_inputs(node, 5, 5);
  if (node.integer("training_mode", 0) != 0) {
    throw data_error(node.where, "is in training mode; export the model for inference");
  }
  std::vector<std::vector<double>> parts;
  for (std::size_t i = 1; i < 5; ++i) {
    parts.push_back(per_unit(node, i));
    if (parts.back().size() != parts.front().size()) {
      throw data_error(node.where, fmt::format("input {} has {} values, expected {}", i,
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
void Steps::scaler(Node const& node) {
  need_matrix(node);
  Attribute const* const offset = node.attribute("offset");
  Attribute const* const factor = node.attribute("scale");
  std::vector<double> const offsets =
      offset == nullptr ? std::vector<double>{0.0} : offset->numbers;
  std::vector<double> scale = factor == nullptr ? std::vector<double>{1.0} : factor->numbers;
  std::size_t const size = std::max(offsets.size(), scale.size());
  auto const fits = [&](std::vector<double> const& list) {
    return list.size() == 1 || list.size() == size;
  };
  if (offsets.empty() || scale.empty() || !fits(offsets) || !fits(scale)) {
    throw data_error(node.where,
                     fmt::format("has {} offsets and {} scales, expected as many of each",
                                 offsets.size(), scale.size()));
  }
  std::vector<double> shift;
  for (std::size_t i = 0; i < size; ++i) {
    shift.push_back(-offsets[offsets.size() == 1 ? 0 : i] * scale[scale.size() == 1 ? 0 : i]);
  }
  layers_.scaling(std::move(scale), std::move(shift), node.where);
}

void Steps::concat(Node const& node) {
  bool const two_classes = wiring_.two_class_scores(node) &&
                           layers_.ends_with(Activation::kSigmoid) && layers_.width() == 1 &&
                           rank_ == 2;
  need_axis(node, node.integer("axis", 0));
  if (!two_classes) {
    throw data_error(node.where, "joins values, expected 1 - p and p behind one sigmoid");
  }
}

void Steps::linear_classifier(Node const& node) {
  need_matrix(node);
  LinearScores scores = read_linear_classifier(node);
  mirrored_ = scores.mirrored;
  layers_.dense(std::string(node.name.empty() ? node.op : node.name), scores.inputs, scores.outputs,
                std::move(scores.weights), std::move(scores.bias), node.where);
  activate(node, scores.activation);
}

// Probabilities that add up to 1 already.
void Steps::normalizer(Node const& node) {
  bool const adds_up = layers_.ends_with(Activation::kSoftmax) ||
                       (mirrored_ && layers_.ends_with(Activation::kSigmoid));
  if (!adds_up || node.text("norm", "MAX") != "L1") {
    throw data_error(node.where,
                     "normalizes other values than the probabilities of all classes (L1)");
  }
}

// The score of the second class, of two that mirror each other.
void Steps::feature_extractor(Node const& node) {
  need_inputs(node, 2, 2);
  if (!mirrored_ || integers(node, 1) != std::vector<std::int64_t>{1}) {
    throw data_error(
        node.where, "picks values, expected the second score of a LinearClassifier of two classes");
  }
  mirrored_ = false;
}

}  // namespace fairlane::onnx
