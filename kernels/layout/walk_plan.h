// How a walk over part of a domain is laid out for kernels.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/core/walk/walk.h"
#include "kernels/layout/plan.h"

namespace fairlane {

/// Attributes, in the dataset's order, that take the listed combinations of values together.
/// value [size][attributes] codes
struct ValueList {
  std::vector<int> attributes;
  std::vector<std::int32_t> values;
  std::int64_t size() const {
    return attributes.empty() ? 0 : static_cast<std::int64_t>(values.size() / attributes.size());
  }
};

/// Members of a head, unless a group alone has more: their logits stay in a core's nearest cache.
inline constexpr int kMostMembers = 256;

/// A walk over all combinations of value lists, one beside the selected attributes' own; owns what
/// Walk points to.
///
/// Groups are numbered in mixed radix over the lists, which are brought into kernel order (by their
/// last column) with ascending entries, the last one fastest; how much of them is in the tail does
/// not change the numbers.
class WalkPlan {
 public:
  /// lists        every attribute that is not selected, in exactly one of them
  /// most_members limit to the members of a head, at most kMostMembers; the variants are members in
  /// any case
  /// Throws Error(kUnavailable) for more inputs than 2^62.
  WalkPlan(PackedSubject const& subject, std::vector<ValueList> lists,
           int most_members = kMostMembers);
  WalkPlan(WalkPlan const&) = delete;
  WalkPlan& operator=(WalkPlan const&) = delete;

  Walk const& get() const { return walk_; }
  PackedSubject const& subject() const { return subject_; }
  /// All groups of the walk.
  std::int64_t groups() const { return walk_.heads * walk_.groups; }
  CountLayout counters() const { return layout_; }
  /// The lists in kernel order, and how many of them make up the heads; the others are levels of
  /// the tail.
  std::vector<ValueList> const& lists() const { return lists_; }
  std::size_t head_lists() const { return static_cast<std::size_t>(walk_.factors); }
  /// Whoever walks, a multiple of its groups per head: where walks may be parted.
  std::int64_t unit() const { return unit_; }
  /// Indices into the selected attributes of each of Walk::subset.
  std::vector<std::vector<int>> const& subsets() const { return subsets_; }
  /// row [attributes] of a group in the dataset's order, with the first variant's values.
  void row(std::int64_t group, std::int32_t* row) const;
  /// Number of the group of a row in the dataset's order, -1 where the walk does not come to it.
  std::int64_t group_of(std::int32_t const* row) const;

 private:
  void order_lists();
  void choose_tail(int most_members);
  void lay_out_tail();
  /// Appends a value to a tail's column.
  void append_level(int column, std::int32_t code);
  void lay_out_subsets();

  PackedSubject const& subject_;
  std::vector<ValueList> lists_;
  std::vector<int> last_column_;  // [lists]
  std::vector<std::vector<int>> columns_;
  std::vector<WalkFactor> factors_;
  std::vector<WalkLevel> levels_;
  std::vector<std::vector<std::int32_t>>
      factor_codes_;  // [head lists][entries][columns] as kernels have them
  std::vector<std::vector<float>> level_values_;
  std::vector<std::vector<std::int32_t>> level_codes_;
  std::vector<int> group_member_;
  std::vector<int> variant_member_;
  std::vector<std::vector<int>> subsets_;
  std::vector<std::vector<int>> subset_members_;
  std::vector<WalkSubset> subset_views_;
  std::int64_t unit_ = 1;
  CountLayout layout_;
  Walk walk_;
};

/// Selected attributes up to which their subsets are counted, and variants up to which pairs of
/// them are.
inline constexpr int kMostSubsetAttributes = 5;
inline constexpr int kMostPairVariants = 256;

}  // namespace fairlane
