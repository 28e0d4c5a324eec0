// The part of a Keras model's configuration that makes a multi-layer perceptron.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/views.h"

namespace fairlane {

/// One layer as configured, of those that compute something.
struct KerasLayer {
  enum class Kind { kDense, kActivation, kBatchNormalization, kNormalization, kRescaling };
  Kind kind = Kind::kDense;
  std::string name;
  std::string where;  // for messages: the file and the layer
  /// Group of its weights in a file of Keras 3, by class and number: "dense", "dense_1".
  std::string group;

  /// kDense and kActivation
  Activation activation = Activation::kLinear;
  float alpha = 0.0F;
  float scale = 1.0F;  // by which the activation's values are multiplied
  /// kDense
  std::int64_t units = 0;
  bool use_bias = true;
  /// kBatchNormalization: epsilon, and whether there are gamma and beta.
  double epsilon = 0.0;
  bool scales = true;
  bool centers = true;
  /// kNormalization: mean and variance where the configuration gives them (else they are weights),
  /// kRescaling: factor and offset. One value, or one per unit.
  std::vector<double> first;
  std::vector<double> second;
  bool inverse = false;
};

/// The layers in order, and the inputs of the first when the configuration says.
/// features  names of the inputs where there is an input for each column; else empty
struct KerasConfig {
  std::optional<std::int64_t> inputs;
  std::vector<std::string> features;
  std::vector<KerasLayer> layers;
};

/// Reads model_config of a Sequential model or a linear Functional chain; layers without effect on
/// inference are left out. `where` names the file and the place inside it.
/// Throws Error(kData) naming class and layer of anything else.
/// Source: Keras 2 and Keras 3 `model.save`.
KerasConfig parse_keras_config(std::string_view json, std::string const& where);

}  // namespace fairlane
