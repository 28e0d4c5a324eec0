// Activations as a Keras configuration writes them.
#pragma once

#include <optional>
#include <string>

#include "base/formats/json.h"
#include "kernels/core/views.h"

namespace fairlane {

/// scale  what the results are multiplied by
struct KerasActivation {
  Activation activation = Activation::kLinear;
  float alpha = 0.0F;
  float scale = 1.0F;
};

/// The `activation` of a Dense or Activation layer: nothing, a name, or a layer. `where` names the
/// layer in messages. Both throw Error(kData) for one that is not supported.
KerasActivation read_keras_activation(Json const& value, std::string const& where);

/// An activation that is a layer class; nothing when the class is none.
std::optional<KerasActivation> keras_activation_layer(std::string const& class_name,
                                                      Json const& config, std::string const& where);

}  // namespace fairlane
