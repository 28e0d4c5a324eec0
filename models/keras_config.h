// The part of a Keras model's configuration (model_config) that makes a multi-layer perceptron.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/views.h"

namespace fairlane {

/// One Dense layer as configured, with the activation of a layer of its own that follows folded in.
struct KerasDense {
  std::string name;
  std::int64_t units = 0;
  bool use_bias = true;
  bool has_activation = false;  // other than linear
  Activation activation = Activation::kLinear;
  float alpha = 0.0F;
};

/// The Dense layers in order, and the inputs of the first when the configuration says.
struct KerasConfig {
  std::optional<std::int64_t> inputs;
  std::vector<KerasDense> layers;
};

/// Reads model_config of a Sequential model or a linear Functional chain; layers without effect on
/// inference are left out.
/// Throws Error(kData) naming class and layer of anything else.
/// Source: Keras 2 and Keras 3 `model.save` to HDF5.
KerasConfig parse_keras_config(std::string_view json, std::string const& source);

}  // namespace fairlane
