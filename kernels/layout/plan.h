// How a subject is laid out for the kernels: column order, packed weights, keys, and the route a
// device takes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/core/subject.h"
#include "kernels/core/views.h"
#include "kernels/layout/packed_constraints.h"

namespace fairlane {

/// Mixed-radix keys of groups. A column contributes (x - low) * stride to its word, x as the
/// kernels have it; a word never exceeds 64 bits.
/// words    number of 64-bit words (1 for domains up to kNarrowKeyBits)
/// word     [columns] which word a column belongs to, -1 for selected columns
/// stride   [columns]
struct KeyLayout {
  int words = 1;
  std::vector<int> word;
  std::vector<std::uint64_t> stride;
  double groups = 1.0;              // number of groups; exact below 2^53
  std::uint64_t narrow_groups = 0;  // number of groups when words == 1
};

/// The subject in kernel column order with packed weights; owns what Subject points to.
class PackedSubject {
 public:
  /// tile_outputs   widest register tile of outputs that the kernels have
  /// tile_multiple  as in best_tile
  /// Throws Error(kUnavailable) for more than kMaxOutputs outputs or kMaxVariants combinations.
  PackedSubject(SubjectView const& view, int tile_outputs, int tile_multiple = 1);
  PackedSubject(PackedSubject const&) = delete;
  PackedSubject& operator=(PackedSubject const&) = delete;

  Subject const& get() const { return subject_; }
  bool is_network() const { return subject_.network.layers > 0; }
  /// Whether constraints exclude inputs, if only from the findings.
  bool is_constrained() const {
    return subject_.feasible.rules + subject_.feasible.finding_rules > 0;
  }
  /// Whether constraints let a row in dataset order exist, and whether they let it be a finding.
  bool exists(std::int32_t const* row) const;
  bool may_be_finding(std::int32_t const* row) const;
  /// Whether no output can overflow: a member is undefined only where constraints exclude it.
  bool outputs_are_finite() const { return outputs_are_finite_; }
  KeyLayout const& keys() const { return keys_; }
  /// [attributes] kernel column of each dataset attribute, and the inverse.
  std::vector<int> const& column_of() const { return column_of_; }
  std::vector<int> const& attribute_of() const { return attribute_of_; }
  /// What kernels have of a code in a column: the code, or its place in the column's list, 0 where
  /// it is not listed; and the code again.
  std::int32_t place_of(int column, std::int32_t code) const {
    auto const& list = lists_[static_cast<std::size_t>(column)];
    return list.empty() ? code : place_in(list, code);
  }
  std::int32_t code_at(int column, std::int32_t place) const {
    auto const& list = lists_[static_cast<std::size_t>(column)];
    return list.empty() ? place : list[static_cast<std::size_t>(place)];
  }
  /// The list of a column, empty where it takes all codes from low to high.
  std::vector<std::int32_t> const& codes_of(int column) const {
    return lists_[static_cast<std::size_t>(column)];
  }
  static std::int32_t place_in(std::vector<std::int32_t> const& list, std::int32_t code);
  /// [variants][selected] codes, and what kernels have of them.
  std::int32_t variant_value(int variant, int selected) const {
    return code_at(subject_.selected_column[selected], variant_place(variant, selected));
  }
  std::int32_t variant_place(int variant, int selected) const {
    return subject_.variant_code[static_cast<std::int64_t>(variant) * subject_.selected + selected];
  }
  /// The columns that make up a group's key, ascending: all that are not selected.
  std::vector<int> const& group_columns() const { return group_columns_; }
  /// [columns] where a column's inputs begin in the model's.
  std::vector<int> const& model_input() const { return model_input_; }
  /// The model's inputs [inputs], in its order, of a row in dataset order.
  void encode(std::int32_t const* row, float* inputs) const;
  /// Appends the inputs of a column for a code as kernels have it.
  void append_inputs(int column, std::int32_t place, std::vector<float>& inputs) const;
  /// Number of compared values of a selected attribute.
  int selected_values(int selected) const {
    return static_cast<int>(values_[static_cast<std::size_t>(selected)].size());
  }
  /// Variant of a row in dataset order, or -1 when a selected value is not compared.
  int variant_of(std::int32_t const* row) const;
  /// Gives a row in dataset order the selected values of a variant.
  void set_variant(int variant, std::int32_t* row) const;
  /// key [keys().words] of the group of a row in dataset order.
  void group_key(std::int32_t const* row, std::uint64_t* key) const;
  /// Changes the order in which classify_some tries variants.
  void set_variant_order(std::vector<int> order);
  /// Multiply-adds of one forward pass, and of the part that all variants of a group share.
  std::int64_t forward_macs() const { return forward_macs_; }
  std::int64_t shared_macs() const { return shared_macs_; }

 private:
  void order_columns(SubjectView const& view);
  void pack_constraints(SubjectView const& view);
  /// Codes as kernels have them [columns] of a row in dataset order.
  std::vector<std::int32_t> places_of(std::int32_t const* row) const;
  void encode_columns(SubjectView const& view);
  /// What the first layer's sums gain from each step of a column; see ColumnEncoding.
  float const* rises_of(ColumnEncoding const& encoding, LayerView const& layer, int first_input);
  /// First layer's weights [columns][outputs] by codes instead of inputs; zero for columns that
  /// step, which get their rises.
  std::vector<float> slopes(SubjectView const& view, LayerView const& layer);
  /// The first layer as RowWeights has it, where a column is one-hot.
  void pack_rows(LayerView const& layer);
  void pack_network(SubjectView const& view, int tile_outputs, int tile_multiple);
  void list_variants(SubjectView const& view);
  bool outputs_stay_finite(SubjectView const& view) const;
  void lay_out_keys();
  float* keep(std::int64_t count);

  Subject subject_;
  KeyLayout keys_;
  std::vector<int> column_of_;
  std::vector<int> attribute_of_;
  std::vector<int> selected_column_;
  std::vector<int> selected_input_;
  std::vector<int> group_columns_;
  std::vector<int> movable_;
  std::vector<std::vector<std::int32_t>>
      lists_;  // [columns] codes, empty where they are all of low..high
  std::vector<ColumnEncoding>
      encodings_;  // [columns], empty where every column is an input as it is
  std::vector<int> model_input_;
  std::vector<int> source_input_;  // [inputs] number of a kernel's input in the network
  std::vector<std::int32_t> low_;
  std::vector<std::int32_t> high_;
  std::vector<float> variant_value_;
  std::vector<std::int32_t> variant_code_;
  std::vector<int> variant_order_;
  std::vector<std::vector<std::int32_t>> values_;  // [selected] compared values
  std::vector<int> selected_attribute_;
  std::vector<PackedLayer> layers_;
  PackedConstraints constraints_;
  bool outputs_are_finite_ = false;
  std::vector<std::unique_ptr<float[]>> storage_;
  std::int64_t forward_macs_ = 0;
  std::int64_t shared_macs_ = 0;
};

inline constexpr int kNarrowKeyBits = 60;  // one word, beside the flags of a table slot
inline constexpr int kMaxVariants = 1 << 20;

/// Register tile (outputs) with the least estimated time for a layer of that many outputs.
/// multiple  of which a tile is that does not hold all outputs, so that every tile's weights lie
///           where a pack that loads so many at once (kWeightVector) can read them
int best_tile(int outputs, int widest, int multiple = 1);

}  // namespace fairlane
