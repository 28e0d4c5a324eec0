// Subjects whose attributes are encoded in many ways, and their twins with plain codes 0, 1, ...,
// which decide everything the same way to the bit: the first layer's weights have few bits, so that
// its sums are exact however they are made.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "engine/config/run_config.h"
#include "models/data/domain.h"
#include "models/data/domain_yaml.h"
#include "models/network.h"
#include "models/safetensors.h"
#include "tests/engine/search/small_subject.h"
#include "tests/models/temporary.h"

namespace fairlane {

/// How an attribute enters the network.
enum class Way {
  kPlain,
  kList,     // codes -3, -1, 1, ...
  kAffine,   // codes 5, 6, ..., standardised
  kOneHot,   // of all codes
  kDropped,  // of all codes but the lowest
  kTable,    // codes 1, 2, 5, 10, ..., one column
  kColumns,  // two columns
};

/// immutable: attributes that no search changes
struct TwinShape {
  std::vector<int> ranges = {4, 5, 3, 6, 2, 7};
  std::vector<Way> ways = {Way::kOneHot, Way::kAffine,  Way::kTable,
                           Way::kList,   Way::kDropped, Way::kColumns};
  std::vector<std::int32_t> selected = {0, 4};
  std::vector<std::int32_t> flagged = {2};
  std::vector<std::int32_t> immutable = {};
  std::vector<int> widths = {8, 6, 1};
  Activation activation = Activation::kRelu;
  std::uint32_t seed = 1;
};

inline bool is_listed(Way way) { return way == Way::kList || way == Way::kTable; }
/// Whether a step to the next code is the unit of change: its twin takes such steps where it has a
/// list.
inline bool takes_steps(Way way) { return way != Way::kPlain && way != Way::kAffine; }

/// The i-th code of an attribute.
inline std::int32_t code_of(Way way, std::int32_t i) {
  switch (way) {
    case Way::kList:
      return 2 * i - 3;
    case Way::kAffine:
      return i + 5;
    case Way::kTable:
      return i * i + 1;
    case Way::kOneHot:
    case Way::kDropped:
      return i + 1;
    case Way::kColumns:
      return i - 2;
    default:
      return i;
  }
}

/// A network whose first layer has weights of few bits, for codes 0, 1, ...
inline Network dyadic_network(TwinShape const& shape) {
  SmallShape small;
  small.ranges.assign(shape.ranges.begin(), shape.ranges.end());
  small.selected = shape.selected;
  small.widths = shape.widths;
  small.activation = shape.activation;
  small.seed = shape.seed;
  Network network = random_network(small);
  auto& first = network.layers.front();
  constexpr float kGrain = 16.0F;
  auto const coarse = [](float x) { return std::round(x * kGrain) / kGrain; };
  // random_network's codes begin at lowest(a): moved into the bias.
  for (std::size_t o = 0; o < first.bias.size(); ++o) {
    float bias = coarse(first.bias[o]);
    for (std::size_t a = 0; a < shape.ranges.size(); ++a) {
      float& w = first.weights[a * first.bias.size() + o];
      w = coarse(w);
      bias += w * static_cast<float>(lowest(a));
    }
    first.bias[o] = bias;
  }
  return network;
}

/// Replaces the rows of a first layer by the encoded attributes'.
inline void encode_first_layer(TwinShape const& shape, DenseLayer& layer) {
  auto const units = layer.bias.size();
  std::vector<float> rows;
  for (std::size_t a = 0; a < shape.ranges.size(); ++a) {
    std::vector<float> const w(
        layer.weights.begin() + static_cast<std::ptrdiff_t>(a * units),
        layer.weights.begin() + static_cast<std::ptrdiff_t>((a + 1) * units));
    auto const add_row = [&](float factor) {
      for (float const x : w) rows.push_back(factor * x);
    };
    auto const add_bias = [&](float factor) {
      for (std::size_t o = 0; o < units; ++o) layer.bias[o] += factor * w[o];
    };
    switch (shape.ways[a]) {
      case Way::kPlain:
        add_row(1.0F);
        break;
      case Way::kList:  // i = (code + 3) / 2
        add_row(0.5F);
        add_bias(1.5F);
        break;
      case Way::kAffine:  // x = (code - 7) / 4, i = 4 x + 2
        add_row(4.0F);
        add_bias(2.0F);
        break;
      case Way::kOneHot:
      case Way::kDropped:
        for (int i = shape.ways[a] == Way::kDropped ? 1 : 0; i < shape.ranges[a]; ++i)
          add_row(static_cast<float>(i));
        break;
      case Way::kTable:  // x = i / 4
        add_row(4.0F);
        break;
      case Way::kColumns:  // x = (i mod 2, i - i mod 2)
        add_row(1.0F);
        add_row(1.0F);
        break;
    }
  }
  layer.weights = rows;
  layer.inputs = static_cast<int>(rows.size() / units);
}

inline Attribute encoded_attribute(Way way, int range) {
  Attribute attribute;
  for (std::int32_t i = 0; i < range; ++i) attribute.values.push_back(code_of(way, i));
  attribute.low = attribute.values.front();
  attribute.high = attribute.values.back();
  if (!is_listed(way)) attribute.values.clear();
  Encoding& encoding = attribute.encoding;
  if (way == Way::kAffine) {
    encoding.kind = EncodingKind::kAffine;
    encoding.mean = 7.0;
    encoding.std = 4.0;
  }
  if (way == Way::kOneHot || way == Way::kDropped) encoding.kind = EncodingKind::kOneHot;
  encoding.drop_first = way == Way::kDropped;
  if (way == Way::kTable || way == Way::kColumns) {
    encoding.kind = EncodingKind::kTable;
    for (int i = 0; i < range; ++i) {
      auto const x = static_cast<float>(i);
      auto const odd = static_cast<float>(i % 2);
      encoding.rows.push_back(way == Way::kTable ? std::vector<float>{x / 4.0F}
                                                 : std::vector<float>{odd, x - odd});
    }
  }
  return attribute;
}

/// Whether a subject is the encoded one or its twin with plain codes; those of the third kind step
/// from code to code where the encoded one does, as lists make them: for differences, which are of
/// steps there.
enum class Which { kEncoded, kTwin, kSteppingTwin };

/// A subject as files in `folder`. The table has the same rows, by the places of their codes.
inline RunConfig twin_config(TemporaryFolder const& folder, TwinShape const& shape, Which which,
                             int rows = 50) {
  bool const encoded = which == Which::kEncoded;
  Network network = dyadic_network(shape);
  if (encoded) encode_first_layer(shape, network.layers.front());
  RunConfig config;
  config.source = "twin.yaml";
  config.model = folder.file("model.safetensors");
  config.domain = folder.file("domain.yaml");
  config.data = folder.file("data.csv");
  config.output.dir = folder.file("out");
  write_safetensors(network, config.model);
  Domain domain;
  domain.name = "twin";
  std::string table;
  for (std::size_t a = 0; a < shape.ranges.size(); ++a) {
    auto const number = static_cast<std::int32_t>(a);
    Attribute attribute = encoded_attribute(encoded ? shape.ways[a] : Way::kPlain, shape.ranges[a]);
    if (which == Which::kSteppingTwin && takes_steps(shape.ways[a])) {
      for (std::int32_t i = 0; i < shape.ranges[a]; ++i) attribute.values.push_back(i);
    }
    auto const has = [&](std::vector<std::int32_t> const& list) {
      return std::find(list.begin(), list.end(), number) != list.end();
    };
    attribute.name = "a" + std::to_string(a);
    attribute.is_protected = has(shape.selected) || has(shape.flagged);
    attribute.immutable = has(shape.immutable);
    table += attribute.name + ",";
    domain.attributes.push_back(attribute);
    if (has(shape.selected)) config.protected_attributes.push_back({attribute.name, {}});
  }
  table += "label\n";
  std::mt19937 random(shape.seed + 1);
  for (int r = 0; r < rows; ++r) {
    for (std::size_t a = 0; a < shape.ranges.size(); ++a) {
      auto const i = static_cast<std::int32_t>(random() % static_cast<unsigned>(shape.ranges[a]));
      table += std::to_string(encoded ? code_of(shape.ways[a], i) : i) + ",";
    }
    table += std::to_string(r % 2) + "\n";
  }
  folder.write("domain.yaml", format_domain_yaml(domain));
  folder.write("data.csv", table);
  config.global.num = rows;
  config.global.seeding = "all";  // clusters are of codes, which differ
  config.local.num = 30;
  return config;
}

}  // namespace fairlane
