// How a subject is laid out for the kernels: column order, packed weights, keys, and the route a device takes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/core/subject.h"
#include "kernels/core/views.h"

namespace fairlane {

/// Mixed-radix keys of groups. A column contributes (x - low) * stride to its word; a word never exceeds 64 bits.
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
  KeyLayout const& keys() const { return keys_; }
  /// [attributes] kernel column of each dataset attribute, and the inverse.
  std::vector<int> const& column_of() const { return column_of_; }
  std::vector<int> const& attribute_of() const { return attribute_of_; }
  /// [variants][selected] values.
  std::int32_t variant_value(int variant, int selected) const {
    return static_cast<std::int32_t>(
        subject_.variant_value[static_cast<std::int64_t>(variant) * subject_.selected + selected]);
  }
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
  void pack_network(SubjectView const& view, int tile_outputs, int tile_multiple);
  void list_variants(SubjectView const& view);
  bool outputs_stay_finite(SubjectView const& view) const;
  void lay_out_keys();

  Subject subject_;
  KeyLayout keys_;
  std::vector<int> column_of_;
  std::vector<int> attribute_of_;
  std::vector<int> selected_column_;
  std::vector<int> movable_;
  std::vector<std::int32_t> low_;
  std::vector<std::int32_t> high_;
  std::vector<float> variant_value_;
  std::vector<int> variant_order_;
  std::vector<std::vector<std::int32_t>> values_;  // [selected] compared values
  std::vector<int> selected_attribute_;
  std::vector<PackedLayer> layers_;
  std::vector<std::unique_ptr<float[]>> storage_;
  std::int64_t forward_macs_ = 0;
  std::int64_t shared_macs_ = 0;
};

inline constexpr int kNarrowKeyBits = 60;  // one word, beside the flags of a table slot
inline constexpr int kMaxVariants = 1 << 20;

/// Register tile (outputs) with the least estimated time for a layer of that many outputs.
/// multiple  of which a tile is that does not hold all outputs, so that every tile's weights lie where a pack that loads
///           so many at once (kWeightVector) can read them
int best_tile(int outputs, int widest, int multiple = 1);

}  // namespace fairlane
