// Writes a network as an ONNX model.
#pragma once

#include <string>

#include "models/network.h"

namespace fairlane {

/// Writes a chain of Gemm and activations: `inputs`, float32 [rows][attributes], to `outputs`; the
/// same bytes for the same network. Operator set 13, or 20 for GELU, which has no operator before.
/// rows  that it takes; 0: any number
/// Throws Error(kDisk).
/// Source: onnx.proto3 and Operators.md of ONNX.
void write_onnx(Network const& network, std::string const& path, int rows = 0);

}  // namespace fairlane
