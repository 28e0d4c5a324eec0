// Rows of values of boxes over a pack, and working memory.
#pragma once

#include <limits>

#include "kernels/boxes/box_kernels.h"
#include "kernels/boxes/box_pack.h"

namespace fairlane {

/// What roundings cost; see kernels/boxes/network_bounds.cpp.
struct BoxError {
  static constexpr double kLargest = 1.0e38;
  static constexpr double kRounding = 0x1p-24 * 1.02;
  static constexpr double kSubnormal = 0x1p-148;
  static constexpr double kConstant = 0x1p-52;
  static constexpr double kUnderflow = 1.0e-250;
  static constexpr double kLine = 0x1p-44;
  static constexpr double kProduct = 0x1p-23;
  static constexpr double kTiny = 0x1p-120;
  static constexpr double kNarrow = 0x1p-20;
  static constexpr double kSlack = 0x1p-36;
};

/// Rows of a pack: value i of its lanes.
template <class P>
struct BoxRows {
  using F = typename P::F;
  using M = typename P::M;
  static constexpr int kStride = P::kStride;
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  static FL_HD F get(double const* rows, int i) { return P::load(rows + i * kStride); }
  static FL_HD void put(double* rows, int i, F x) { P::store(x, rows + i * kStride); }
  static FL_HD F negative(F x) { return P::splat(0.0) - x; }

  /// Working memory by name.
  struct Work {
    double* error;
    double* below_slope;
    double* below_offset;
    double* above_slope;
    double* above_offset;
    double* range_low;
    double* range_high;
    double* sums_below;  // [widest] coefficients of a layer's sums, and of its inputs
    double* sums_above;
    double* inputs_below;
    double* inputs_above;
    double* centre;  // [widest]
    double* radius;
    double* reach;

    FL_HD Work(BoxNetwork const& n, double* p) {
      long const units = static_cast<long>(n.units) * kStride;
      long const wide = static_cast<long>(n.widest) * kStride;
      error = p;
      below_slope = error + units;
      below_offset = below_slope + units;
      above_slope = below_offset + units;
      above_offset = above_slope + units;
      range_low = above_offset + units;
      range_high = range_low + units;
      sums_below = range_high + units;
      sums_above = sums_below + wide;
      inputs_below = sums_above + wide;
      inputs_above = inputs_below + wide;
      centre = inputs_above + wide;
      radius = centre + wide;
      reach = radius + wide;
    }
  };
};

}  // namespace fairlane
