// ONNX graphs that are a chain of dense layers, activations and scalings.
#pragma once

#include <string>
#include <string_view>

#include "models/network.h"

namespace fairlane {

/// ONNX: Gemm, MatMul and Add, activations, and what has no effect or can be folded (see
/// LayerChain).
/// Source: ONNX operator sets 1 to 22.
Network read_onnx(std::string const& path);
/// Same, from memory; `source` names it in messages.
Network parse_onnx(std::string_view bytes, std::string const& source);

}  // namespace fairlane
