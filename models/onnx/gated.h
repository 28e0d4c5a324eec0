// SiLU and GELU as exporters write them where the operator set has no operator for them: by their
// parts.
#pragma once

#include <cstddef>

#include "models/onnx/graph.h"

namespace fairlane::onnx {

/// Makes the last node of every SiLU or GELU that is written out, such as x * Sigmoid(x) or
/// 0.5 * x * (1 + Erf(x / sqrt 2)), one Swish or Gelu of x. The other nodes stay as they are.
/// file_bytes  bounds what is decoded, see Wiring
/// Throws Error(kData) for malformed constants.
/// Source: the decompositions of torch.onnx, of tf2onnx and of Keras.
void fuse_gated(Model& model, std::size_t file_bytes);

}  // namespace fairlane::onnx
