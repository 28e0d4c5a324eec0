// Rows of values of boxes over a pack, and working memory.
#pragma once

#include <cstdint>
#include <cstring>
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

/// Numbers of the units of a layer that are live: that a box of the pack leaves anything but 0.
/// Nothing that is summed up over units changes where the others are left out.
template <class P>
struct LiveUnits {
  double const* numbers = nullptr;  // null: all of them
  int count = 0;

  FL_HD int operator[](int i) const {
    return numbers == nullptr ? i : number_at(numbers, static_cast<long>(i) * P::kStride);
  }

  /// A number in the place of a double.
  static FL_HD int number_at(double const* memory, long at) {
    std::int64_t number;
    std::memcpy(&number, memory + at, sizeof number);
    return static_cast<int>(number);
  }
  static FL_HD void put_number(std::int64_t number, double* memory, long at) {
    std::memcpy(memory + at, &number, sizeof number);
  }
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
    double* live;        // [units] numbers in its layer of each layer's live units, side by side
    double* live_count;  // [layers]
    double* sums_below;  // [widest] coefficients of a layer's live sums, and of its live inputs
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
      live = range_high + units;
      live_count = live + units;
      sums_below = live_count + static_cast<long>(n.layers) * kStride;
      sums_above = sums_below + wide;
      inputs_below = sums_above + wide;
      inputs_above = inputs_below + wide;
      centre = inputs_above + wide;
      radius = centre + wide;
      reach = radius + wide;
    }
  };

  /// Writes down the units of a layer that are live somewhere: is_live(o), a mask.
  template <class IsLive>
  static FL_HD void list_live(BoxNetwork const& n, Work const& w, int l, IsLive const& is_live) {
    BoxLayer const& layer = n.layer[l];
    int count = 0;
    for (int o = 0; o < layer.outputs; ++o) {
      LiveUnits<P>::put_number(o, w.live, long{layer.first_unit + count} * kStride);
      count += P::any(is_live(o)) ? 1 : 0;
    }
    LiveUnits<P>::put_number(count, w.live_count, long{l} * kStride);
  }
  /// Of a layer before the last one, of which all units count.
  static FL_HD LiveUnits<P> live_units(BoxNetwork const& n, Work const& w, int l) {
    BoxLayer const& layer = n.layer[l];
    if (l + 1 == n.layers) return {nullptr, layer.outputs};
    return {w.live + static_cast<long>(layer.first_unit) * kStride,
            LiveUnits<P>::number_at(w.live_count, long{l} * kStride)};
  }
  /// Of what enters a layer: units of the layer before, or all inputs of the network.
  static FL_HD LiveUnits<P> live_inputs(BoxNetwork const& n, Work const& w, int l) {
    return l == 0 ? LiveUnits<P>{nullptr, n.inputs} : live_units(n, w, l - 1);
  }
};

}  // namespace fairlane
