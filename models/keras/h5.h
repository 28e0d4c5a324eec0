// Keras models in HDF5 (.h5, .keras-v2).
#pragma once

#include <string>

#include "models/network.h"

namespace fairlane {

/// Keras HDF5 with Dense layers (Sequential or a linear Functional chain). Source: Keras 2
/// `model.save`.
Network read_keras_h5(std::string const& path);

}  // namespace fairlane
