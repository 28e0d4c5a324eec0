// Small random subjects: a network and a domain in memory, and the same as files for whole runs.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "engine/check/double_evaluator.h"
#include "engine/config/run_config.h"
#include "kernels/backend.h"
#include "models/data/domain.h"
#include "models/data/domain_yaml.h"
#include "models/network.h"
#include "models/safetensors.h"
#include "tests/models/temporary.h"

namespace fairlane {

/// Shape of a random subject. ranges: number of values of each attribute; selected: indices,
/// ascending; flagged: attributes protected in the domain, but not under test; deviation: of the
/// weights; overflows: outputs are infinite at the first selected attribute's highest value;
/// constraints: the domain file's section of that name, empty for none; at_least: the
/// configuration's plausibility.at_least; weight: its plausibility.weight.
struct SmallShape {
  std::vector<std::int32_t> ranges = {4, 5, 3, 6, 2, 7};
  std::vector<std::int32_t> selected = {0, 4};
  std::vector<std::int32_t> flagged = {};
  std::vector<int> widths = {8, 6, 1};  // outputs of each layer
  Activation activation = Activation::kRelu;
  float deviation = 1.0F;
  bool overflows = false;
  std::uint32_t seed = 1;
  std::string constraints = {};
  double at_least = 0.0;
  double weight = 0.0;
};

/// Lower bound of an attribute: some are negative.
inline std::int32_t lowest(std::size_t attribute) {
  return static_cast<std::int32_t>(attribute) - 2;
}

/// Gives a hidden unit to the overflow alone: it is 0 below the attribute's highest value. Only for
/// shapes with ReLU. Before `scale` is set it is 0 everywhere.
inline void add_overflow(Network& network, SmallShape const& shape, float scale) {
  constexpr std::size_t kUnit = 0;
  auto const attribute = static_cast<std::size_t>(shape.selected[0]);
  auto& first = network.layers[0];
  auto& second = network.layers[1];
  auto const outputs = static_cast<std::size_t>(first.outputs);
  for (std::size_t a = 0; a < shape.ranges.size(); ++a) {
    first.weights[a * outputs + kUnit] = a == attribute ? scale : 0.0F;
  }
  auto const highest = static_cast<float>(lowest(attribute) + shape.ranges[attribute] - 1);
  first.bias[kUnit] = -scale * (highest - 0.5F);
  auto const next = static_cast<std::size_t>(second.outputs);
  for (std::size_t o = 0; o < next; ++o) second.weights[kUnit * next + o] = 0.0F;
  second.weights[kUnit * next] = scale;
}

/// A network with random weights whose mean logits over the domain are equal, so that all labels
/// are common.
inline Network random_network(SmallShape const& shape) {
  std::mt19937 random(shape.seed);
  Network network;
  network.source = "random";
  int inputs = static_cast<int>(shape.ranges.size());
  for (std::size_t l = 0; l < shape.widths.size(); ++l) {
    bool const last = l + 1 == shape.widths.size();
    DenseLayer layer;
    layer.name = "dense_" + std::to_string(l);
    layer.inputs = inputs;
    layer.outputs = shape.widths[l];
    layer.activation = !last                ? shape.activation
                       : layer.outputs == 1 ? Activation::kSigmoid
                                            : Activation::kSoftmax;
    layer.alpha = 0.3F;
    std::normal_distribution<float> weight(0.0F, shape.deviation);
    for (int i = 0; i < layer.inputs * layer.outputs; ++i) layer.weights.push_back(weight(random));
    for (int o = 0; o < layer.outputs; ++o) layer.bias.push_back(weight(random));
    inputs = layer.outputs;
    network.layers.push_back(std::move(layer));
  }
  if (shape.overflows) add_overflow(network, shape, 0.0F);
  constexpr int kSample = 200;
  std::vector<double> mean(static_cast<std::size_t>(network.outputs()));
  std::vector<double> logits;
  std::vector<double> bound;
  for (int i = 0; i < kSample; ++i) {
    std::vector<std::int32_t> row;
    for (std::size_t a = 0; a < shape.ranges.size(); ++a) {
      row.push_back(lowest(a) + static_cast<std::int32_t>(
                                    random() % static_cast<std::uint32_t>(shape.ranges[a])));
    }
    evaluate_double(network, row.data(), logits, bound);
    for (std::size_t c = 0; c < mean.size(); ++c) mean[c] += logits[c] / kSample;
  }
  for (std::size_t c = 0; c < mean.size(); ++c)
    network.layers.back().bias[c] -= static_cast<float>(mean[c]);
  constexpr float kHuge = 1e20F;  // its square is beyond float32
  if (shape.overflows) add_overflow(network, shape, kHuge);
  return network;
}

/// A subject in memory; `view` points into it.
class SmallSubject {
 public:
  explicit SmallSubject(SmallShape const& shape)
      : network(random_network(shape)), layers_(network.views()) {
    for (std::size_t a = 0; a < shape.ranges.size(); ++a) {
      low_.push_back(lowest(a));
      high_.push_back(low_.back() + shape.ranges[a] - 1);
      flagged_.push_back(0);
    }
    selected_ = shape.selected;
    for (std::int32_t const a : shape.flagged) flagged_[static_cast<std::size_t>(a)] = 1;
    for (std::int32_t const s : selected_) {
      auto const a = static_cast<std::size_t>(s);
      flagged_[a] = 1;
      values_.emplace_back();
      for (std::int32_t v = low_[a]; v <= high_[a]; ++v) values_.back().push_back(v);
    }
    for (auto const& values : values_) spans_.emplace_back(values);
    view = {layers_, low_, high_, flagged_, selected_, spans_, 0.0F};
  }
  SmallSubject(SmallSubject const&) = delete;
  SmallSubject& operator=(SmallSubject const&) = delete;

  std::vector<std::int32_t> random_row(std::mt19937& random) const {
    std::vector<std::int32_t> row;
    for (std::size_t a = 0; a < low_.size(); ++a) {
      row.push_back(std::uniform_int_distribution<std::int32_t>(low_[a], high_[a])(random));
    }
    return row;
  }

  Network network;
  SubjectView view;

 private:
  std::vector<LayerView> layers_;
  std::vector<std::int32_t> low_;
  std::vector<std::int32_t> high_;
  std::vector<std::uint8_t> flagged_;
  std::vector<std::int32_t> selected_;
  std::vector<std::vector<std::int32_t>> values_;
  std::vector<std::span<std::int32_t const>> spans_;
};

/// The same as files: a model, a domain and a table of `rows` random rows.
inline RunConfig small_config(TemporaryFolder const& folder, SmallShape const& shape,
                              int rows = 60) {
  SmallSubject const subject(shape);
  RunConfig config;
  config.source = "small.yaml";
  config.model = folder.file("model.safetensors");
  config.domain = folder.file("domain.yaml");
  config.data = folder.file("data.csv");
  config.output.dir = folder.file("out");
  write_safetensors(subject.network, config.model);
  Domain domain;
  domain.name = "small";
  std::string table;
  for (std::size_t a = 0; a < shape.ranges.size(); ++a) {
    Attribute attribute;
    attribute.name = "a" + std::to_string(a);
    attribute.low = subject.view.low[a];
    attribute.high = subject.view.high[a];
    attribute.is_protected = subject.view.flagged[a] != 0;
    table += attribute.name + ",";
    domain.attributes.push_back(attribute);
  }
  table += "label\n";
  std::mt19937 random(shape.seed + 1);
  for (int i = 0; i < rows; ++i) {
    for (std::int32_t const value : subject.random_row(random))
      table += std::to_string(value) + ",";
    table += std::to_string(i % 2) + "\n";
  }
  folder.write("domain.yaml", format_domain_yaml(domain) + shape.constraints);
  folder.write("data.csv", table);
  for (std::int32_t const s : shape.selected)
    config.protected_attributes.push_back({"a" + std::to_string(s), {}});
  config.global.num = 40;
  config.local.num = 30;
  config.plausibility.at_least = shape.at_least;
  config.plausibility.weight = shape.weight;
  return config;
}

}  // namespace fairlane
