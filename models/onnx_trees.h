// An ONNX file whose model is an ensemble of trees.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "models/trees/trees.h"

namespace fairlane {

/// Reads a TreeEnsembleClassifier with what only renames its scores; nothing where the graph has
/// none. Sums are those of ONNX Runtime for one row and thread: float32, leaves in the order of the
/// trees, then the base values.
/// Throws Error(kNoInput) if missing, Error(kData) naming the node and what cannot be represented
/// exactly: double precision, scores of several classes in some leaves only, transforms of one
/// class against the others.
/// Source: ONNX ai.onnx.ml, operator set 1; ONNX Runtime 1.31, tree_ensemble_aggregator.h.
std::optional<TreeEnsemble> load_onnx_trees(std::string const& path);

/// Same, from memory; `source` names it in messages.
std::optional<TreeEnsemble> parse_onnx_trees(std::string_view bytes, std::string const& source);

}  // namespace fairlane
