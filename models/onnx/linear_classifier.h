// ONNX's LinearClassifier as a dense layer.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/core/views.h"
#include "models/onnx/graph.h"

namespace fairlane::onnx {

/// weights   [inputs][outputs]
/// bias      [outputs]
/// mirrored  the node gives -z and z for two classes, or their probabilities; z alone is here
struct LinearScores {
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  std::vector<double> weights;
  std::vector<double> bias;
  Activation activation = Activation::kLinear;
  bool mirrored = false;
};

/// Throws Error(kData) naming the node for scores that no layer gives, such as one class against
/// the others.
/// Source: ONNX ai.onnx.ml, operator set 1; scikit-learn's linear models as skl2onnx writes them.
LinearScores read_linear_classifier(Node const& node);

}  // namespace fairlane::onnx
