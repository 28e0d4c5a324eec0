#include "models/keras/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "base/formats/json.h"
#include "base/formats/strict_json.h"
#include "base/text.h"
#include "models/keras/activation.h"
#include "models/keras/members.h"
#include "models/network.h"

namespace fairlane {
namespace {

using keras::is_last_axis;
using keras::member;
using keras::number_member;
using keras::shown;
using keras::text_member;

constexpr int kMaxDepth = 32;

constexpr double kDefaultEpsilon = 1e-3;  // of BatchNormalization

// A layer of the configuration, still as JSON, with its title for messages.
struct Layer {
  std::string class_name;
  std::string name;
  Json const* config = nullptr;
  std::string where;
};

bool flag_member(Layer const& layer, char const* key, bool absent) {
  Json const& value = member(*layer.config, key);
  if (!value.is_null() && !value.is_boolean()) {
    throw data_error(layer.where,
                     fmt::format("{} is {}, expected true or false", key, shown(value)));
  }
  return value.is_null() ? absent : value.get<bool>();
}

// A number or a list of them, in however many brackets; empty when absent or null.
std::vector<double> numbers_member(Layer const& layer, char const* key) {
  Json const* value = &member(*layer.config, key);
  if (value->is_null()) return {};
  if (value->is_number()) return {value->get<double>()};
  while (value->is_array() && value->size() == 1 && (*value)[0].is_array()) value = &(*value)[0];
  std::vector<double> numbers;
  for (Json const& number : *value) {
    if (!value->is_array() || !number.is_number()) {
      numbers.clear();
      break;
    }
    numbers.push_back(number.get<double>());
  }
  if (numbers.empty()) {
    throw data_error(layer.where, fmt::format("{} is {}, expected a number or a list of numbers",
                                              key, shown(member(*layer.config, key))));
  }
  return numbers;
}

void set_activation(KerasActivation const& shape, KerasLayer& layer) {
  layer.activation = shape.activation;
  layer.alpha = shape.alpha;
  layer.scale = shape.scale;
}

// The inputs that a layer's batch_input_shape declares; Dense on more than one axis is refused.
std::optional<std::int64_t> declared_inputs(Layer const& layer) {
  for (char const* key : {"batch_input_shape", "batch_shape"}) {
    Json const& shape = member(*layer.config, key);
    if (shape.is_null()) continue;
    bool const flat = shape.is_array() && shape.size() == 2 &&
                      (shape[1].is_null() || shape[1].is_number_unsigned());
    if (!flat) {
      throw data_error(layer.where,
                       fmt::format("{} is {}, expected [null, inputs]", key, shown(shape)));
    }
    if (shape[1].is_null()) return std::nullopt;
    std::uint64_t const inputs = shape[1].get<std::uint64_t>();
    if (inputs < 1 || inputs > static_cast<std::uint64_t>(kMaxInputs)) {
      throw data_error(layer.where, fmt::format("{} is {}, expected 1..{} inputs", key,
                                                shown(shape), kMaxInputs));
    }
    return static_cast<std::int64_t>(inputs);
  }
  return std::nullopt;
}

void read_dense(Layer const& layer, KerasLayer& dense) {
  Json const& units = member(*layer.config, "units");
  if (!units.is_number_unsigned() || units.get<std::uint64_t>() < 1 ||
      units.get<std::uint64_t>() > static_cast<std::uint64_t>(kMaxUnits)) {
    throw data_error(layer.where,
                     fmt::format("units is {}, expected 1..{}", shown(units), kMaxUnits));
  }
  dense.units = units.get<std::int64_t>();
  dense.use_bias = flag_member(layer, "use_bias", true);
  set_activation(read_keras_activation(member(*layer.config, "activation"), layer.where), dense);
}

void need_last_axis(Layer const& layer) {
  Json const& axis = member(*layer.config, "axis");
  if (!is_last_axis(axis)) {
    throw data_error(layer.where,
                     fmt::format("axis {} is not supported, expected -1", shown(axis)));
  }
}

void read_batch_normalization(Layer const& layer, KerasLayer& result) {
  need_last_axis(layer);
  result.epsilon = number_member(*layer.config, "epsilon", layer.where).value_or(kDefaultEpsilon);
  result.scales = flag_member(layer, "scale", true);
  result.centers = flag_member(layer, "center", true);
}

void read_normalization(Layer const& layer, KerasLayer& result) {
  need_last_axis(layer);
  result.inverse = flag_member(layer, "invert", false);
  result.first = numbers_member(layer, "mean");
  result.second = numbers_member(layer, "variance");
  if (result.first.empty() != result.second.empty()) {
    throw data_error(layer.where, "gives one of mean and variance, expected both or neither");
  }
}

void read_rescaling(Layer const& layer, KerasLayer& result) {
  result.first = numbers_member(layer, "scale");
  result.second = numbers_member(layer, "offset");
  if (result.first.empty()) throw data_error(layer.where, "has no scale");
  if (result.second.empty()) result.second = {0.0};
}

bool has_no_effect(std::string const& class_name) {
  static std::set<std::string> const kClasses = {
      "InputLayer",      "Dropout",       "AlphaDropout",
      "GaussianDropout", "GaussianNoise", "ActivityRegularization",
      "Flatten"};  // inputs are flat: declared_inputs sees to it
  return kClasses.count(class_name) != 0;
}

// A layer that computes something; nothing for one that has no effect on inference.
std::optional<KerasLayer> read_computing_layer(Layer const& layer) {
  using Kind = KerasLayer::Kind;
  KerasLayer result;
  result.name = layer.name;
  result.where = layer.where;
  if (layer.class_name == "Dense") {
    read_dense(layer, result);
  } else if (layer.class_name == "Activation") {
    result.kind = Kind::kActivation;
    set_activation(read_keras_activation(member(*layer.config, "activation"), layer.where), result);
  } else if (auto const shape =
                 keras_activation_layer(layer.class_name, *layer.config, layer.where)) {
    result.kind = Kind::kActivation;
    set_activation(*shape, result);
  } else if (layer.class_name == "BatchNormalization") {
    result.kind = Kind::kBatchNormalization;
    read_batch_normalization(layer, result);
  } else if (layer.class_name == "Normalization") {
    result.kind = Kind::kNormalization;
    read_normalization(layer, result);
  } else if (layer.class_name == "Rescaling") {
    result.kind = Kind::kRescaling;
    read_rescaling(layer, result);
  } else if (has_no_effect(layer.class_name)) {
    return std::nullopt;
  } else {
    throw data_error(
        layer.where,
        fmt::format("layer class {} is not supported, expected Dense layers, activations, "
                    "BatchNormalization, Normalization and Rescaling",
                    in_quotes(layer.class_name)));
  }
  return result;
}

Layer read_layer(Json const& entry, std::size_t index, std::string const& where) {
  auto const* const class_name = text_member(entry, "class_name");
  Json const& config = member(entry, "config");
  std::string const here = fmt::format("{}: layer {}", where, index);
  if (class_name == nullptr) throw data_error(here, "has no class_name");
  if (!config.is_object())
    throw data_error(here, fmt::format("{} has no config", in_quotes(*class_name)));
  auto const* const name = text_member(config, "name");
  if (name == nullptr || name->empty())
    throw data_error(here, fmt::format("{} has no name", in_quotes(*class_name)));
  Layer layer{*class_name, *name, &config, {}};
  layer.where = fmt::format("{}: layer {} ({})", where, in_quotes(*name), escaped(*class_name, 40));
  return layer;
}

// "BatchNormalization", 2 -> "batch_normalization_2"; the first has no number.
std::string group_name(std::string const& class_name, std::size_t number) {
  std::string name;
  for (char const c : class_name) {
    bool const upper = c >= 'A' && c <= 'Z';
    if (upper && !name.empty()) name += '_';
    name += upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return number == 0 ? name : fmt::format("{}_{}", name, number);
}

// The name in a reference to another layer's output: ["dense", 0, 0] or ["dense", 0, 0, {}].
std::string const* referred(Json const& reference) {
  if (!reference.is_array() || reference.size() < 3 || !reference[0].is_string()) return nullptr;
  if (reference[1] != 0 || reference[2] != 0) return nullptr;
  return reference[0].string();
}

using Names = std::vector<std::string>;

// The layers behind a list of references, or behind the one that stands there; nothing where one is
// no reference.
template <class Refer>
Names names_of(Json const& list, bool is_one, Refer const& refer) {
  Names names;
  for (std::size_t i = 0; i < (is_one ? 1 : list.size()); ++i) {
    auto const* const name = refer(is_one ? list : list[i]);
    if (name == nullptr) return {};
    names.push_back(*name);
  }
  return names;
}

// The layers that an inbound_nodes entry of Keras 2 or Keras 3 names; nothing when there are
// several entries, or what they hold is something else.
Names sources_of(Json const& nodes) {
  if (!nodes.is_array() || nodes.size() != 1) return {};
  Json const& node = nodes[0];
  if (node.is_array()) {  // Keras 2.16 has no list around a single one: [["dense", 0, 0, {}]]
    return node.empty() ? Names() : names_of(node, node[0].is_string(), referred);
  }
  Json const& args = member(node, "args");
  if (!args.is_array() || args.size() != 1) return {};
  return names_of(args[0], !args[0].is_array(), [](Json const& tensor) {
    return referred(member(member(tensor, "config"), "keras_history"));
  });
}

// The layers named by input_layers or output_layers: ["x", 0, 0], [["x", 0, 0]], or of a model
// whose inputs are a dictionary {"x": ["x", 0, 0]}.
Names ends_of(Json const& ends) {
  if (ends.is_object()) {
    Json list = Json::array();
    for (auto const& [key, end] : ends.items()) list.push_back(end);
    return names_of(list, false, referred);
  }
  if (!ends.is_array() || ends.empty()) return {};
  return names_of(ends, ends[0].is_string(), referred);
}

// Whether a layer puts inputs of one value each side by side, and nothing else.
bool joins_columns(Layer const& layer, Names const& sources, std::vector<Layer> const& layers,
                   Names const& inputs) {
  Json const& axis = member(*layer.config, "axis");
  bool const is_join =
      layer.class_name == "Concatenate" && (axis.is_null() || axis == -1 || axis == 1) &&
      sources.size() == inputs.size() && std::ranges::is_permutation(sources, inputs);
  return is_join && std::ranges::all_of(layers, [&](Layer const& one) {
           return std::ranges::count(inputs, one.name) == 0 || declared_inputs(one) == 1;
         });
}

// Layers of a Functional model from its input to its output. Anything but one chain through all of
// them is refused.
// features: out, names of the inputs where there is one for each column; the chain begins with
// what joins them.
std::vector<Layer> order_chain(Json const& config, Json const& entries,
                               std::vector<Layer> const& layers, std::string const& where,
                               Names& features) {
  Names const inputs = ends_of(member(config, "input_layers"));
  Names const outputs = ends_of(member(config, "output_layers"));
  if (inputs.empty() || outputs.size() != 1) {
    throw data_error(
        where,
        fmt::format(
            "the Functional model has input_layers {} and output_layers {}, expected one of each, "
            "or an input for every column",
            shown(member(config, "input_layers")), shown(member(config, "output_layers"))));
  }
  std::map<std::string, std::size_t>
      successor;  // name of a layer -> index of the layer that it feeds
  std::optional<std::size_t> start;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    Json const& nodes = member(entries[i], "inbound_nodes");
    if (nodes.is_null() || (nodes.is_array() && nodes.empty())) {
      if (std::ranges::count(inputs, layers[i].name) == 0)
        throw data_error(layers[i].where, "is not connected to the input of the Functional model");
      if (inputs.size() == 1) start = i;
      continue;
    }
    Names const sources = sources_of(nodes);
    if (inputs.size() > 1 && joins_columns(layers[i], sources, layers, inputs)) {
      features = sources;
      start = i;
      continue;
    }
    if (sources.size() != 1) {
      throw data_error(layers[i].where,
                       "has several inputs or uses; only a chain of layers is supported");
    }
    auto const [before, is_new] = successor.emplace(sources[0], i);
    if (!is_new) {
      throw data_error(
          layers[i].where,
          fmt::format("takes the output of {}, which already feeds {}; only a chain of layers is "
                      "supported",
                      in_quotes(sources[0]), in_quotes(layers[before->second].name)));
    }
  }
  if (!start) {
    throw data_error(
        where,
        fmt::format("the Functional model has no input layer {}{}", in_quotes(inputs[0]),
                    inputs.size() == 1 ? "" : ", or nothing joins its inputs of a value each"));
  }
  std::size_t const length = layers.size() - features.size();
  std::vector<Layer> chain = {layers[*start]};
  while (chain.size() < length) {
    auto const next = successor.find(chain.back().name);
    if (next == successor.end()) break;
    chain.push_back(layers[next->second]);
  }
  if (chain.size() != length || chain.back().name != outputs[0]) {
    throw data_error(
        where,
        fmt::format(
            "the layers of the Functional model are not one chain from {} to {}; it breaks at {}",
            in_quotes(inputs[0]), in_quotes(outputs[0]), in_quotes(chain.back().name)));
  }
  return chain;
}

}  // namespace

KerasConfig parse_keras_config(std::string_view json, std::string const& where) {
  Json const root = parse_strict_json(json, where, kMaxDepth);
  auto const* const kind = text_member(root, "class_name");
  if (kind == nullptr)
    throw data_error(where, "has no class_name, expected 'Sequential' or 'Functional'");
  bool const functional = *kind == "Functional" || *kind == "Model";
  if (!functional && *kind != "Sequential") {
    throw data_error(
        where, fmt::format("model class {} is not supported, expected 'Sequential' or 'Functional'",
                           in_quotes(*kind)));
  }
  Json const& config = member(root, "config");
  Json const& entries =
      config.is_array() ? config : member(config, "layers");  // before Keras 2.2.3, a list
  if (!entries.is_array() || entries.empty()) throw data_error(where, "has no layers");

  std::vector<Layer> layers;
  std::set<std::string> names;
  std::map<std::string, std::string> groups;        // by name of a layer
  std::map<std::string, std::size_t> of_one_class;  // layers before, in the order of the file
  for (Json const& entry : entries) {
    layers.push_back(read_layer(entry, layers.size(), where));
    std::string const& class_name = layers.back().class_name;
    groups[layers.back().name] = group_name(class_name, of_one_class[class_name]++);
    if (!names.insert(layers.back().name).second)
      throw data_error(layers.back().where, "another layer has the same name");
  }
  KerasConfig result;
  if (functional) layers = order_chain(config, entries, layers, where, result.features);
  if (!result.features.empty()) {
    result.inputs = std::ssize(result.features);
    layers.erase(layers.begin());  // what joins them
  }
  bool has_dense = false;
  for (Layer const& layer : layers) {
    if (!has_dense) {
      if (auto const inputs = declared_inputs(layer)) result.inputs = inputs;
    }
    auto computing = read_computing_layer(layer);
    if (!computing) continue;
    has_dense = has_dense || computing->kind == KerasLayer::Kind::kDense;
    computing->group = groups.at(layer.name);
    result.layers.push_back(std::move(*computing));
  }
  if (!has_dense) throw data_error(where, "has no Dense layer");
  return result;
}

}  // namespace fairlane
