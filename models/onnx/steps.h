// The operators of ONNX that make layers, applied one after the other.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/layer_chain.h"
#include "models/onnx/chain.h"
#include "models/onnx/graph.h"
#include "models/onnx/wiring.h"

namespace fairlane::onnx {

/// Turns a chain of nodes into layers, from the input on. `model` and `wiring` must outlive it.
class Steps {
 public:
  /// `source` is the file, for messages.
  Steps(Model const& model, Wiring const& wiring, std::string const& source);

  /// Names of the operators that are read.
  static std::vector<std::string_view> operators();
  /// Whether a node's operator is one of them.
  static bool knows(Node const& node);

  /// The graph's inputs. Both throw Error(kData) naming the node and what it has.
  void begin(Chain const& chain);
  /// The next node of the chain, which knows() it.
  void apply(Node const& node);

  /// What was put together.
  LayerChain layers() &&;

 private:
  using Step = void (Steps::*)(Node const&);
  static std::map<std::string_view, Step> const& table();

  void begin(Value const& input);
  void need_matrix(Node const& node) const;
  void need_axis(Node const& node, std::int64_t axis) const;
  void need_inputs(Node const& node, std::size_t least, std::size_t most) const;
  Constant operand(Node const& node, std::size_t index) const;
  std::vector<double> per_unit(Node const& node, std::size_t index) const;
  /// Throws Error(kData) for what is no dimension or axis.
  std::vector<std::int64_t> integers(Node const& node, std::size_t index) const;
  std::vector<std::int64_t> axes(Node const& node) const;
  void activate(Node const& node, Activation activation, double alpha = 0.0);

  void gemm(Node const& node);
  void mat_mul(Node const& node);
  void arithmetic(Node const& node);
  void relu(Node const& node);
  void leaky_relu(Node const& node);
  void elu(Node const& node);
  void selu(Node const& node);
  void sigmoid(Node const& node);
  void tanh(Node const& node);
  void swish(Node const& node);
  void gelu(Node const& node);
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
  void linear_classifier(Node const& node);
  void normalizer(Node const& node);
  void feature_extractor(Node const& node);
  void no_effect(Node const&) {}

  Model const& model_;
  Wiring const& wiring_;
  std::string source_;
  LayerChain layers_;
  std::size_t rank_ = 2;              // dimensions here, rows included
  bool decided_ = false;              // after ArgMax only labels are left
  std::optional<std::int64_t> rows_;  // where the graph is for a fixed number of them
  bool mirrored_ = false;             // the last step gave -z and z, of which z alone is kept
  bool untouched_ = true;             // nothing but the inputs themselves so far
};

}  // namespace fairlane::onnx
