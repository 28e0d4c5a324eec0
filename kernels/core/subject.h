// The subject of a run as a kernel sees it: packed network, permuted columns, protected
// combinations.
//
// Columns are in kernel order: unflagged attributes first, flagged or selected ones last, each part
// in dataset order (numerical contract, rule 3). Variant v of an input has the v-th combination of
// the selected attributes' values in product order, the last attribute fastest.
#pragma once

#include "kernels/core/constraints.h"
#include "kernels/core/encoding.h"
#include "kernels/core/mlp.h"

namespace fairlane {

/// The first layer's weights, an input's side by side, where columns may enter it by rows
/// (kernels/core/first_layer.h).
/// weights  [inputs + 2][stride] of every input, then zeros, then the biases; behind the units
///          zeros; null: none do
/// terms    what an input of all columns adds up so: one for each one-hot column, and the other
///          columns' inputs
struct RowWeights {
  float const* weights = nullptr;
  long stride = 0;
  int terms = 0;
};
inline constexpr int kRowFloats = 16;  // of which rows hold a multiple: the widest pack

/// A term of a rule (kernels/core/constraints.h) by columns and codes as kernels have them.
/// selected  which of the selected columns it is, -1: none
/// from, to  codes that the column may have, but for kWithin
/// table     where its table begins in Feasibility::table
struct FeasibilityTerm {
  std::int32_t column = 0;
  std::int32_t selected = -1;
  TermKind kind = TermKind::kCode;
  std::int32_t factor = 0;
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int32_t table = 0;
};

/// The sum of terms [first, first + terms) is at most `bound`, and in the set that begins there in
/// Feasibility::table, if that is not -1.
struct FeasibilityRule {
  std::int32_t first = 0;
  std::int32_t terms = 0;
  std::int32_t bound = 0;
  std::int32_t set = -1;
};

inline constexpr int kSetWordBits = 32;  // of a set's words

/// What an input must satisfy to exist, and what a finding must satisfy beside. Without a rule,
/// every input does.
/// finding_rules  at most one, without a set
/// slack  where its finding_slack begins in `table`, -1: it has none
/// rule   [rules + finding_rules]
/// term   [terms]
/// table  [words] the bits of a word, one each, then all tables and sets
struct Feasibility {
  int rules = 0;
  int finding_rules = 0;
  int terms = 0;
  int words = 0;
  int slack = -1;
  FeasibilityRule const* rule = nullptr;
  FeasibilityTerm const* term = nullptr;
  std::int32_t const* table = nullptr;
};

/// columns         number of attributes
/// prefix          columns before the first selected one; their part of the first layer is shared
///                 by all variants
/// inputs          the network's inputs, those of every column side by side: one each where
///                 `encoding` is null
/// input_prefix    inputs of the columns before the first selected one
/// encoding        [columns]; null: every column is an input as it is
/// rows            what the first layer's sums take from one-hot columns
/// variants        number of protected combinations
/// selected        number of selected attributes
/// selected_column [selected] their columns
/// selected_inputs inputs of the selected columns
/// selected_input  [selected_inputs] which ones
/// variant_value   [variants][selected_inputs] their values
/// variant_code    [variants][selected] codes
/// low, high       [columns] bounds; of the places in its list where a column has a list of codes
/// movable         [movable_count] columns a search may change, ascending
/// threshold       one output: label 1 when score > threshold
/// scores          what the model gives: logits, as networks do, and all that is said of logits
///                 below holds for them
/// tries_partners  partners are drawn by trial, since the labels of a group would not be kept
///                 anyway
/// finite          no output of any input of the domain can overflow, and every input may exist and
///                 be a finding: no label is undefined
/// label_bits      bits per label in packed labels; 0 when variants * bits exceed kPackedLabelBits
///                 or labels may be undefined
/// variant_order   [variants] the order in which classify_some() tries variants, most separating
///                 first
/// feasible        what excludes inputs; asked by Feasible (kernels/core/feasibility.h)
struct Subject {
  PackedNetwork network;
  int columns = 0;
  int prefix = 0;
  int inputs = 0;
  int input_prefix = 0;
  ColumnEncoding const* encoding = nullptr;
  RowWeights rows;
  int variants = 0;
  int selected = 0;
  int const* selected_column = nullptr;
  int selected_inputs = 0;
  int const* selected_input = nullptr;
  float const* variant_value = nullptr;
  std::int32_t const* variant_code = nullptr;
  std::int32_t const* low = nullptr;
  std::int32_t const* high = nullptr;
  int movable_count = 0;
  int const* movable = nullptr;
  float threshold = 0.0F;
  ScoreKind scores = ScoreKind::kLogits;
  bool tries_partners = false;
  bool finite = false;
  int label_bits = 0;
  int const* variant_order = nullptr;
  Feasibility feasible;

  /// First input of a column; of `columns`, the number of inputs.
  FL_HD int input_of(int column) const {
    if (encoding == nullptr) return column;
    return column < columns ? encoding[column].first : inputs;
  }
};

}  // namespace fairlane
