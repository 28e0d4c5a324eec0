// Looks again at cells.csv, for the certificate's checker.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/verify/boxes/cells.h"
#include "engine/verify/certificate.h"
#include "models/data/domain.h"

namespace fairlane {

/// boxes     of all cells
/// empty     fair cells of which no leaf may have anybody
/// problems  file:line, what
struct CheckedCells {
  std::uint64_t boxes = 0;
  std::int64_t empty = 0;
  std::vector<std::string> problems;
};

/// Holds the file against the query's cells and what the certificate says of them. Throws
/// Error(kNoInput | kData).
CheckedCells check_cells_csv(std::string const& dir, Cells const& cells, Domain const& domain,
                             std::span<CertifiedCell const> certified);

std::vector<std::string_view> cut_at_commas(std::string_view line);

}  // namespace fairlane
