// ONNX graphs that are a chain of dense layers, activations and scalings: finding the chain.
#include <fmt/format.h>

#include <algorithm>

#include "kernels/core/error.h"
#include "models/network.h"
#include "models/onnx_steps.h"
#include "models/text.h"

namespace fairlane {
namespace {

using onnx::Model;
using onnx::Node;
using onnx::Steps;
using onnx::Value;
using onnx::Wiring;

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 31;  // what Protocol Buffers allow

Error bad(std::string const& where, std::string const& what) {
  return Error(ExitCode::kData, fmt::format("{}: {}", where, what));
}

std::string name_list(std::vector<std::string_view> const& names) {
  std::string text;
  for (auto const& name : names) text += (text.empty() ? "" : ", ") + in_quotes(name);
  return text;
}

// The output that holds scores; labels stand beside it in what scikit-learn's converter writes.
Value const& scores(Model const& model, std::string const& source) {
  auto const& outputs = model.outputs;
  if (outputs.empty()) throw bad(source + ":graph", "has no output");
  if (outputs.size() == 1) return outputs[0];
  std::vector<Value const*> candidates;
  for (Value const& output : outputs) {
    if (!output.is_tensor || onnx::is_float(output.type)) candidates.push_back(&output);
  }
  if (candidates.size() != 1) {
    std::vector<std::string_view> names;
    for (Value const& output : outputs) names.push_back(output.name);
    throw bad(source + ":graph",
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
    throw bad(node.where,
              computed.empty()
                  ? std::string("takes no computed value, expected one")
                  : fmt::format("combines {}; only a chain of layers from one input is supported",
                                name_list(computed)));
  }
  bool const either_side =
      node.op == "Add" || node.op == "Sub" || node.op == "Mul" || node.op == "Div";
  if (!either_side && computed[0] != node.inputs[0]) {
    throw bad(node.where,
              fmt::format("takes {} elsewhere, expected it first", in_quotes(computed[0])));
  }
  return computed[0];
}

// The nodes that make `output`, from `input` on.
std::vector<Node const*> chain_to(Value const& output, Model const& model, Wiring const& wiring,
                                  std::string const& source, Value const*& input) {
  std::vector<Node const*> chain;
  std::string_view name = output.name;
  while ((input = wiring.input(name)) == nullptr) {
    Node const* const node = wiring.producer(name);
    if (node == nullptr) {
      throw bad(source + ":graph",
                fmt::format("{} is no input, and no node computes it", in_quotes(name)));
    }
    if (chain.size() >= model.nodes.size()) throw bad(node->where, "depends on its own output");
    if (!Steps::knows(*node)) {
      bool const classical = node->domain.substr(0, 10) == "ai.onnx.ml";
      throw bad(
          node->where,
          fmt::format(
              "operator {} is not supported, expected a network of {}{}", in_quotes(node->op),
              fmt::join(Steps::operators(), ", "),
              classical ? "; a model of another kind can be tested as a black box (exec:)" : ""));
    }
    if (node->outputs.empty() || node->outputs[0] != name) {
      throw bad(node->where, fmt::format("{} is not its first output", in_quotes(name)));
    }
    chain.push_back(node);
    name = computed_input(wiring, *node);
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

}  // namespace

Network parse_onnx(std::string_view bytes, std::string const& source) {
  Model const model = onnx::decode_model(bytes, source);
  std::string const writer = model.producer.empty()
                                 ? std::string()
                                 : fmt::format(", by {} {}", escaped(model.producer, 40),
                                               escaped(model.producer_version, 40));
  std::string const file = escaped(source, 4096);
  Wiring const wiring(model, bytes.size());
  Value const* input = nullptr;
  auto const chain = chain_to(scores(model, file), model, wiring, file, input);
  Steps steps(model, wiring, source);
  steps.begin(*input);
  for (Node const* const node : chain) steps.apply(*node);
  return std::move(steps).layers().finish(
      source, fmt::format("ONNX (operator set {}{})", model.opset, writer));
}

Network read_onnx(std::string const& path) {
  return parse_onnx(read_file(path, kMaxFileBytes), path);
}

}  // namespace fairlane
