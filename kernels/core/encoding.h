// How the code of an attribute becomes columns of the network's input: what every backend asks
// about it.
#pragma once

#include "kernels/core/pack.h"
#include "kernels/core/views.h"

namespace fairlane {

/// One column of the search, in the network's input.
/// first    its first input, of `width`
/// dropped  kOneHot: codes without an input of their own, the lowest ones
/// low,high bounds of its codes
/// slope    kAffine: what one code adds to the input
/// table    [codes][width] inputs of every code; kAffine, kTable
/// rise     [codes][first layer's outputs] what the first layer's sums gain from one code more, at
///          the highest code what they gained from the code before; null where a derivative says
///          it, or where no search asks
struct ColumnEncoding {
  EncodingKind kind = EncodingKind::kIdentity;
  int dropped = 0;
  int first = 0;
  int width = 1;
  std::int32_t low = 0;
  std::int32_t high = 0;
  float slope = 1.0F;
  float const* table = nullptr;
  float const* rise = nullptr;

  /// Whether a unit of change is the step to the next code: such inputs have no derivative by the
  /// code.
  FL_HD bool steps() const { return kind == EncodingKind::kTable || kind == EncodingKind::kOneHot; }

  /// Row of a code in the tables. Lanes behind the last one may hold anything: they read some row.
  template <Pack P>
  FL_HD typename P::I row(typename P::I code) const {
    return P::min_i(P::max_i(code, P::splat_i(low)), P::splat_i(high)) - P::splat_i(low);
  }

  /// The code that a difference is taken to: the next one, at the highest the one before.
  template <Pack P>
  FL_HD typename P::I neighbour(typename P::I code) const {
    auto const inside = P::less_i(code, P::splat_i(high));
    return P::select_i(inside, code + P::splat_i(1), code - P::splat_i(1));
  }
};

/// Inputs of one pack's codes. in  [width] packs, `stride` floats from one to the next
template <Pack P>
FL_HD void encode_column(ColumnEncoding const& e, typename P::I code, float* in, long stride) {
  if (e.kind == EncodingKind::kIdentity) {
    P::store(P::to_float(code), in);
    return;
  }
  auto const row = e.row<P>(code);
  if (e.kind == EncodingKind::kOneHot) {
    auto const hot = P::to_float(row);
    for (int j = 0; j < e.width; ++j) {
      auto const mine = hot == P::splat(static_cast<float>(j + e.dropped));
      P::store(P::select(mine, P::splat(1.0F), P::splat(0.0F)), in + j * stride);
    }
    return;
  }
  for (int j = 0; j < e.width; ++j) P::store(P::gather(e.table + j, row, e.width), in + j * stride);
}

}  // namespace fairlane
