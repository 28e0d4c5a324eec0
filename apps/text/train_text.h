// What a person reads of a training.
#pragma once

#include <string>

#include "engine/train/train.h"

namespace fairlane {

/// The table of a training, from its summary.json.
std::string train_text(std::string const& json);
/// "epoch 3 of 30  loss 0.352  validation 0.349, 83.9 % right  4 s".
std::string train_progress_text(TrainProgress const& progress);

}  // namespace fairlane
