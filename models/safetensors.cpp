#include "models/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/formats/json.h"
#include "base/formats/strict_json.h"
#include "base/text.h"

namespace fairlane {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the file is little-endian, read by memcpy");

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kMaxHeaderBytes = std::size_t{1} << 24;  // real headers are below 1 MiB
constexpr std::size_t kMaxSafetensorsBytes = std::size_t{1} << 32;
constexpr int kMaxDepth = 4;  // header > tensor > shape
constexpr char const* kFormat = "fairlane-mlp";
constexpr std::size_t kAlignment = 8;

// Where a tensor lies in the data section.
struct Extent {
  std::string name;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// What a key such as "layers.3.weight" names.
struct LayerKey {
  std::size_t layer = 0;
  std::string field;
};

std::optional<LayerKey> parse_layer_key(std::string_view key) {
  constexpr std::string_view kPrefix = "layers.";
  if (key.substr(0, kPrefix.size()) != kPrefix) return std::nullopt;
  key.remove_prefix(kPrefix.size());
  LayerKey result;
  auto const [end, ec] = std::from_chars(key.data(), key.data() + key.size(), result.layer);
  auto const digits = static_cast<std::size_t>(end - key.data());
  if (ec != std::errc() || digits >= key.size() || *end != '.') return std::nullopt;
  if (digits > 1 && key[0] == '0') return std::nullopt;
  result.field = std::string(key.substr(digits + 1));
  return result;
}

std::uint64_t size_value(Json const& value, std::string const& where) {
  if (!value.is_number_unsigned()) {
    throw data_error(
        where, fmt::format("is {}, expected an integer of at least 0", in_quotes(value.dump())));
  }
  return value.get<std::uint64_t>();
}

Extent read_extent(std::string const& name, Json const& entry, std::uint64_t data_bytes,
                   std::string const& where) {
  if (!entry.is_object())
    throw data_error(where, "is not an object, expected dtype, shape and data_offsets");
  for (auto const& [key, value] : entry.items()) {
    if (key != "dtype" && key != "shape" && key != "data_offsets") {
      throw data_error(where, fmt::format("unknown key {}, expected dtype, shape and data_offsets",
                                          in_quotes(key)));
    }
  }
  for (char const* key : {"dtype", "shape", "data_offsets"}) {
    if (!entry.contains(key)) throw data_error(where, fmt::format("has no {}", key));
  }
  Json const& dtype = entry["dtype"];
  if (!dtype.is_string() || dtype != "F32") {
    throw data_error(where, fmt::format("dtype is {}, expected F32", escaped(dtype.dump(), 40)));
  }
  Json const& shape = entry["shape"];
  if (!shape.is_array() || shape.empty() || shape.size() > 2) {
    throw data_error(
        where, fmt::format("shape is {}, expected one or two sizes", escaped(shape.dump(), 40)));
  }
  Extent extent;
  extent.name = name;
  std::uint64_t bytes = sizeof(float);
  for (Json const& size : shape) {
    std::uint64_t const count = size_value(size, where + ".shape");
    if (count == 0 || count > data_bytes / bytes) {
      throw data_error(where, fmt::format("shape is {}, but the file has {} bytes of data",
                                          escaped(shape.dump(), 60), data_bytes));
    }
    bytes *= count;
    extent.shape.push_back(count);
  }
  Json const& offsets = entry["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2) {
    throw data_error(where, fmt::format("data_offsets is {}, expected [begin, end]",
                                        escaped(offsets.dump(), 40)));
  }
  extent.begin = size_value(offsets[0], where + ".data_offsets[0]");
  extent.end = size_value(offsets[1], where + ".data_offsets[1]");
  if (extent.begin > extent.end || extent.end > data_bytes) {
    throw data_error(where, fmt::format("data_offsets [{}, {}] lie outside the {} bytes of data",
                                        extent.begin, extent.end, data_bytes));
  }
  if (extent.end - extent.begin != bytes) {
    throw data_error(
        where,
        fmt::format("data_offsets [{}, {}] hold {} bytes, but shape {} needs {}", extent.begin,
                    extent.end, extent.end - extent.begin, escaped(shape.dump(), 60), bytes));
  }
  return extent;
}

// Every byte of the data section belongs to exactly one tensor.
void check_cover(std::vector<Extent> extents, std::uint64_t data_bytes, std::string const& where) {
  std::sort(extents.begin(), extents.end(),
            [](Extent const& a, Extent const& b) { return a.begin < b.begin; });
  std::uint64_t at = 0;
  for (Extent const& extent : extents) {
    if (extent.begin != at) {
      throw data_error(where, fmt::format("tensor {} begins at byte {}, expected {} ({})",
                                          in_quotes(extent.name), extent.begin, at,
                                          extent.begin < at ? "tensors overlap" : "unused bytes"));
    }
    at = extent.end;
  }
  if (at != data_bytes) {
    throw data_error(
        where, fmt::format("has {} bytes of data, but the tensors end at byte {}", data_bytes, at));
  }
}

std::optional<Activation> activation_of(std::string const& name) {
  for (auto const activation :
       {Activation::kLinear, Activation::kRelu, Activation::kLeakyRelu, Activation::kElu,
        Activation::kTanh, Activation::kSigmoid, Activation::kSoftmax, Activation::kSilu,
        Activation::kGelu, Activation::kGeluTanh}) {
    if (name == activation_name(activation)) return activation;
  }
  return std::nullopt;
}

void read_field(DenseLayer& layer, std::string const& field, std::string const& value,
                std::string const& where) {
  if (field == "name") {
    layer.name = value;
  } else if (field == "activation") {
    auto const activation = activation_of(value);
    if (!activation) {
      std::vector<std::string> const names = {"linear", "relu",     "leaky_relu", "elu",
                                              "tanh",   "sigmoid",  "softmax",    "silu",
                                              "gelu",   "gelu_tanh"};
      throw data_error(
          where, fmt::format("{} is not an activation, expected one of {}{}", in_quotes(value),
                             fmt::join(names, ", "), did_you_mean(value, names)));
    }
    layer.activation = *activation;
  } else {
    auto const* const last = value.data() + value.size();
    auto const [end, ec] = std::from_chars(value.data(), last, layer.alpha);
    if (ec != std::errc() || end != last) {
      throw data_error(where, fmt::format("is {}, expected a number", in_quotes(value)));
    }
  }
}

void read_metadata(Network& network, Json const& metadata, std::string const& source) {
  std::string const where = source + ":__metadata__";
  if (!metadata.is_object()) throw data_error(where, "is not an object");
  std::vector<bool> has_activation(network.layers.size(), false);
  std::vector<bool> has_alpha(network.layers.size(), false);
  for (auto const& [key, value] : metadata.items()) {
    std::string const here = fmt::format("{}.{}", where, escaped(key, 60));
    if (!value.is_string()) throw data_error(here, "is not a string");
    auto const text = value.get<std::string>();
    if (key.substr(0, 6) != "layers") continue;  // provenance, or other programs' notes
    auto const parsed = parse_layer_key(key);
    if (!parsed ||
        (parsed->field != "activation" && parsed->field != "alpha" && parsed->field != "name")) {
      throw data_error(
          here, "unknown key, expected layers.K.activation, layers.K.alpha or layers.K.name");
    }
    if (parsed->layer >= network.layers.size()) {
      throw data_error(here, fmt::format("names layer {}, but there are {} layers", parsed->layer,
                                         network.layers.size()));
    }
    read_field(network.layers[parsed->layer], parsed->field, text, here);
    if (parsed->field == "activation") has_activation[parsed->layer] = true;
    if (parsed->field == "alpha") has_alpha[parsed->layer] = true;
  }
  for (std::size_t k = 0; k < network.layers.size(); ++k) {
    DenseLayer const& layer = network.layers[k];
    if (!has_activation[k]) throw data_error(where, fmt::format("has no layers.{}.activation", k));
    bool const needed =
        layer.activation == Activation::kLeakyRelu || layer.activation == Activation::kElu;
    if (needed && !has_alpha[k]) {
      throw data_error(where, fmt::format("has no layers.{}.alpha, which {} needs", k,
                                          activation_name(layer.activation)));
    }
  }
}

std::vector<float> copy_floats(std::string_view data, Extent const& extent) {
  std::vector<float> values(static_cast<std::size_t>((extent.end - extent.begin) / sizeof(float)));
  std::memcpy(values.data(), data.data() + extent.begin, values.size() * sizeof(float));
  return values;
}

int dimension(std::uint64_t size, std::string const& where) {
  if (size > static_cast<std::uint64_t>(kMaxUnits)) {
    throw data_error(where,
                     fmt::format("has a dimension of {}, expected at most {}", size, kMaxUnits));
  }
  return static_cast<int>(size);
}

// Turns the tensors into layers 0, 1, ... without gaps.
void build_layers(Network& network, std::vector<Extent> const& extents, std::string_view data,
                  std::string const& source) {
  std::map<std::size_t, std::pair<Extent const*, Extent const*>> parts;  // weight, bias
  for (Extent const& extent : extents) {
    std::string const where = fmt::format("{}:{}", source, escaped(extent.name, 60));
    auto const key = parse_layer_key(extent.name);
    if (!key || (key->field != "weight" && key->field != "bias")) {
      throw data_error(
          where, "unknown tensor, expected layers.K.weight and layers.K.bias with K = 0, 1, ...");
    }
    bool const is_weight = key->field == "weight";
    if (extent.shape.size() != (is_weight ? 2U : 1U)) {
      throw data_error(where, fmt::format("has {} dimensions, expected {}", extent.shape.size(),
                                          is_weight ? "[inputs, outputs]" : "[outputs]"));
    }
    (is_weight ? parts[key->layer].first : parts[key->layer].second) = &extent;
  }
  for (auto const& [k, part] : parts) {
    if (k != network.layers.size()) {
      throw data_error(source, fmt::format("has tensors of layer {}, but none of layer {}", k,
                                           network.layers.size()));
    }
    if (part.first == nullptr || part.second == nullptr) {
      throw data_error(source, fmt::format("has no tensor layers.{}.{}", k,
                                           part.first == nullptr ? "weight" : "bias"));
    }
    DenseLayer layer;
    layer.name = fmt::format("dense_{}", k);
    layer.inputs = dimension(part.first->shape[0], source);
    layer.outputs = dimension(part.first->shape[1], source);
    layer.weights = copy_floats(data, *part.first);
    layer.bias = copy_floats(data, *part.second);
    network.layers.push_back(std::move(layer));
    if (network.layers.size() > static_cast<std::size_t>(kMaxLayers)) {
      throw data_error(source, fmt::format("has more than {} layers", kMaxLayers));
    }
  }
}

std::string encode(Network const& network) {
  Json metadata = {{"format", kFormat}};
  Json header = Json::object();
  std::uint64_t at = 0;
  auto const add = [&](std::string const& name, Json shape, std::vector<float> const& values) {
    std::uint64_t const end = at + values.size() * sizeof(float);
    header[name] = {{"dtype", "F32"}, {"shape", std::move(shape)}, {"data_offsets", {at, end}}};
    at = end;
  };
  for (std::size_t k = 0; k < network.layers.size(); ++k) {
    DenseLayer const& layer = network.layers[k];
    std::string const prefix = fmt::format("layers.{}.", k);
    metadata[prefix + "activation"] = activation_name(layer.activation);
    if (layer.activation == Activation::kLeakyRelu || layer.activation == Activation::kElu) {
      metadata[prefix + "alpha"] =
          fmt::format("{}", layer.alpha);  // the shortest text that reads back equal
    }
    metadata[prefix + "name"] = layer.name;
    add(prefix + "weight", {layer.inputs, layer.outputs}, layer.weights);
    add(prefix + "bias", Json::array({layer.outputs}), layer.bias);
  }
  header["__metadata__"] = std::move(metadata);
  std::string text = header.dump();
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');

  std::uint64_t const length = text.size();
  std::string bytes(kLengthBytes, '\0');
  std::memcpy(bytes.data(), &length, kLengthBytes);
  bytes += text;
  for (DenseLayer const& layer : network.layers) {
    for (auto const* values : {&layer.weights, &layer.bias}) {
      std::size_t const before = bytes.size();
      bytes.resize(before + values->size() * sizeof(float));
      std::memcpy(bytes.data() + before, values->data(), values->size() * sizeof(float));
    }
  }
  return bytes;
}

}  // namespace

Network read_safetensors(std::string const& path) {
  return parse_safetensors(read_file(path, kMaxSafetensorsBytes), path);
}

Network parse_safetensors(std::string_view bytes, std::string const& source) {
  std::string const shown = escaped(source, 4096);
  if (bytes.size() < kLengthBytes) {
    throw data_error(shown,
                     fmt::format("is {} bytes long, expected a safetensors file of at least {}",
                                 bytes.size(), kLengthBytes));
  }
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), kLengthBytes);
  std::uint64_t const most = std::min<std::uint64_t>(bytes.size() - kLengthBytes, kMaxHeaderBytes);
  if (header_bytes > most) {
    throw data_error(shown, fmt::format("declares a header of {} bytes, expected at most {}",
                                        header_bytes, most));
  }
  std::string_view const text = bytes.substr(kLengthBytes, static_cast<std::size_t>(header_bytes));
  std::string_view const data = bytes.substr(kLengthBytes + text.size());
  std::string const where = shown + ":header";
  if (text.empty() || text[0] != '{') {
    throw data_error(where, fmt::format("starts with {}, expected '{{'", in_quotes(text, 8)));
  }
  Json const header = parse_strict_json(text, where, kMaxDepth);
  Json const* const metadata = header.find("__metadata__");
  if (metadata == nullptr || !metadata->is_object() ||
      metadata->value("format", Json()) != kFormat) {
    throw data_error(
        shown + ":__metadata__",
        fmt::format(
            "format is not '{}': not a network that Fairlane wrote; tensors alone do not say "
            "how layers connect",
            kFormat));
  }
  std::vector<Extent> extents;
  for (auto const& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    extents.push_back(
        read_extent(name, entry, data.size(), fmt::format("{}:{}", shown, escaped(name, 60))));
  }
  check_cover(extents, data.size(), shown);
  Network network;
  network.source = source;
  network.format = "Fairlane safetensors";
  build_layers(network, extents, data, shown);
  read_metadata(network, *metadata, shown);
  validate(network);
  return network;
}

void write_safetensors(Network const& network, std::string const& path) {
  validate(network);
  write_whole_file(path, encode(network));
}

}  // namespace fairlane
