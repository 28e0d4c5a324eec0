// Leaves of an ensemble in whole numbers of a small unit, whose sums do not round.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/trees/trees.h"

namespace fairlane {

/// Labels of an ensemble as sums of its leaves: label 1 where `sum` of a row, in units, is above
/// `one_above`, label 0 where it is at most `zero_up_to`; between them is what rounding may decide.
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
  std::int32_t one_above() const { return one_above_; }
  std::int32_t zero_up_to() const { return zero_up_to_; }

 private:
  bool usable_ = false;
  std::vector<std::int32_t> units_;  // [leaves]
  std::vector<std::int8_t> sign_;    // [trees]
  std::int32_t base_ = 0;
  std::int32_t one_above_ = 0;
  std::int32_t zero_up_to_ = 0;
};

}  // namespace fairlane
