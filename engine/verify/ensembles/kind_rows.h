// The kinds of groups of a box one after the other, in rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/verify/ensembles/box_kinds.h"

namespace fairlane {

/// Kinds are numbered by some axes, of which the last changes first; a row has all kinds of the
/// last few of them. One thread's.
class KindRows {
 public:
  /// The first row. kinds: outlives it; order: its axes of more than one kind, others are left out
  void begin(BoxKinds const& kinds, std::span<std::size_t const> order);
  void next();
  /// Kinds of a row, the same for each.
  std::size_t size() const { return groups_in_row_.size(); }
  /// Groups of the i-th kind of the row.
  double groups(std::size_t i) const { return groups_ * groups_in_row_[i]; }
  /// Entries of one of them. [axes]
  std::span<std::int32_t const> entries(std::size_t i);
  /// Entries of any kind, by its number; rows have to begin anew after it. [axes]
  std::span<std::int32_t const> entries_of(std::size_t kind);
  /// Of `order` the first axis in whose kind the i-th of a row is not as the one before; 0 for the
  /// first.
  std::size_t first_changed(std::size_t i) const { return changed_[i]; }

 private:
  BoxKinds::Axis const& axis(std::size_t i) const { return kinds_->axes()[order_[i]]; }

  BoxKinds const* kinds_ = nullptr;
  std::vector<std::size_t> order_;
  std::size_t outer_ = 0;                     // axes that a row has one kind of
  std::vector<std::size_t> place_;            // [outer] of the row
  double groups_ = 1.0;                       // by those of all axes but the row's own
  std::vector<std::int32_t> entries_;         // [axes]
  std::vector<double> groups_in_row_;         // [row] by the row's own axes
  std::vector<std::int32_t> entries_in_row_;  // [row][row's own axes]
  std::vector<std::size_t> changed_;          // [row]
};

}  // namespace fairlane
