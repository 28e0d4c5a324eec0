// A network's logits for the lanes of a tile, and for members of their similar sets.
#pragma once

#include "kernels/core/first_layer.h"
#include "kernels/core/tile_memory.h"

namespace fairlane {

/// P: the pack; kV: packs per tile. x [columns][stride] holds integer codes in kernel column order.
template <Pack P, int kV>
struct NetworkTiles {
  static constexpr int kN = P::kLanes;
  using First = FirstLayer<P, kV>;
  static constexpr int kTile = kV * kN;

  /// Codes of lanes [at, at + kTile) as inputs m.in whose selected columns may change, and the
  /// first layer's sums over the columns that all variants share.
  static FL_HOST_DEVICE void load_group(Subject const& s, std::int32_t const* x, long stride,
                                        int at, Scratch const& m) {
    First::load(s, x, stride, at, s.prefix, m.in);
    First::sums(s, s.prefix, s.input_prefix, m.in, m.prefix);
  }

  /// Logits of one variant: the selected inputs of m.in are overwritten with its values.
  static FL_HOST_DEVICE float* variant_logits(Subject const& s, Scratch const& m, int variant) {
    if constexpr (Transposes<P>) {
      if (skips_zeros<P>(s))
        return tail_logits(s, m, First::load_variant(s, variant, m.in, m.list));
    }
    float const* value = s.variant_value + static_cast<long>(variant) * s.selected_inputs;
    for (int i = 0; i < s.selected_inputs; ++i)
      First::spread(value[i], m.in + s.selected_input[i] * kTile);
    return tail_logits(s, m);
  }

  /// Logits of the input in m.in, whose prefix is done.
  static FL_HOST_DEVICE float* tail_logits(Subject const& s, Scratch const& m) {
    return tail_logits(s, m, InputRange{s.input_prefix, s.network.inputs()});
  }
  template <class Inputs>
  static FL_HOST_DEVICE float* tail_logits(Subject const& s, Scratch const& m, Inputs inputs) {
    layer_forward<P, kV, Start::kSums>(s.network.layer[0], inputs, m.in, m.prefix,
                                       s.network.layers == 1, m.a);
    return upper_layers<P, kV>(s.network, m.a, m.b);
  }

  /// Logits of whole inputs m.in.
  static FL_HD float* logits_of(Subject const& s, Scratch const& m) {
    if (First::activations_by_rows(s, m.in, m.a, false))
      return upper_layers<P, kV>(s.network, m.a, m.b);
    return forward<P, kV>(s.network, m.in, m.a, m.b);
  }
};

}  // namespace fairlane
