// Which column of a table each input of a model is, where the model's file names its inputs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/data/csv.h"

namespace fairlane {

/// Inputs side by side that come from one column of a table.
/// categories  of a one-hot column in the order of the inputs; empty: the column is one input
struct NamedInput {
  TableColumn const* column = nullptr;
  std::vector<std::string> categories = {};
};

/// The columns of a table in the order of a model's named inputs. An input is named as its column,
/// as its column and a category (job_clerk, job=clerk), or either behind a step of scikit-learn
/// (encode__job_clerk); characters that LightGBM replaces by _ may differ.
/// problem: out, why nothing was returned although some of the names are known; else empty
std::optional<std::vector<NamedInput>> match_inputs(std::vector<std::string> const& inputs,
                                                    std::vector<TableColumn const*> const& columns,
                                                    std::string& problem);

/// The attribute of a one-hot column, with the encoding that gives the inputs in their order.
Attribute one_hot_attribute(NamedInput const& input);

}  // namespace fairlane
