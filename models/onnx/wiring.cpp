#include "models/onnx/wiring.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace fairlane::onnx {
namespace {

constexpr int kMaxConstantSteps = 16;  // nodes between an initializer and its use

// Operators between an initializer and its use; none changes a value.
bool passes_constants(Node const& node) {
  if (node.inputs.size() != 1) return false;
  if (node.op == "Cast") {
    std::int64_t const to = node.integer("to", 0);
    return to == kFloat || to == kDouble || to == kInt64;
  }
  return node.op == "Identity" || node.op == "Transpose";
}

Constant transposed(Node const& node, Constant of) {
  if (of.shape.size() != 2) {
    throw data_error(node.where,
                     fmt::format("transposes {} dimensions, expected 2", of.shape.size()));
  }
  Attribute const* const order = node.attribute("perm");
  if (order != nullptr && order->integers == std::vector<std::int64_t>{0, 1}) return of;
  auto const rows = static_cast<std::size_t>(of.shape[0]);
  auto const columns = static_cast<std::size_t>(of.shape[1]);
  Constant result = {{of.shape[1], of.shape[0]}, std::vector<double>(of.values.size())};
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      result.values[j * rows + i] = of.values[i * columns + j];
    }
  }
  return result;
}

}  // namespace

bool is_float(std::int64_t type) {
  return type == kFloat || type == kDouble || type == kFloat16 || type == kBfloat16;
}

Wiring::Wiring(Model const& model, std::size_t file_bytes) : left_(file_bytes) {
  for (Initializer const& one : model.initializers) initializers_.emplace(one.name, &one);
  for (Value const& value : model.inputs) inputs_.emplace(value.name, &value);
  for (Node const& node : model.nodes) {
    for (auto const& output : node.outputs) {
      if (output.empty()) continue;  // an optional one that is left out
      if (!producers_.emplace(output, &node).second || initializers_.count(output) != 0) {
        throw data_error(node.where, fmt::format("{} is computed twice", in_quotes(output)));
      }
    }
  }
}

Node const* Wiring::producer(std::string_view name) const {
  auto const found = producers_.find(name);
  return found == producers_.end() ? nullptr : found->second;
}

Value const* Wiring::input(std::string_view name) const {
  if (initializers_.count(name) != 0) return nullptr;
  auto const found = inputs_.find(name);
  return found == inputs_.end() ? nullptr : found->second;
}

bool Wiring::is_constant(std::string_view name) const {
  for (int steps = 0; steps < kMaxConstantSteps; ++steps) {
    if (initializers_.count(name) != 0) return true;
    Node const* const node = producer(name);
    if (node == nullptr) return false;
    if (node->op == "Constant") return true;
    if (!passes_constants(*node)) return false;
    name = node->inputs[0];
  }
  return false;
}

Constant Wiring::constant(std::string_view name) const {
  std::vector<Node const*> on_the_way;
  while (on_the_way.size() < static_cast<std::size_t>(kMaxConstantSteps)) {
    auto const found = initializers_.find(name);
    Node const* const node = found == initializers_.end() ? producer(name) : nullptr;
    bool const is_source =
        found != initializers_.end() || (node != nullptr && node->op == "Constant");
    if (is_source) {
      Constant result = node == nullptr ? decoded(found->second->tensor, found->second->where)
                                        : of_constant(*node);
      for (auto step = on_the_way.rbegin(); step != on_the_way.rend(); ++step) {
        if ((*step)->op == "Transpose") result = transposed(**step, std::move(result));
      }
      return result;
    }
    if (node == nullptr || !passes_constants(*node)) break;
    on_the_way.push_back(node);
    name = node->inputs[0];
  }
  throw Error(ExitCode::kData, fmt::format("{} is not constant", in_quotes(name)));
}

std::optional<std::string_view> Wiring::two_class_scores(Node const& node) const {
  if (node.op != "Concat" || node.inputs.size() != 2) return std::nullopt;
  Node const* const other = producer(node.inputs[0]);
  if (other == nullptr || other->op != "Sub" || other->inputs.size() != 2 ||
      other->inputs[1] != node.inputs[1] || !is_constant(other->inputs[0])) {
    return std::nullopt;
  }
  Constant const one = constant(other->inputs[0]);
  if (one.values != std::vector<double>{1.0}) return std::nullopt;
  return node.inputs[1];
}

Constant Wiring::decoded(std::string_view tensor, std::string const& where) const {
  if (tensor.size() / sizeof(float) > left_) {
    throw data_error(where, "is used again and again, in all more often than the file is long");
  }
  Constant result = decode_tensor(tensor, where);
  left_ -= std::min(left_, result.values.size());
  return result;
}

Constant Wiring::of_constant(Node const& node) const {
  auto const count = [](std::size_t size) {
    return std::vector<std::int64_t>{static_cast<std::int64_t>(size)};
  };
  for (Attribute const& one : node.attributes) {
    if (one.name == "value") return decoded(one.tensor, node.where + ".attribute 'value'");
    if (one.name == "value_float") return {{}, {static_cast<double>(one.number)}};
    if (one.name == "value_int") return {{}, {static_cast<double>(one.integer)}};
    if (one.name == "value_floats") return {count(one.numbers.size()), one.numbers};
    if (one.name == "value_ints") {
      return {count(one.integers.size()), {one.integers.begin(), one.integers.end()}};
    }
  }
  throw data_error(node.where, "has no value that is a number");
}

}  // namespace fairlane::onnx
