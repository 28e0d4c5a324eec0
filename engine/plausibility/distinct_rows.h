// A table's rows, equal ones once.
#pragma once

#include <cstdint>
#include <vector>

#include "models/data/dataset.h"

namespace fairlane {

/// Rows of a table in lexicographic order, whatever their order in the table.
/// rows    [count][attributes] codes, ascending, no two the same
/// counts  [count] how often the table has each
struct DistinctRows {
  std::size_t attributes = 0;
  std::vector<std::int32_t> rows;
  std::vector<std::int64_t> counts;

  std::size_t count() const { return counts.size(); }
  std::int32_t const* row(std::size_t i) const { return rows.data() + i * attributes; }
};
DistinctRows distinct_rows(Dataset const& table);
/// The same of a table that tells how plausible people are. Throws Error(kData) where it has no
/// rows.
DistinctRows rows_to_compare_with(Dataset const& table);

}  // namespace fairlane
