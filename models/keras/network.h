// What a Keras configuration and its weights make together, wherever the weights are kept.
#pragma once

#include <string>
#include <vector>

#include "models/keras/config.h"
#include "models/keras/hdf5_file.h"
#include "models/network.h"

namespace fairlane {

/// A layer's weights in an HDF5 file.
class KerasWeights {
 public:
  virtual ~KerasWeights() = default;
  virtual Hdf5File const& file() const = 0;
  /// Paths of a layer's weights, in the order of `names`, which are all that it may have.
  /// Throws Error(kData) where one is missing, or where there are others.
  virtual std::vector<std::string> find(KerasLayer const& layer,
                                        std::vector<std::string> const& names) const = 0;
};

/// Throws Error(kData) naming layer and path inside the file.
Network build_keras_network(KerasConfig const& config, KerasWeights const& weights,
                            std::string const& source, std::string format);

}  // namespace fairlane
