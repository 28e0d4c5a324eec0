// The decisions of a search on one lane: momentum and sign step, attribute weights, draws,
// clipping.
#pragma once

#include "kernels/core/bits.h"
#include "kernels/core/philox.h"
#include "kernels/core/strided.h"

namespace fairlane {

/// Sign of x as -1, 0 or 1; 0 for NaN.
template <Pack P>
FL_HD typename P::I sign_of(typename P::F x) {
  auto const zero = P::splat(0.0F);
  auto const positive = P::select_i(x > zero, P::splat_i(1), P::splat_i(0));
  return P::select_i(x < zero, P::splat_i(-1), positive);
}

/// Direction of a global step on one attribute: the sign on which both momenta agree, else 0.
/// Source: EIDIG, algorithm 2 (Zhang et al., ISSTA 2021), lines 10-12.
template <Pack P>
FL_HD typename P::I agreed_sign(typename P::F momentum, typename P::F partner_momentum) {
  auto const a = sign_of<P>(momentum);
  auto const b = sign_of<P>(partner_momentum);
  auto const agree = P::to_float(a) == P::to_float(b);
  return P::select_i(agree, a, P::splat_i(0));
}

/// decay * momentum + gradient; without decay the gradient alone, whatever the momentum was.
template <Pack P>
FL_HD typename P::F decayed(float decay, typename P::F momentum, typename P::F gradient) {
  return decay == 0.0F ? gradient : P::fma(P::splat(decay), momentum, gradient);
}

/// x + step, clipped to [low, high].
template <Pack P>
FL_HD typename P::I step_and_clip(typename P::I x, typename P::I step, std::int32_t low,
                                  std::int32_t high) {
  return P::max_i(P::min_i(x + step, P::splat_i(high)), P::splat_i(low));
}

/// Weight of an attribute in the local draw: small gradients move the output least.
/// Source: EIDIG, algorithm 3 (normalised by its sum in choose_attribute).
template <Pack P>
FL_HD typename P::F attribute_weight(typename P::F gradient, typename P::F partner_gradient,
                                     float epsilon) {
  return P::divide(P::splat(1.0F), P::abs(gradient) + P::abs(partner_gradient) + P::splat(epsilon));
}

/// Index of the drawn attribute: the first whose cumulated weight exceeds u * total, u uniform in
/// [0, 1).
/// weights  [count] packs, `stride` floats apart; total is their sum in ascending order
template <Pack P>
FL_HD typename P::I choose_attribute(float const* weights, int count, long stride,
                                     typename P::F total, typename P::U word) {
  auto const target = unit_float<P>(word) * total;
  auto cumulated = P::load(weights);
  auto index = P::splat_i(0);
  read_strided<P>(  // the last attribute takes what rounding leaves
      weights + stride, count - 1, stride, [&](int i, typename P::F weight) {
        index = P::select_i(cumulated > target, index, P::splat_i(i + 1));
        cumulated = cumulated + weight;
      });
  return index;
}

/// A member drawn uniformly from the set bits of `members`; `own` when there is none.
FL_HD std::uint32_t pick_member(std::uint32_t word, std::uint32_t members, std::uint32_t own) {
  if (members == 0) return own;
  for (std::uint32_t skip = below<ScalarPack>(word, pop_count(members)); skip > 0; --skip)
    members &= members - 1;
  return static_cast<std::uint32_t>(lowest_bit(members));
}

/// Candidates that a partner draw tries, where a group's labels are not kept, before it evaluates
/// the whole group. Try t is below(word 0 of draw t, variants), t = 1, 2, ...: the first with
/// another label is uniform among those.
inline constexpr std::uint32_t kPartnerTries = 16;

/// A member with another label, drawn uniformly; the input's own variant when there is none.
/// differs(v)  whether variant v has another, defined label; called for v in 0..variants-1
template <class Differs>
FL_HD std::uint32_t pick_other_label(std::uint32_t word, int variants, std::uint32_t own,
                                     Differs differs) {
  std::uint32_t count = 0;
  for (int v = 0; v < variants; ++v) count += differs(v) ? 1U : 0U;
  if (count == 0) return own;
  std::uint32_t skip = below<ScalarPack>(word, count);
  for (int v = 0; v < variants; ++v) {
    if (!differs(v)) continue;
    if (skip == 0) return static_cast<std::uint32_t>(v);
    --skip;
  }
  return own;
}

/// The same where the labels of all variants are packed, `bits` each.
FL_HD std::uint32_t pick_partner(std::uint32_t word, std::uint32_t labels, int bits, int variants,
                                 std::uint32_t own) {
  if (bits == 1) {
    auto const all = static_cast<std::uint32_t>((1ULL << variants) - 1);
    return pick_member(word, ((labels >> own) & 1U) != 0 ? ~labels & all : labels, own);
  }
  std::uint32_t const mask = (1U << bits) - 1;
  std::uint32_t const label = (labels >> (own * static_cast<std::uint32_t>(bits))) & mask;
  return pick_other_label(word, variants, own,
                          [&](int v) { return ((labels >> (v * bits)) & mask) != label; });
}

/// Steps of a local round that are drawn anew, while they lead to what may be no finding, by words
/// 0 and 1 of draws kStepDraw, kStepDraw + 1, ...; word 2 of the first draws their slack.
inline constexpr std::uint32_t kStepDraws = 8;
inline constexpr std::uint32_t kStepDraw = 0x40000000U;

/// +1 or -1 from the top bit.
template <Pack P>
FL_HD typename P::I choose_direction(typename P::U word) {
  return P::splat_i(1) - P::template shift_left<1>(P::u_to_i(P::template shift_right_u<31>(word)));
}

}  // namespace fairlane
