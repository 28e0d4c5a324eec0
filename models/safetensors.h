// Fairlane's own network file. Source: the safetensors format,
// https://github.com/huggingface/safetensors
#pragma once

#include <string>
#include <string_view>

#include "models/network.h"

namespace fairlane {

/// Fairlane's own file: safetensors, tensors `layers.K.weight` [inputs][outputs], `layers.K.bias`,
/// and metadata `layers.K.activation`, `layers.K.alpha`, `layers.K.name`, `format` =
/// "fairlane-mlp". Every declared size is checked against the bytes present.
Network read_safetensors(std::string const& path);
/// Same, from memory; `source` names it in messages.
Network parse_safetensors(std::string_view bytes, std::string const& source);
/// Throws Error(kDisk).
void write_safetensors(Network const& network, std::string const& path);

}  // namespace fairlane
