// An attribute's codes, cut into as few runs as a table can tell apart.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/plausibility/distinct_rows.h"
#include "models/data/domain.h"

namespace fairlane {

/// Cells of consecutive codes: one of each code where an attribute has at most 64, else runs that
/// hold about a 32nd of the rows, codes that are as frequent alone.
class CodeCells {
 public:
  CodeCells(Domain const& domain, std::size_t attribute, DistinctRows const& rows);

  std::size_t count() const { return first_.size(); }
  /// Codes in a cell.
  std::int64_t width(std::size_t cell) const;
  /// The i-th code of a cell.
  std::int32_t code(std::size_t cell, std::int64_t i) const {
    return attribute_.code_at(first_[cell] + i);
  }
  /// Throws Error(kBug) for a code that may not occur.
  std::size_t cell_of(std::int32_t code) const;

 private:
  Attribute attribute_;
  std::vector<std::int64_t> first_;  // each cell's first code, numbered as the domain does
  bool are_alone_ = false;           // each code has a cell
};

}  // namespace fairlane
