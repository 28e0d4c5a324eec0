// What `fairlane init` reads out of a table: attributes, label, and the ways in which the columns
// may become a model's inputs.
#pragma once

#include <string>
#include <vector>

#include "models/data/csv.h"
#include "models/model.h"

namespace fairlane {

/// How columns of text enter the network: a code each, or one-hot as scikit-learn's OneHotEncoder
/// writes it: all categories, without the first of columns with two (drop="if_binary"), or without
/// any column's first.
enum class TextInputs { kCodes, kOneHot, kOneHotIfBinary, kOneHotDropFirst };

/// A way in which a table's columns may become a model's inputs. All ways of a table give a column
/// the same codes.
/// text  "numbers standardised, text one-hot behind them", for people
struct InputWay {
  Domain domain;
  std::string text;
};

/// What is known of a table and a model without asking the model.
struct DrawnDomain {
  std::vector<InputWay> ways;  // at least one; where nothing speaks for another, the first is taken
  bool has_label = false;
  std::string guessed_label;          // for messages, where the label may be none: why it was taken
  bool named = false;                 // the model's file names its inputs
  std::string unnamed;                // why names that it has were not of use
  std::vector<std::string> left_out;  // columns that the model does not name
  std::vector<std::string> encoded;   // columns of text that became categories
  TextInputs text_inputs = TextInputs::kCodes;  // the way that gives the model's number of inputs
  std::string
      other_label;  // the last column, where with it as the label the text fits one-hot, too
  std::vector<std::string>
      sparse;  // attributes with few codes and gaps between them: "income: 1, 2, 4, 8"
};

/// What the command line says of the table; names are empty where absent.
/// drop         columns that are no attributes
/// standardise  columns of integers enter as (code - mean) / std of the table
struct DrawOptions {
  std::string label;
  std::vector<std::string> drop;
  bool standardise = false;
};

/// Draws a domain from the columns. inputs: names that the model's file has, or nothing.
/// Throws Error(kData) where table and model do not fit, Error(kUsage) for unknown names.
DrawnDomain draw_domain(Table const& table, Model const& model, DrawOptions const& options);

/// Columns that may be attributes: those with a name (an index column has none) that are not
/// dropped. Throws Error(kUsage) for a dropped column that there is not.
std::vector<TableColumn const*> kept_columns(Table const& table,
                                             std::vector<std::string> const& drop);

}  // namespace fairlane
