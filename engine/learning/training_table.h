// A table as networks learn from it: encoded rows, labels, and which of them are held out.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/config/run_config.h"
#include "models/data/dataset.h"
#include "models/data/domain.h"
#include "models/model.h"

namespace fairlane {

/// Rows for learning.
/// rows     [count][attributes] codes
/// inputs   [count][columns] as the network takes them
/// labels   [count] classes
struct TrainingRows {
  int attributes = 0;
  int columns = 0;
  std::vector<std::int32_t> rows;
  std::vector<float> inputs;
  std::vector<std::int32_t> labels;

  std::size_t count() const { return labels.size(); }
  /// Appends a row with its inputs.
  void add(Domain const& domain, std::int32_t const* row, std::int32_t label);
};

/// What is learnt from, what says when to stop, what is held out.
/// domain   bounds resolved
/// classes  at least 2
/// notices  lines for people
struct TrainingTable {
  Domain domain;
  int classes = 2;
  TrainingRows train;
  TrainingRows validation;
  TrainingRows test;
  std::vector<std::string> notices;

  /// Outputs of a network for these classes: one for two of them.
  int outputs() const { return classes == 2 ? 1 : classes; }
};

/// Reads the table and the domain that a configuration names, and divides the rows at random by
/// its seed: train.test, train.validation, the rest. All rows count, whichever protected values
/// are compared. Throws Error(kNoInput | kData | kConfig) where there are no labels of at least
/// two classes, or too few rows for one of the parts.
TrainingTable read_training_table(RunConfig const& config);
/// Same, with the classes that a model decides on, which may not all occur. Throws Error(kData),
/// too, where others occur.
TrainingTable read_training_table(RunConfig const& config, Model const& model);

}  // namespace fairlane
