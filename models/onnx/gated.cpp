#include "models/onnx/gated.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "models/onnx/wiring.h"

namespace fairlane::onnx {
namespace {

constexpr std::size_t kMaxNodes = 24;    // of one activation; those of exporters have up to 10
constexpr int kMaxEvaluations = 100;     // of values, shared ones as often as they are used
constexpr double kConstantError = 1e-5;  // of constants that exporters write as float32, or shorter

/// c[0] + c[1] x + c[2] x^2 + c[3] x^3.
using Polynomial = std::array<double, 4>;

enum class Gate { kNone, kSigmoid, kTanh, kErf };

/// plain(x) + factor(x) * gate(inner(x)).
struct Expression {
  Polynomial plain{};
  Polynomial factor{};
  Gate gate = Gate::kNone;
  Polynomial inner{};
};

Polynomial sum(Polynomial const& a, Polynomial const& b, double sign) {
  Polynomial result{};
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = a[i] + sign * b[i];
  return result;
}

/// Nothing where there are powers above the third.
std::optional<Polynomial> product(Polynomial const& a, Polynomial const& b) {
  Polynomial result{};
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      double const term = a[i] * b[j];
      if (term == 0.0) continue;
      if (i + j >= result.size()) return std::nullopt;
      result[i + j] += term;
    }
  }
  return result;
}

std::optional<Expression> sum(Expression const& a, Expression const& b, double sign) {
  if (a.gate != Gate::kNone && b.gate != Gate::kNone) return std::nullopt;
  Expression result = a.gate != Gate::kNone ? a : b;
  result.plain = sum(a.plain, b.plain, sign);
  if (a.gate == Gate::kNone) result.factor = sum({}, b.factor, sign);
  return result;
}

std::optional<Expression> product(Expression const& a, Expression const& b) {
  if (a.gate != Gate::kNone && b.gate != Gate::kNone) return std::nullopt;
  Expression const& gated = a.gate != Gate::kNone ? a : b;
  Polynomial const& by = a.gate != Gate::kNone ? b.plain : a.plain;
  auto const plain = product(gated.plain, by);
  auto const factor = product(gated.factor, by);
  if (!plain || !factor) return std::nullopt;
  return Expression{*plain, *factor, gated.gate, gated.inner};
}

Gate gate_of(Node const& node) {
  if (node.inputs.size() != 1) return Gate::kNone;
  if (node.op == "Sigmoid") return Gate::kSigmoid;
  if (node.op == "Tanh") return Gate::kTanh;
  return node.op == "Erf" ? Gate::kErf : Gate::kNone;
}

/// Whether a node takes each value of what enters it by itself.
bool is_elementwise(Node const& node) {
  bool const two = node.op == "Add" || node.op == "Sub" || node.op == "Mul" || node.op == "Div" ||
                   node.op == "Pow";
  if (two) return node.inputs.size() == 2;
  return gate_of(node) != Gate::kNone || (node.op == "Identity" && node.inputs.size() == 1);
}

bool same(Polynomial const& a, Polynomial const& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(std::abs(a[i] - b[i]) <= kConstantError * std::abs(b[i]))) return false;
  }
  return true;
}

/// What an activation is called in ONNX.
struct Operator {
  std::string_view op;
  std::string_view approximate;
};

std::optional<Operator> operator_of(Expression const& e) {
  constexpr double kRootTwoOverPi = 0.79788456080286536;
  constexpr double kRootHalf = 0.70710678118654752;
  constexpr double kCubic = 0.044715;
  constexpr Polynomial kNothing{};
  constexpr Polynomial kWhole = {0.0, 1.0, 0.0, 0.0};
  constexpr Polynomial kHalf = {0.0, 0.5, 0.0, 0.0};
  constexpr Polynomial kErf = {0.0, kRootHalf, 0.0, 0.0};
  constexpr Polynomial kTanh = {0.0, kRootTwoOverPi, 0.0, kRootTwoOverPi * kCubic};
  constexpr Polynomial kTwice = {0.0, 2.0 * kTanh[1], 0.0, 2.0 * kTanh[3]};
  if (e.gate == Gate::kSigmoid && same(e.plain, kNothing) && same(e.factor, kWhole)) {
    if (same(e.inner, kWhole)) return Operator{"Swish", ""};
    if (same(e.inner, kTwice)) return Operator{"Gelu", "tanh"};
  }
  if (!same(e.plain, kHalf) || !same(e.factor, kHalf)) return std::nullopt;
  if (e.gate == Gate::kErf && same(e.inner, kErf)) return Operator{"Gelu", "none"};
  if (e.gate == Gate::kTanh && same(e.inner, kTanh)) return Operator{"Gelu", "tanh"};
  return std::nullopt;
}

/// Looks for activations that end with one node after the other.
class Finder {
 public:
  Finder(Model const& model, std::size_t file_bytes) : wiring_(model, file_bytes) {}

  struct Found {
    Operator is;
    std::string_view of;
  };
  std::optional<Found> ends_with(Node const& last) {
    if ((last.op != "Mul" && last.op != "Div") || !is_elementwise(last)) return std::nullopt;
    for (std::string_view const argument : arguments_of(last)) {
      left_ = kMaxEvaluations;
      auto const e = of_node(last, argument);
      auto const is = e ? operator_of(*e) : std::nullopt;
      if (is) return Found{*is, argument};
    }
    return std::nullopt;
  }

 private:
  /// What the activation that ends with a node may be of, the nearest first; nothing where there is
  /// no gate.
  std::vector<std::string_view> arguments_of(Node const& last) const {
    std::vector<Node const*> nodes = {&last};
    std::vector<std::string_view> values;
    bool gated = false;
    for (std::size_t i = 0; i < nodes.size() && nodes.size() < kMaxNodes; ++i) {
      for (std::string_view const name : nodes[i]->inputs) {
        if (wiring_.is_constant(name) || std::ranges::count(values, name) > 0) continue;
        values.push_back(name);
        Node const* const from = wiring_.producer(name);
        if (from == nullptr || !is_elementwise(*from)) continue;
        nodes.push_back(from);
        gated = gated || gate_of(*from) != Gate::kNone;
      }
    }
    return gated ? values : std::vector<std::string_view>();
  }

  /// A value as an expression in `argument`.
  std::optional<Expression> of_value(std::string_view name, std::string_view argument) {
    if (name == argument) return Expression{{0.0, 1.0, 0.0, 0.0}, {}, Gate::kNone, {}};
    if (auto const number = number_of(name)) return Expression{{*number}, {}, Gate::kNone, {}};
    Node const* const node = wiring_.producer(name);
    if (node == nullptr || --left_ < 0 || !is_elementwise(*node)) return std::nullopt;
    return of_node(*node, argument);
  }

  std::optional<Expression> of_node(Node const& node, std::string_view argument) {
    auto const a = of_value(node.inputs[0], argument);
    if (!a || node.op == "Identity") return a;
    if (Gate const gate = gate_of(node); gate != Gate::kNone) {
      if (a->gate != Gate::kNone) return std::nullopt;
      return Expression{{}, {1.0}, gate, a->plain};
    }
    auto const b = of_value(node.inputs[1], argument);
    if (!b) return std::nullopt;
    if (node.op == "Add") return sum(*a, *b, 1.0);
    if (node.op == "Sub") return sum(*a, *b, -1.0);
    if (node.op == "Mul") return product(*a, *b);
    auto const number = number_of(node.inputs[1]);
    if (!number) return std::nullopt;
    if (node.op == "Div") return product(*a, Expression{{1.0 / *number}, {}, Gate::kNone, {}});
    if (*number != 2.0 && *number != 3.0) return std::nullopt;
    auto const square = product(*a, *a);
    return square && *number == 3.0 ? product(*square, *a) : square;
  }

  /// A constant that is one number.
  std::optional<double> number_of(std::string_view name) {
    if (!wiring_.is_constant(name)) return std::nullopt;
    auto [at, is_new] = numbers_.try_emplace(name);
    if (is_new) {
      Constant const constant = wiring_.constant(name);
      if (constant.values.size() == 1) at->second = constant.values[0];
    }
    return at->second;
  }

  Wiring wiring_;
  std::map<std::string_view, std::optional<double>> numbers_;
  int left_ = 0;
};

}  // namespace

void fuse_gated(Model& model, std::size_t file_bytes) {
  std::vector<std::pair<std::size_t, Finder::Found>> all;
  Finder finder(model, file_bytes);
  for (std::size_t i = 0; i < model.nodes.size(); ++i) {
    if (auto const found = finder.ends_with(model.nodes[i])) all.emplace_back(i, *found);
  }
  for (auto const& [i, found] : all) {
    Node& node = model.nodes[i];
    node.op = found.is.op;
    node.inputs = {found.of};
    node.attributes.clear();
    if (found.is.approximate.empty()) continue;
    Attribute& attribute = node.attributes.emplace_back();
    attribute.name = "approximate";
    attribute.text = found.is.approximate;
  }
}

}  // namespace fairlane::onnx
