// The nodes of an ONNX graph between its inputs and its scores, which follow one another.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/onnx/graph.h"
#include "models/onnx/wiring.h"

namespace fairlane::onnx {

/// nodes   from the inputs on
/// inputs  one that holds all columns, or one for each column, side by side
/// named   there is an input for each column, whose names are those of the columns
struct Chain {
  std::vector<Node const*> nodes;
  std::vector<Value const*> inputs;
  bool named = false;

  /// Names of the columns; empty where there are none.
  std::vector<std::string> features() const;
};

/// Which operators are followed.
/// knows     whether a node's operator is one of them
/// expected  what they make, for messages
struct ChainOperators {
  std::function<bool(Node const&)> knows;
  std::string expected;
};

/// Finds the chain that makes the graph's scores. `model` and `wiring` must outlive it; `file` is
/// for messages. Throws Error(kData) naming the node where there is none.
Chain find_chain(Model const& model, Wiring const& wiring, ChainOperators const& operators,
                 std::string const& file);

}  // namespace fairlane::onnx
