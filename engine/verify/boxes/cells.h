// The cells that a region is verified in: one verdict each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/verify/boxes/box_domain.h"
#include "models/data/dataset.h"

namespace fairlane {

inline constexpr double kMostCells = 1 << 26;

/// Reads boxes from a CSV file: columns NAME_low and NAME_high of every attribute of a domain, as
/// in cells.csv; others are ignored. Rows of the result: [boxes][2 * attributes], low and high.
/// Throws Error(kNoInput | kData) with file:line:column.
Dataset read_cell_bounds(std::string const& path, Domain const& domain);

/// The product of the axes' pieces and of those of the attributes under test, numbered in mixed
/// radix, the domain's last attribute fastest; or listed boxes.
class Cells {
 public:
  /// view, domain  outlive it
  /// size  an axis or an attribute under test with more values is cut into runs of so many, the
  ///       last one shorter, as Fairify does; 0: one cell
  /// Throws Error(kUsage) for more than kMostCells.
  Cells(SubjectView const& view, BoxDomain const& domain, std::int64_t size);
  /// bounds  of boxes of values; of each, the part that lies in the region
  /// named   has the attributes' names, for messages
  /// Throws Error(kData) with file:line for one without any group; kUsage where attributes take
  /// only listed combinations, of which a box is no run.
  Cells(SubjectView const& view, BoxDomain const& domain, Dataset const& bounds,
        Domain const& named);

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
  struct Listed {
    GroupBox box;
    std::int32_t variants = 0;
    std::vector<AxisRange> values;
  };
  Listed listed(Dataset const& bounds, Domain const& named, std::int64_t row);
  std::int64_t digit(std::int64_t cell, std::size_t d) const {
    return cell / strides_[d] % static_cast<std::int64_t>(digits_[d].pieces.size());
  }

  SubjectView const& view_;
  BoxDomain const& domain_;
  std::vector<Digit> digits_;
  std::vector<std::int64_t> strides_;
  std::int64_t count_ = 1;
  std::vector<std::vector<int>> variant_lists_;
  std::vector<Listed> listed_;  // instead of digits
};

}  // namespace fairlane
