// A network as the LibTorch plug-in takes it.
#pragma once

#include <vector>

#include "kernels/core/views.h"
#include "models/torch/plugin_api.h"

namespace fairlane {

/// The layers of a network, whose arrays they point into; an activation of the last one that makes
/// probabilities of logits is left out.
std::vector<TorchLayer> torch_layers(NetworkView network);

}  // namespace fairlane
