// Our own format of trees.
#pragma once

#include <string>

#include "base/formats/json_field.h"
#include "models/trees/trees.h"

namespace fairlane {

/// The format "fairlane-trees", which models/adapters/export_sklearn.py documents and writes;
/// validated. Throws Error(kData).
TreeEnsemble read_trees_json(JsonField const& root, std::string const& source);

}  // namespace fairlane
