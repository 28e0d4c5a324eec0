// What `fairlane init` reads out of a table: attributes, label, protected columns.
#pragma once

#include <string>
#include <vector>

#include "models/dataset.h"
#include "models/model.h"

namespace fairlane {

/// How columns of text enter the network: a code each, or one-hot as scikit-learn's OneHotEncoder writes it: all
/// categories, without the first of columns with two (drop="if_binary"), or without any column's first.
enum class TextInputs { kCodes, kOneHot, kOneHotIfBinary, kOneHotDropFirst };

/// A domain drawn from a table, and what a person should know about it.
struct DrawnDomain {
  Domain domain;
  bool has_label = false;
  bool guessed = false;                         // the protected columns were recognised by name
  std::vector<std::string> encoded;             // columns of text that became categories
  TextInputs text_inputs = TextInputs::kCodes;  // the way that gives the model's number of inputs
  std::string
      other_label;  // the last column, where with it as the label the text fits one-hot, too
  std::vector<std::string> standardised;  // columns with an affine encoding
  std::vector<std::string>
      sparse;  // attributes with few codes and gaps between them: "income: 1, 2, 4, 8"
  std::vector<std::string> protected_names;
  std::vector<std::string> tested;  // those that the configuration tests together
};

/// What the command line says of the table; names are empty where absent.
/// standardise  columns of integers enter as (code - mean) / std of the table
struct DrawOptions {
  std::string label;
  std::vector<std::string> protected_names;
  bool standardise = false;
};

/// Draws a domain from the columns.
/// Throws Error(kData) where table and model do not fit, Error(kUsage) for unknown names.
DrawnDomain draw_domain(Table const& table, Model const& model, DrawOptions const& options);

/// Whether a column's name is one of the well-known protected attributes, such as age or race.
bool is_protected_name(std::string const& name);

}  // namespace fairlane
