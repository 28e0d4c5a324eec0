// The small table with a model that decides by its rule.
#pragma once

#include <optional>
#include <string>

#include "engine/learning/training_table.h"
#include "engine/subject/subject.h"
#include "models/safetensors.h"
#include "tests/engine/learning/small_table.h"

namespace fairlane {

/// The small table with the network skill + 2 side > 5.5, which is its rule.
class RuledTable {
 public:
  explicit RuledTable(std::string const& more = "", std::string const& constraints = "")
      : small(constraints) {
    Network rule;
    DenseLayer layer;
    layer.inputs = 4;
    layer.outputs = 1;
    layer.activation = Activation::kSigmoid;
    layer.weights = {1.0F, 0.0F, 0.0F, 2.0F};
    layer.bias = {-5.5F};
    rule.layers.push_back(layer);
    write_safetensors(rule, small.file("model.safetensors"));
    config = small.config("model: model.safetensors\nmethod: themis\nglobal: {num: 60}\n" + more);
    subject.emplace(config);
    table = read_training_table(config);
  }

  SmallTable small;
  RunConfig config;
  std::optional<TestSubject> subject;
  TrainingTable table;
};

}  // namespace fairlane
