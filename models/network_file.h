// Networks as files of any kind that is read here.
#pragma once

#include <string>

#include "models/network.h"

namespace fairlane {

/// The file that a path names: itself, or NAME.index where NAME is a TensorFlow checkpoint. That
/// index holds the CRC of every tensor, which the reader checks: its digest stands for the
/// network's.
std::string network_file(std::string const& path);

/// Reads a network, choosing the reader by content and extension (.h5/.keras-v2 HDF5, .keras,
/// .onnx, .safetensors, a TensorFlow checkpoint as NAME or NAME.index).
/// Throws Error(kNoInput) if missing, Error(kData) if malformed or unsupported.
Network load_network(std::string const& path);

}  // namespace fairlane
