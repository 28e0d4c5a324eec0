#include "models/onnx/chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/text.h"

namespace fairlane::onnx {
namespace {

constexpr int kMaxSteps = 16;  // nodes between an input and what joins it; ends circles

std::string name_list(std::vector<std::string_view> const& names) {
  std::string text;
  for (auto const& name : names) text += (text.empty() ? "" : ", ") + in_quotes(name);
  return text;
}

// The output that holds scores; labels stand beside it in what scikit-learn's converter writes.
Value const& scores(Model const& model, std::string const& source) {
  auto const& outputs = model.outputs;
  if (outputs.empty()) throw data_error(source + ":graph", "has no output");
  if (outputs.size() == 1) return outputs[0];
  std::vector<Value const*> candidates;
  for (Value const& output : outputs) {
    if (!output.is_tensor || is_float(output.type)) candidates.push_back(&output);
  }
  if (candidates.size() != 1) {
    std::vector<std::string_view> names;
    for (Value const& output : outputs) names.push_back(output.name);
    throw data_error(
        source + ":graph",
        fmt::format("has {} outputs of scores among {}, expected one: export the model with "
                    "its scores as the only output",
                    candidates.size(), name_list(names)));
  }
  return *candidates[0];
}

// The one input of a node that depends on the graph's inputs.
std::string_view computed_input(Wiring const& wiring, Node const& node) {
  if (auto const p = wiring.two_class_scores(node)) return *p;
  std::vector<std::string_view> computed;
  for (auto const& name : node.inputs) {
    if (!name.empty() && !wiring.is_constant(name)) computed.push_back(name);
  }
  // The shape of a Reshape may be computed from the very values that it reshapes.
  if (node.op == "Reshape" && !node.inputs.empty()) return node.inputs[0];
  if (computed.size() != 1) {
    throw data_error(
        node.where,
        computed.empty()
            ? std::string("takes no computed value, expected one")
            : fmt::format("combines {}; only a chain of layers from one input is supported",
                          name_list(computed)));
  }
  bool const either_side =
      node.op == "Add" || node.op == "Sub" || node.op == "Mul" || node.op == "Div";
  if (!either_side && computed[0] != node.inputs[0]) {
    throw data_error(node.where,
                     fmt::format("takes {} elsewhere, expected it first", in_quotes(computed[0])));
  }
  return computed[0];
}

// Whether a node gives integer codes as they are.
bool keeps_codes(Node const& node) {
  if (node.inputs.size() != 1) return false;
  std::int64_t const to = node.op == "Cast" ? node.integer("to", 0) : 0;
  return node.op == "Identity" || to == kFloat || to == kDouble || to == kInt32 || to == kInt64;
}

// The graph's inputs that a node puts side by side, one value of a row each; nothing where it does
// something else.
std::optional<std::vector<Value const*>> joined_inputs(Wiring const& wiring, Node const& node) {
  std::vector<std::int64_t> const& widths = node.integers("inputdimensions");
  bool const vectorizes = node.op == "FeatureVectorizer" &&
                          std::ranges::all_of(widths, [](std::int64_t w) { return w == 1; });
  std::int64_t const axis = node.op == "Concat" ? node.integer("axis", 0) : 0;
  if (!vectorizes && axis != 1 && axis != -1) return std::nullopt;
  std::vector<Value const*> inputs;
  for (std::string_view name : node.inputs) {
    for (int steps = 0; steps < kMaxSteps; ++steps) {
      Node const* const step = wiring.producer(name);
      if (step == nullptr || !keeps_codes(*step)) break;
      name = step->inputs[0];
    }
    Value const* const input = wiring.input(name);
    bool const is_column =
        input != nullptr && input->is_tensor && input->type != kString &&
        (!input->sizes || (input->sizes->size() == 2 && (*input->sizes)[1] == 1));
    if (!is_column || std::ranges::count(inputs, input) > 0) return std::nullopt;
    inputs.push_back(input);
  }
  return inputs;
}

// Where a node has its scores: classifiers give their labels first.
std::size_t scores_output(Node const& node) {
  return node.op == "LinearClassifier" || node.op == "TreeEnsembleClassifier" ? 1 : 0;
}

}  // namespace

std::vector<std::string> Chain::features() const {
  std::vector<std::string> names;
  if (!named) return names;
  for (Value const* input : inputs) names.emplace_back(input->name);
  return names;
}

Chain find_chain(Model const& model, Wiring const& wiring, ChainOperators const& operators,
                 std::string const& file) {
  Chain chain;
  std::string_view name = scores(model, file).name;
  Value const* input = nullptr;
  while ((input = wiring.input(name)) == nullptr) {
    Node const* const node = wiring.producer(name);
    if (node == nullptr) {
      throw data_error(file + ":graph",
                       fmt::format("{} is no input, and no node computes it", in_quotes(name)));
    }
    if (chain.nodes.size() >= model.nodes.size())
      throw data_error(node->where, "depends on its own output");
    if (auto columns = joined_inputs(wiring, *node)) {
      chain.inputs = std::move(*columns);
      chain.named = true;
      break;
    }
    if (!operators.knows(*node)) {
      bool const classical = node->domain.substr(0, 10) == "ai.onnx.ml";
      throw data_error(
          node->where,
          fmt::format(
              "operator {} is not supported, expected {}{}", in_quotes(node->op),
              operators.expected,
              classical ? "; a model of another kind can be tested as a black box (exec:)" : ""));
    }
    std::size_t const output = scores_output(*node);
    if (node->outputs.size() <= output || node->outputs[output] != name) {
      throw data_error(node->where, fmt::format("{} is not its {} output", in_quotes(name),
                                                output == 0 ? "first" : "second"));
    }
    chain.nodes.push_back(node);
    name = computed_input(wiring, *node);
  }
  if (input != nullptr) chain.inputs = {input};
  std::ranges::reverse(chain.nodes);
  return chain;
}

}  // namespace fairlane::onnx
