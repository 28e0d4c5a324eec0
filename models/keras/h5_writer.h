// Writes a network as a Keras model in HDF5.
#pragma once

#include <string>

#include "models/network.h"

namespace fairlane {

/// Whether Keras 2 has words for all of a network's activations.
bool has_keras_form(Network const& network);

/// Writes a Sequential model of Keras 2, which Keras 3 reads too: the same bytes for the same
/// network. Throws Error(kOutput) where the file cannot be created, Error(kDisk) where writing
/// fails, Error(kBug) for a network without such a form.
/// Source: the legacy H5 format of Keras, keras/src/legacy/saving/legacy_h5_format.py.
void write_keras_h5(Network const& network, std::string const& path);

}  // namespace fairlane
