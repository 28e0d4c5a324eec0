// XGBoost's model file, JSON or UBJSON.
#pragma once

#include <string>

#include "base/formats/json_field.h"
#include "models/trees/trees.h"

namespace fairlane {

/// XGBoost's `save_model("model.json")`, or "model.ubj"; validated. Throws Error(kData).
TreeEnsemble read_xgboost_json(JsonField const& root, std::string const& source);

}  // namespace fairlane
