// The kernels of boxes for a pack of the host.
#pragma once

#include "kernels/boxes/box_narrowing.h"
#include "kernels/boxes/box_probing.h"

namespace fairlane {

/// BoxKernels for a pack.
template <class P>
struct BoxTiles {
  static void add(double const* from, double scale, double* to, int count) {
    typename P::F const by = P::splat(scale);
    for (int i = 0; i < count; i += P::kLanes)
      P::store(P::fma(by, P::load(from + i), P::load(to + i)), to + i);
  }

  static BoxKernels const* table() {
    static constexpr BoxKernels kTable = {P::kLanes, BoxBounding<P>::bound, BoxNarrowing<P>::narrow,
                                          BoxProbing<P>::probe, add};
    return &kTable;
  }
};

}  // namespace fairlane
