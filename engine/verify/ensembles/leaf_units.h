// Leaves of an ensemble in whole numbers of a small unit, whose sums do not round.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/trees/trees.h"

namespace fairlane {

/// Labels of an ensemble by the sum of a row's leaves in units: 1 where it is above `one_above`, 0
/// where it is at most `zero_up_to`. Between them the rounding of units, and that of the library's
/// own sums in float32 or double, may decide; where nothing rounds, nothing is between them.
class LeafUnits {
 public:
  /// threshold  of scores, above which the label is 1; ignored where there are several
  LeafUnits(TreeEnsemble const& trees, double threshold);

  /// Whether there are two labels, and units fine enough. Nothing else is to be asked otherwise.
  bool usable() const { return usable_; }
  /// What a tree's leaf adds.
  std::int32_t of(std::size_t tree, std::size_t leaf) const {
    return sign_[tree] < 0 ? -units_[leaf] : units_[leaf];
  }
  std::int32_t base() const { return base_; }
  /// Units of a sum of 1.
  double per_unit() const { return per_unit_; }
  std::int32_t one_above() const { return one_above_; }
  std::int32_t zero_up_to() const { return zero_up_to_; }

 private:
  bool usable_ = false;
  std::vector<std::int32_t> units_;  // [leaves]
  std::vector<std::int8_t> sign_;    // [trees]
  std::int32_t base_ = 0;
  double per_unit_ = 1.0;
  std::int32_t one_above_ = 0;
  std::int32_t zero_up_to_ = 0;
};

}  // namespace fairlane
