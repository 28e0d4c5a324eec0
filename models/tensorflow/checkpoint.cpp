// Which tensors of a TensorFlow 1 checkpoint are layers, in which order, and what is between them.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/formats/protobuf_wire.h"
#include "base/text.h"
#include "models/layer_chain.h"
#include "models/network.h"
#include "models/tensorflow/bundle.h"
#include "models/tensorflow/checkpoint.h"

namespace fairlane {
namespace {

constexpr std::size_t kMaxIndexBytes = std::size_t{1} << 26;
constexpr std::size_t kMaxDataBytes = std::size_t{1} << 32;
constexpr std::size_t kMaxMetaBytes = std::size_t{1} << 31;  // what Protocol Buffers allow

using Entries = std::map<std::string, TfEntry>;
using Variable = Entries::value_type const*;

Error bad(std::string const& where, std::string const& what) {
  return Error(ExitCode::kData, fmt::format("{}: {}", escaped(where, 4096), what));
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "linear_2" before "linear_10": runs of digits compare as numbers, by length, then digit by digit.
bool before_by_number(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (!is_digit(a[0]) || !is_digit(b[0])) {
      if (a[0] != b[0]) return static_cast<unsigned char>(a[0]) < static_cast<unsigned char>(b[0]);
      a.remove_prefix(1);
      b.remove_prefix(1);
      continue;
    }
    auto const run = [](std::string_view& text) {
      std::size_t size = 0;
      while (size < text.size() && is_digit(text[size])) ++size;
      std::string_view digits = text.substr(0, size);
      text.remove_prefix(size);
      digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
      return digits;
    };
    std::string_view const m = run(a);
    std::string_view const n = run(b);
    if (m.size() != n.size()) return m.size() < n.size();
    if (m != n) return m < n;
  }
  return a.size() < b.size();
}

// An optimizer keeps its state of variable NAME as NAME/Adam and the like.
bool is_slot(std::string const& name, Entries const& entries) {
  for (std::size_t at = name.find('/'); at != std::string::npos; at = name.find('/', at + 1)) {
    if (entries.count(name.substr(0, at)) != 0) return true;
  }
  return false;
}

std::string scope_of(std::string const& name) { return name.substr(0, name.rfind('/') + 1); }

// Kernels and biases in the order of their names.
struct Variables {
  std::vector<Variable> kernels;
  std::vector<Variable> biases;
};

Variables find_variables(Entries const& entries, std::string const& source) {
  Variables found;
  for (auto const& entry : entries) {
    auto const& [name, tensor] = entry;
    if (tensor.shape.empty() || is_slot(name, entries))
      continue;  // a counter, an optimizer's state
    if (tensor.shape.size() > 2) {
      throw bad(source + ":" + name,
                fmt::format("has shape [{}], expected kernels of two dimensions and biases of one",
                            fmt::join(tensor.shape, ", ")));
    }
    (tensor.shape.size() == 2 ? found.kernels : found.biases).push_back(&entry);
  }
  auto const by_number = [](Variable a, Variable b) {
    return before_by_number(a->first, b->first);
  };
  std::stable_sort(found.kernels.begin(), found.kernels.end(), by_number);
  std::stable_sort(found.biases.begin(), found.biases.end(), by_number);
  return found;
}

// The bias of each kernel, null for none: the one of its scope, or, where kernels and biases do not
// share scopes (Variable, Variable_1, ...), the one of its place in the order.
std::vector<Variable> pair_biases(Variables const& variables, std::string const& source) {
  std::vector<Variable> biases;
  std::set<Variable> used;
  for (Variable const kernel : variables.kernels) {
    std::string const scope = scope_of(kernel->first);
    Variable match = nullptr;
    for (Variable const bias : variables.biases) {
      if (scope.empty() || scope_of(bias->first) != scope) continue;
      if (match != nullptr) {
        throw bad(
            source + ":" + bias->first,
            fmt::format("is one bias too many for {}, beside {}; only dense layers are supported",
                        in_quotes(kernel->first), in_quotes(match->first)));
      }
      match = bias;
    }
    if (match != nullptr && !used.insert(match).second) {
      throw bad(source + ":" + match->first, "is the bias of two kernels");
    }
    biases.push_back(match);
  }
  if (used.empty() && variables.biases.size() == variables.kernels.size()) return variables.biases;
  for (Variable const bias : variables.biases) {
    if (used.count(bias) == 0) {
      throw bad(source + ":" + bias->first,
                fmt::format("shape [{}] belongs to no kernel; only dense layers are supported",
                            fmt::join(bias->second.shape, ", ")));
    }
  }
  return biases;
}

// Operators of the graph that NAME.meta holds, each once.
std::set<std::string, std::less<>> graph_operators(std::string_view meta,
                                                   std::string const& source) try {
  constexpr std::uint32_t kGraph = 2;     // of MetaGraphDef
  constexpr std::uint32_t kNode = 1;      // of GraphDef
  constexpr std::uint32_t kOperator = 2;  // of NodeDef
  std::set<std::string, std::less<>> operators;
  ProtobufReader reader(meta);
  while (auto const field = reader.next()) {
    if (field->number != kGraph) continue;
    ProtobufReader graph(field->content());
    while (auto const node = graph.next()) {
      if (node->number != kNode) continue;
      ProtobufReader parts(node->content());
      while (auto const part = parts.next()) {
        if (part->number == kOperator) operators.emplace(part->content());
      }
    }
  }
  return operators;
} catch (Malformed const& malformed) {
  throw bad(source, malformed.what);
}

// The one activation between the layers, by the operators of the graph.
Activation hidden_activation(std::set<std::string, std::less<>> const& operators, bool one_output,
                             std::string const& source) {
  static std::map<std::string_view, Activation> const kKnown = {
      {"Relu", Activation::kRelu}, {"Elu", Activation::kElu}, {"Tanh", Activation::kTanh}};
  std::vector<std::string> present;
  std::optional<Activation> known;
  for (auto const& [name, activation] : kKnown) {
    if (operators.count(name) == 0) continue;
    known = activation;
    present.emplace_back(name);
  }
  for (char const* other : {"Relu6", "LeakyRelu", "Selu", "Softplus", "Softsign"}) {
    if (operators.count(other) != 0) present.emplace_back(other);
  }
  // That of one output serves as its activation.
  if (operators.count("Sigmoid") != 0 && !one_output) present.emplace_back("Sigmoid");
  if (present.size() != 1 || !known) {
    throw bad(source, fmt::format("the graph has activations [{}], expected one of Relu, Elu, Tanh "
                                  "between all layers",
                                  fmt::join(present, ", ")));
  }
  return *known;
}

}  // namespace

Network parse_tf_checkpoint(TfCheckpointFiles const& files) {
  Entries const entries = parse_tf_index(files.index, files.index_path);
  if (entries.count("_CHECKPOINTABLE_OBJECT_GRAPH") != 0) {
    throw bad(files.index_path,
              "is a TensorFlow 2 checkpoint, which does not say what lies between the layers; save "
              "the whole model with model.save('NAME.keras')");
  }
  Variables const variables = find_variables(entries, files.index_path);
  auto const& kernels = variables.kernels;
  if (kernels.empty()) throw bad(files.index_path, "has no kernel, a tensor of two dimensions");
  std::vector<Variable> const biases = pair_biases(variables, files.index_path);
  bool const one_output = kernels.back()->second.shape[1] == 1;
  Activation hidden = Activation::kRelu;
  if (files.meta && kernels.size() > 1) {
    hidden = hidden_activation(graph_operators(*files.meta, files.meta_path), one_output,
                               files.meta_path);
  }

  auto const widened = [&](Variable variable) {
    auto const values =
        read_tf_tensor(files.data, variable->second, variable->first, files.data_path);
    return std::vector<double>(values.begin(), values.end());
  };
  LayerChain layers;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    auto const& [name, kernel] = *kernels[k];
    std::string const where = fmt::format("{}:{}", escaped(files.index_path, 4096), escaped(name));
    std::vector<double> bias;
    if (biases[k] != nullptr) bias = widened(biases[k]);
    std::string const scope = scope_of(name);
    layers.dense(scope.empty() ? name : scope.substr(0, scope.size() - 1), kernel.shape[0],
                 kernel.shape[1], widened(kernels[k]), std::move(bias), where);
    if (k + 1 < kernels.size()) {
      layers.activation(hidden, hidden == Activation::kElu ? 1.0F : 0.0F, where);
    } else {
      layers.activation(one_output ? Activation::kSigmoid : Activation::kSoftmax, 0.0F, where);
    }
  }
  return std::move(layers).finish(
      files.index_path, files.meta
                            ? "TensorFlow checkpoint"
                            : "TensorFlow checkpoint (without .meta: ReLU between the layers)");
}

Network read_tf_checkpoint(std::string const& index_path) {
  constexpr std::string_view kSuffix = ".index";
  std::string const name =
      index_path.substr(0, index_path.size() - std::min(index_path.size(), kSuffix.size()));
  TfCheckpointFiles files;
  files.index_path = index_path;
  files.index = read_file(index_path, kMaxIndexBytes);
  parse_tf_index(files.index, index_path);  // says what is wrong with it before data is missed
  files.data_path = name + ".data-00000-of-00001";
  files.data = read_file(files.data_path, kMaxDataBytes);
  files.meta_path = name + ".meta";
  std::error_code ec;
  if (std::filesystem::exists(files.meta_path, ec)) {
    files.meta = read_file(files.meta_path, kMaxMetaBytes);
  }
  return parse_tf_checkpoint(files);
}

}  // namespace fairlane
