// Leaves of an ensemble in whole numbers of a small unit, whose sums do not round.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/trees/trees.h"

namespace fairlane {

/// Labels of an ensemble by the sums of a row's leaves in units. The rounding of units, and that of
/// the library's own sums in float32 or double, may decide between sums that are nearly the same;
/// where nothing rounds, there are none of those.
///
/// Of two labels there is one sum: the label is 1 where it is above `one_above`, 0 where it is at
/// most `zero_up_to`. Of more it is the class with the greatest sum, which is certain where that
/// leads by `lead`; where nothing rounds that is 0, and of equal sums the first is the greatest.
class LeafUnits {
 public:
  /// threshold  of scores, above which the label is 1; ignored where there are several
  LeafUnits(TreeEnsemble const& trees, double threshold);

  /// Whether there are units that are fine enough. Nothing else is to be asked otherwise.
  bool usable() const { return sums_ > 0; }
  /// 1, or one of each class.
  int sums() const { return sums_; }
  bool adds_to(std::size_t tree, int sum) const {
    return sum >= first_sum_[tree] && sum - first_sum_[tree] < width_;
  }
  /// What a tree's leaf adds to a sum.
  std::int32_t of(std::size_t tree, std::size_t leaf, int sum = 0) const {
    if (!adds_to(tree, sum)) return 0;
    auto const i = static_cast<std::size_t>(sum - first_sum_[tree]);
    return sign_[tree] * units_[leaf * static_cast<std::size_t>(width_) + i];
  }
  std::int32_t base(int sum = 0) const { return base_[static_cast<std::size_t>(sum)]; }
  /// Units of a sum of 1.
  double per_unit() const { return per_unit_; }
  std::int32_t one_above() const { return one_above_; }
  std::int32_t zero_up_to() const { return zero_up_to_; }
  std::int32_t lead() const { return lead_; }

 private:
  int sums_ = 0;
  int width_ = 1;                    // sums that a leaf adds to
  std::vector<std::int32_t> units_;  // [leaves][width]
  std::vector<int> first_sum_;       // [trees]
  std::vector<std::int32_t> sign_;   // [trees]
  std::vector<std::int32_t> base_;   // [sums]
  double per_unit_ = 1.0;
  std::int32_t one_above_ = 0;
  std::int32_t zero_up_to_ = 0;
  std::int32_t lead_ = 0;
};

}  // namespace fairlane
