// What a person reads of a retraining.
#pragma once

#include <string>

#include "engine/retrain/retrain.h"

namespace fairlane {

/// The tables of a retraining, from its summary.json.
std::string retrain_text(std::string const& json);
/// "candidate 2: epoch 3 of 30, loss 0.352  12 s".
std::string retrain_progress_text(RetrainProgress const& progress);

}  // namespace fairlane
