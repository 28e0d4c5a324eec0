// The cells that a region is verified in: one verdict each.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/verify/box_domain.h"

namespace fairlane {

inline constexpr double kMostCells = 1 << 26;

/// The product of the axes' pieces and of those of the attributes under test, numbered in mixed
/// radix, the domain's last attribute fastest.
class Cells {
 public:
  /// view, domain  outlive it
  /// size  an axis or an attribute under test with more values is cut into runs of so many, the
  ///       last one shorter, as Fairify does; 0: one cell
  /// Throws Error(kUsage) for more than kMostCells.
  Cells(SubjectView const& view, BoxDomain const& domain, std::int64_t size);

  std::int64_t count() const { return count_; }

  GroupBox box(std::int64_t cell) const;
  /// Place of its variants' list, and the lists: the variants of every combination of pieces.
  std::int32_t variants(std::int64_t cell) const;
  std::vector<std::vector<int>> const& variant_lists() const { return variant_lists_; }
  /// First and last value [attributes] of a cell, in dataset order. Of attributes that take only
  /// listed combinations, the least and the greatest.
  std::vector<AxisRange> values(std::int64_t cell) const;

 private:
  /// Runs of an attribute's or an axis's values.
  /// attribute  under test: its place among those; else -1
  struct Digit {
    int selected = -1;
    std::size_t axis = 0;
    int order = 0;  // the domain's number of its first attribute
    std::vector<AxisRange> pieces;
  };
  std::int64_t digit(std::int64_t cell, std::size_t d) const {
    return cell / strides_[d] % static_cast<std::int64_t>(digits_[d].pieces.size());
  }

  SubjectView const& view_;
  BoxDomain const& domain_;
  std::vector<Digit> digits_;
  std::vector<std::int64_t> strides_;
  std::int64_t count_ = 1;
  std::vector<std::vector<int>> variant_lists_;
};

}  // namespace fairlane
