// k-means on rows of integer codes: what is decided about one row, the same on every device. Whole
// numbers are added up in any order; a double is one chain over the attributes, ascending, and
// never a sum over rows.
#pragma once

#include <limits>

#include "kernels/core/pack.h"

namespace fairlane {

/// Rows side by side. codes [count][attributes]
struct RowTable {
  std::int32_t const* codes = nullptr;
  std::int64_t count = 0;
  int attributes = 0;

  FL_HD std::int32_t const* row(std::int64_t i) const { return codes + i * attributes; }
};

/// What there is to cluster.
/// clusters      at most as many as rows
/// weight_shift  bits that weights drop of every square, so that the sum over all rows fits into
///               64; 0 but for huge tables
struct KMeansTask {
  RowTable rows;
  int clusters = 0;
  int weight_shift = 0;
};

/// Weight of a row in the draw of the next first center: its squared distance to another row.
FL_HD std::uint64_t row_weight(KMeansTask const& task, std::int64_t row, std::int64_t center) {
  std::int32_t const* const a = task.rows.row(row);
  std::int32_t const* const b = task.rows.row(center);
  std::uint64_t sum = 0;
  for (int i = 0; i < task.rows.attributes; ++i) {
    std::int64_t const difference = std::int64_t{a[i]} - b[i];
    sum += static_cast<std::uint64_t>(difference * difference) >> task.weight_shift;
  }
  return sum;
}

struct NearestCenter {
  std::int32_t cluster;
  double distance;  // squared
};

/// The center nearest to a row, ties to the lowest. centers [clusters][attributes]
FL_HD NearestCenter nearest_center(KMeansTask const& task, std::int64_t row,
                                   double const* centers) {
  std::int32_t const* const codes = task.rows.row(row);
  NearestCenter best{0, std::numeric_limits<double>::max()};
  for (std::int32_t c = 0; c < task.clusters; ++c, centers += task.rows.attributes) {
    double sum = 0.0;
    for (int i = 0; i < task.rows.attributes; ++i) {
      double const difference = codes[i] - centers[i];
      sum += difference * difference;
    }
    if (sum < best.distance) best = {c, sum};
  }
  return best;
}

}  // namespace fairlane
