// Logits of a few lanes' similar sets at once: the members of all their groups are the lanes of a
// pack, so that few lanes still fill it.
#pragma once

#include "kernels/core/first_layer.h"

namespace fairlane {

/// Working memory of evaluate_spread, in floats, each a multiple of one pack.
/// in [inputs], a, b [..] activations of layers 0, 2, .. and 1, 3, ..
/// logits  [outputs][pairs] results
struct SpreadScratch {
  float* in = nullptr;
  float* a = nullptr;
  float* b = nullptr;
  float* logits = nullptr;
};

/// Lays that memory out in rows of `pack_lanes` floats for `pairs` members, a multiple of it; with
/// a null `memory` it only counts. Returns the rows.
FL_HD int lay_out_spread(Subject const& s, int pairs, int pack_lanes, float* memory,
                         SpreadScratch& m) {
  auto const& net = s.network;
  int rows = 0;
  auto const take = [&](int count) {
    float* const at = memory == nullptr ? nullptr : memory + static_cast<long>(rows) * pack_lanes;
    rows += count;
    return at;
  };
  m.in = take(s.inputs);
  m.a = take(widest_of_every_other(net, 0));
  m.b = take(widest_of_every_other(net, 1));
  m.logits = take(net.outputs() * pairs / pack_lanes);
  return rows;
}

/// Logits of members of lanes' groups, m.logits [outputs][pairs] from pair `at` on, for one pack.
/// x [columns][x_stride] codes of the lanes; lane, variant [..] which ones
template <Pack P>
FL_HOST_DEVICE void evaluate_spread(Subject const& s, std::int32_t const* x, long x_stride,
                                    std::int32_t const* lane, std::int32_t const* variant, int at,
                                    int pairs, SpreadScratch const& m) {
  using First = FirstLayer<P, 1>;
  auto const from = P::load_i(lane + at);
  auto const member = P::load_i(variant + at);
  First::load_codes(
      s, [&](int c, int) { return P::gather_i(x + c * x_stride, from); }, s.columns, m.in);
  for (int a = 0; a < s.selected_inputs; ++a) {
    P::store(P::gather(s.variant_value + a, member, s.selected_inputs),
             m.in + s.selected_input[a] * P::kLanes);
  }
  float const* const z = forward<P, 1>(s.network, m.in, m.a, m.b);
  for (int o = 0; o < s.network.outputs(); ++o)
    P::store(P::load(z + o * P::kLanes), m.logits + o * pairs + at);
}

/// A source of logits (LaneTiles::NetworkLogits) for one lane at a time, of those that
/// evaluate_spread left. logits [outputs][pairs] of its first member; own: its variant, where all
/// variants are members
struct SpreadLogits {
  float* logits;
  int pairs;
  int own_variant;

  FL_HD int stride() const { return pairs; }
  FL_HD void load(int) const {}
  FL_HD float* variant(int v) const { return logits + v; }
  FL_HD float* own() const { return logits + own_variant; }
  FL_HD float const* candidate(std::uint32_t member, std::int32_t const*) const {
    return logits + member;
  }
};

}  // namespace fairlane
