// Rows of a dataset as kernels take them.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/layout/plan.h"

namespace fairlane {

/// Rows with the places of their codes where a column has a list of codes.
/// places   [n][attributes] in dataset order
/// variant  [n] protected combination
struct PlacedRows {
  std::vector<std::int32_t> places;
  std::vector<std::uint32_t> variant;

  /// rows [n][attributes] in dataset order
  PlacedRows(PackedSubject const& subject, std::int32_t const* rows, std::size_t n)
      : places(rows, rows + n * subject.attribute_of().size()), variant(n) {
    auto const& attribute_of = subject.attribute_of();
    std::size_t const columns = attribute_of.size();
    for (std::size_t i = 0; i < n; ++i)
      variant[i] = static_cast<std::uint32_t>(subject.variant_of(rows + i * columns));
    for (std::size_t c = 0; c < columns; ++c) {
      int const column = static_cast<int>(c);
      if (subject.codes_of(column).empty()) continue;
      for (auto i = static_cast<std::size_t>(attribute_of[c]); i < places.size(); i += columns)
        places[i] = subject.place_of(column, places[i]);
    }
  }
};

}  // namespace fairlane
