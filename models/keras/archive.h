// Keras 3 models (.keras): a zip archive of the configuration and of the weights in HDF5.
#pragma once

#include <string>
#include <string_view>

#include "models/network.h"

namespace fairlane {

/// Keras 3 archive (.keras), of the same layers. Source: Keras 3 `model.save`.
Network read_keras_archive(std::string const& path);
/// Same, from memory; `source` names it in messages.
Network parse_keras_archive(std::string_view bytes, std::string const& source);

}  // namespace fairlane
