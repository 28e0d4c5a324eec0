#include "models/keras/activation.h"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "models/keras/members.h"
#include "models/layer_chain.h"

namespace fairlane {
namespace {

using keras::is_last_axis;
using keras::member;
using keras::number_member;
using keras::shown;
using keras::text_member;

// Slopes that Keras takes when a configuration does not name one.
constexpr float kDefaultLeakyFunction = 0.2F;  // activation='leaky_relu'
constexpr float kDefaultLeakyLayer = 0.3F;     // LeakyReLU()
constexpr float kDefaultElu = 1.0F;

float slope(Json const& config, float absent, std::string const& where) {
  for (char const* key : {"negative_slope", "alpha"}) {
    if (auto const value = number_member(config, key, where)) return static_cast<float>(*value);
  }
  return absent;
}

KerasActivation relu(Json const& config, std::string const& where) {
  if (auto const most = number_member(config, "max_value", where)) {
    throw data_error(where,
                     fmt::format("ReLU with max_value {} is not supported, expected none", *most));
  }
  if (auto const threshold = number_member(config, "threshold", where);
      threshold.value_or(0.0) != 0.0) {
    throw data_error(
        where, fmt::format("ReLU with threshold {} is not supported, expected 0", *threshold));
  }
  float const negative = slope(config, 0.0F, where);
  if (negative == 0.0F) return {Activation::kRelu, 0.0F};
  return {Activation::kLeakyRelu, negative};
}

KerasActivation softmax(Json const& config, std::string const& where) {
  Json const& axis = member(config, "axis");
  if (!is_last_axis(axis))
    throw data_error(
        where, fmt::format("Softmax over axis {} is not supported, expected -1", shown(axis)));
  return {Activation::kSoftmax, 0.0F};
}

// TensorFlow Addons' layer, which alone says whether it approximates; Keras's function does not.
KerasActivation gelu(Json const& config, std::string const& where) {
  Json const& approximate = member(config, "approximate");
  if (!approximate.is_boolean()) {
    throw data_error(where,
                     fmt::format("approximate is {}, expected true or false", shown(approximate)));
  }
  return {approximate.get<bool>() ? Activation::kGeluTanh : Activation::kGelu, 0.0F};
}

// An activation by the name of its function.
KerasActivation named_activation(std::string const& name, std::string const& where) {
  static std::map<std::string, KerasActivation> const kByName = {
      {"linear", {Activation::kLinear, 0.0F}},
      {"relu", {Activation::kRelu, 0.0F}},
      {"leaky_relu", {Activation::kLeakyRelu, kDefaultLeakyFunction}},
      {"elu", {Activation::kElu, kDefaultElu}},
      {"selu", {Activation::kElu, kSeluAlpha, kSeluScale}},
      {"tanh", {Activation::kTanh, 0.0F}},
      {"sigmoid", {Activation::kSigmoid, 0.0F}},
      {"softmax", {Activation::kSoftmax, 0.0F}},
      {"silu", {Activation::kSilu, 0.0F}},
      {"swish", {Activation::kSilu, 0.0F}},
      {"gelu", {Activation::kGelu, 0.0F}},
  };
  auto const found = kByName.find(name);
  if (found != kByName.end()) return found->second;
  std::vector<std::string> names;
  for (auto const& entry : kByName) names.push_back(entry.first);
  throw data_error(where, fmt::format("activation {} is not supported, expected one of {}",
                                      in_quotes(name), fmt::join(names, ", ")));
}

}  // namespace

std::optional<KerasActivation> keras_activation_layer(std::string const& class_name,
                                                      Json const& config,
                                                      std::string const& where) {
  if (class_name == "ReLU") return relu(config, where);
  if (class_name == "Softmax") return softmax(config, where);
  if (class_name == "LeakyReLU")
    return KerasActivation{Activation::kLeakyRelu, slope(config, kDefaultLeakyLayer, where)};
  if (class_name == "Addons>GELU") return gelu(config, where);
  if (class_name == "ELU")
    return KerasActivation{Activation::kElu, slope(config, kDefaultElu, where)};
  return std::nullopt;
}

KerasActivation read_keras_activation(Json const& value, std::string const& where) {
  if (value.is_null()) return {};
  if (auto const* const name = value.string()) return named_activation(*name, where);
  if (auto const* const class_name = text_member(value, "class_name")) {
    if (auto const shape = keras_activation_layer(*class_name, member(value, "config"), where))
      return *shape;
    throw data_error(
        where, fmt::format("activation of class {} is not supported", in_quotes(*class_name)));
  }
  throw data_error(where, fmt::format("activation is {}, expected a name", shown(value)));
}

}  // namespace fairlane
