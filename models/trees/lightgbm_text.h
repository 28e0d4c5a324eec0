// LightGBM's text model.
#pragma once

#include <string>
#include <string_view>

#include "models/trees/trees.h"

namespace fairlane {

/// LightGBM's `save_model("model.txt")`; validated. Throws Error(kData).
TreeEnsemble read_lightgbm_text(std::string_view text, std::string const& source);

}  // namespace fairlane
